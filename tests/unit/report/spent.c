/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What recording took is not the program's: probes, by the number of calls, and waits, where they were. */
#include "launcher/graph/graph.h"
#include "tests/unit/report/support.h"

#include <string.h>

enum { MAIN, F, G, W, NFUNCTIONS };
enum { INSIDE = 10, OUTSIDE = 6 };

static struct trace_maker m;

static void begin(const char *name)
{
	static const char *const names[] = { "main", "f", "g" };

	maker_begin(&m, name, -1);
	maker_module(&m, "work");
	for (uint32_t i = 0; i < W; i++)
		maker_function(&m, i, names[i], "/opt/app", NULL);
	maker_function(&m, W, "w", "/opt/app", "work");
	assert_int_equal(tf_writer_cost(m.writer, &(struct tf_cost){ INSIDE, OUTSIDE }), SONDE_TRACE_OK);
	maker_thread(&m, 100, 100);
}

static void waited(uint64_t ns, uint64_t ticks)
{
	maker_flush(&m);
	assert_int_equal(tf_thread_waited(m.thread, TRACE_START + ns, ticks), SONDE_TRACE_OK);
}

/* The least of two measurements is what counts. */
static void end(uint64_t ns)
{
	maker_end_thread(&m, 0);
	assert_int_equal(tf_writer_cost(m.writer, &(struct tf_cost){ INSIDE - 2, OUTSIDE + 3 }), SONDE_TRACE_OK);
	maker_end(&m, ns);
}

static void check(const struct opened *o, const char *function, uint64_t total, uint64_t self)
{
	const struct report_line *line = find_line(o, 0, function, NULL);

	assert_int_equal(line->stats.total, total);
	assert_int_equal(line->stats.self, self);
}

/* main 1000..3000: f (g, g), f; and w, a module's, whose cost is not known. */
static void write_calls(const char *name)
{
	begin(name);
	maker_enter_at(&m, MAIN, 1000);
	maker_enter_at(&m, F, 1100);
	maker_enter_at(&m, G, 1200);
	maker_leave_at(&m, G, 1300);
	maker_enter_at(&m, G, 1400);
	maker_leave_at(&m, G, 1500);
	maker_leave_at(&m, F, 1600);
	maker_enter_at(&m, F, 1700);
	maker_leave_at(&m, F, 1800);
	maker_enter_at(&m, W, 2000);
	maker_leave_at(&m, W, 2200);
	maker_leave_at(&m, MAIN, 3000);
	end(4000);
}

static void by_pairs(void **state)
{
	struct report_request raw = everything;
	struct opened o;

	(void)state;
	write_calls("pairs");
	report_open(&o, "pairs", &everything);
	check(&o, "g", 2 * (100 - INSIDE), 2 * (100 - INSIDE));
	check(&o, "f", 500 - INSIDE - 2 * (INSIDE + OUTSIDE) + 100 - INSIDE,
	      600 - 2 * INSIDE - 2 * (100 + OUTSIDE));
	check(&o, "w", 200, 200);
	check(&o, "main", 2000 - INSIDE - 4 * (INSIDE + OUTSIDE), 2000 - INSIDE - 600 - 2 * OUTSIDE - 200);
	assert_int_equal(report_min(&find_line(&o, 0, "f", NULL)->stats), 100 - INSIDE);
	assert_int_equal(o.report.groups[0].whole, 4000 - 5 * (INSIDE + OUTSIDE));
	assert_int_equal(o.report.spent.taken, 5 * (INSIDE + OUTSIDE));
	report_close(&o);

	raw.raw = true;
	report_open(&o, "pairs", &raw);
	check(&o, "g", 200, 200);
	check(&o, "f", 600, 400);
	check(&o, "main", 2000, 1200);
	assert_int_equal(o.report.groups[0].whole, 4000);
	assert_int_equal(o.report.spent.taken, 0);
	report_close(&o);
}

/* The first in main, before f is entered; the second in f, before it is left. */
static void waits(void **state)
{
	struct opened o;
	char *text;

	(void)state;
	begin("waits");
	maker_enter_at(&m, MAIN, 1000);
	waited(1500, 400);
	maker_enter_at(&m, F, 1600);
	waited(2000, 300);
	maker_leave_at(&m, F, 2100);
	maker_leave_at(&m, MAIN, 3000);
	end(3000);
	report_open(&o, "waits", &everything);
	check(&o, "f", 500 - INSIDE - 300, 500 - INSIDE - 300);
	check(&o, "main", 2000 - 700 - 2 * INSIDE - OUTSIDE, 1500 - 400 - INSIDE - OUTSIDE);
	assert_int_equal(o.report.spent.waited, 700);
	text = printed(report_print_head, &o.report);
	assert_non_null(strstr(text, "\nrecording   took about 24 % of the time (23 % waiting for Sonde to write)"));
	assert_non_null(strstr(text, " -N "));
	free(text);
	report_close(&o);
}

/* More than has passed since the last event, and more than can be: the recorded figure is not believed. */
static void false_waits(void **state)
{
	struct opened o;

	(void)state;
	begin("false");
	maker_enter_at(&m, MAIN, 1000);
	waited(1500, UINT64_MAX);
	maker_leave_at(&m, MAIN, 2000);
	end(2000);
	report_open(&o, "false", &everything);
	check(&o, "main", 1000 - 500 - INSIDE, 1000 - 500 - INSIDE);
	report_close(&o);
}

/* Calls shorter than the average cost: their sum counts, and is not below zero. */
static void short_calls(void **state)
{
	struct opened o;

	(void)state;
	begin("short");
	maker_enter_at(&m, MAIN, 1000);
	for (unsigned i = 0; i < 10; i++) { /* 11 each, on the average: 1 remains */
		maker_enter_at(&m, F, 1100 + 100 * i);
		maker_leave_at(&m, F, 1100 + 100 * i + (i % 2 ? 5 : 17));
		maker_enter_at(&m, G, 1150 + 100 * i);
		maker_leave_at(&m, G, 1150 + 100 * i + 3);
	}
	maker_leave_at(&m, MAIN, 3000);
	end(3000);
	report_open(&o, "short", &everything);
	check(&o, "f", 10, 10);
	check(&o, "g", 0, 0);
	assert_int_equal(report_min(&find_line(&o, 0, "f", NULL)->stats), 0);
	assert_int_equal(report_max(&find_line(&o, 0, "f", NULL)->stats), 7);
	assert_int_equal(report_average(&find_line(&o, 0, "f", NULL)->stats), 1);
	report_close(&o);
}

/* The same in trees. */
static void in_graph(void **state)
{
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *iter;
	struct sonde_trace *trace;
	struct graph_tree tree;
	struct graph_walk walk;
	uint32_t f, g;

	(void)state;
	write_calls("graph");
	assert_int_equal(sonde_trace_open(test_path("graph"), &trace, NULL), SONDE_TRACE_OK);
	graph_tree_init(&tree, 100);
	graph_walk_init(&walk, &tree, sonde_trace_functions(trace));
	cost_begin(&walk.clock, trace, sonde_trace_thread(trace, 0), false);
	assert_int_equal(sonde_trace_iterate(trace, 0, &iter), SONDE_TRACE_OK);
	while (sonde_trace_next(iter, &ev) == SONDE_TRACE_OK)
		graph_walk_event(&walk, ev);
	graph_walk_finish(&walk);
	graph_tree_finish(&tree);
	f = graph_tree_find(&tree, graph_tree_find(&tree, GRAPH_ROOT, MAIN), F);
	g = graph_tree_find(&tree, f, G);
	assert_int_equal(tree.node[f].total, 600 - 2 * INSIDE - 2 * (INSIDE + OUTSIDE));
	assert_int_equal(tree.node[g].total, 200 - 2 * INSIDE);
	assert_int_equal(tree.node[GRAPH_ROOT].total, 2000 - INSIDE - 4 * (INSIDE + OUTSIDE));
	assert_int_equal(walk.taken, 5 * (INSIDE + OUTSIDE));
	sonde_trace_iter_free(iter);
	graph_walk_free(&walk);
	graph_tree_free(&tree);
	sonde_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_pairs),    cmocka_unit_test(waits),	  cmocka_unit_test(false_waits),
		cmocka_unit_test(short_calls), cmocka_unit_test(in_graph),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
