/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call paths: their figures, recursion, longjmp, the limit; callers and callees of one function. */
#include "launcher/graph/graph.h"
#include "tests/unit/report/support.h"

#include <stdio.h>
#include <string.h>

enum { MAIN, A, B, C, NFUNCTIONS };

static struct trace_maker m;

static void begin(const char *name)
{
	static const char *const names[] = { "main", "a", "b", "c" };

	maker_begin(&m, name, -1);
	for (uint32_t i = 0; i < NFUNCTIONS; i++)
		maker_function(&m, i, names[i], "/opt/app", NULL);
	maker_thread(&m, 100, 100);
}

static void finish(void)
{
	maker_end_thread(&m, 0);
	maker_end(&m, 1000000);
}

struct read {
	struct sonde_trace *trace;
	struct graph_tree tree;
	struct graph_walk walk;
};

static void read_trace(struct read *r, const char *name, size_t limit)
{
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *iter;

	assert_int_equal(sonde_trace_open(test_path(name), &r->trace, NULL), SONDE_TRACE_OK);
	graph_tree_init(&r->tree, limit);
	graph_walk_init(&r->walk, &r->tree, sonde_trace_functions(r->trace));
	for (size_t i = 0; i < sonde_trace_threads(r->trace); i++) {
		assert_int_equal(sonde_trace_iterate(r->trace, i, &iter), SONDE_TRACE_OK);
		cost_begin(&r->walk.clock, r->trace, sonde_trace_thread(r->trace, i), false);
		while (sonde_trace_next(iter, &ev) == SONDE_TRACE_OK)
			graph_walk_event(&r->walk, ev);
		graph_walk_finish(&r->walk);
		sonde_trace_iter_free(iter);
	}
	graph_tree_finish(&r->tree);
}

static void close_trace(struct read *r)
{
	graph_walk_free(&r->walk);
	graph_tree_free(&r->tree);
	sonde_trace_close(r->trace);
}

/* "main 1/1000/100 a 2/..." : calls/total/self of the nodes below @node, in printed order, "." a level. */
static void put_nodes(const struct read *r, const struct graph_tree *t, uint32_t node, unsigned level,
		      char *text, size_t size)
{
	uint32_t order[8], n = 0;

	for (uint32_t i = t->node[node].child; i != GRAPH_NONE; i = t->node[i].next) {
		uint32_t at = n++;

		assert_true(n <= 8);
		for (; at && t->node[order[at - 1]].function > t->node[i].function; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct graph_node *g = &t->node[order[i]];
		size_t at = strlen(text);

		snprintf(text + at, size - at, "%s%.*s%s %u/%u/%u", at ? " " : "", (int)level, "........",
			 sonde_trace_function(r->trace, g->function)->name, (unsigned)g->calls,
			 (unsigned)g->total, (unsigned)g->self);
		at = strlen(text);
		if (g->recursive)
			snprintf(text + at, size - at, "r%u", (unsigned)g->recursive);
		put_nodes(r, t, order[i], level + 1, text, size);
	}
}

#define NODES(r_, tree_, expected_)                                                \
	do {                                                                       \
		char text[1024] = "";                                              \
		put_nodes(r_, tree_, GRAPH_ROOT, 0, text, sizeof(text));           \
		assert_string_equal(text, expected_);                              \
	} while (0)

static void paths(void **state)
{
	struct read r;
	struct graph_tree t;

	(void)state;
	begin("paths");
	maker_enter_at(&m, MAIN, 0);
	for (uint64_t at = 100; at < 500; at += 200) {
		maker_enter_at(&m, A, at);
		maker_enter_at(&m, C, at + 10);
		maker_leave_at(&m, C, at + 40);
		maker_leave_at(&m, A, at + 100);
	}
	maker_enter_at(&m, B, 500);
	maker_enter_at(&m, C, 550);
	maker_leave_at(&m, C, 650);
	maker_leave_at(&m, B, 700);
	maker_leave_at(&m, MAIN, 1000);
	finish();
	read_trace(&r, "paths", 1000);
	NODES(&r, &r.tree, "main 1/1000/600 .a 2/200/140 ..c 2/60/60 .b 1/200/100 ..c 1/100/100");
	assert_int_equal(r.tree.node[GRAPH_ROOT].total, 1000);
	graph_callers(&r.tree, C, &t);
	assert_int_equal(t.node[GRAPH_ROOT].total, 160);
	assert_int_equal(t.node[GRAPH_ROOT].calls, 3);
	NODES(&r, &t, "a 2/60/60 .main 2/60/60 b 1/100/100 .main 1/100/100");
	graph_tree_free(&t);
	graph_callees(&r.tree, A, &t);
	assert_int_equal(t.node[GRAPH_ROOT].total, 200);
	NODES(&r, &t, "c 2/60/60");
	graph_tree_free(&t);
	graph_callees(&r.tree, C, &t);
	assert_int_equal(t.node[GRAPH_ROOT].total, 160);
	NODES(&r, &t, "");
	graph_tree_free(&t);
	close_trace(&r);
}

static void recursion(void **state)
{
	struct read r;

	(void)state;
	begin("recursion");
	maker_enter_at(&m, MAIN, 0);
	maker_enter_at(&m, A, 100); /* a calls b, b calls a, which calls c */
	maker_enter_at(&m, B, 200);
	maker_enter_at(&m, A, 300);
	maker_enter_at(&m, C, 400);
	maker_leave_at(&m, C, 500);
	maker_leave_at(&m, A, 600);
	maker_leave_at(&m, B, 700);
	maker_leave_at(&m, A, 800);
	maker_enter_at(&m, C, 850);
	maker_leave_at(&m, C, 900);
	maker_leave_at(&m, MAIN, 1000);
	finish();
	read_trace(&r, "recursion", 1000);
	/* main: 1000-700-50. a: 800-600... its own: 100+100 outside, 100+100 inside. */
	NODES(&r, &r.tree, "main 1/1000/250 .a 2/700/400r1 ..b 1/500/200 ..c 1/100/100 .c 1/50/50");
	close_trace(&r);
}

static void deep_recursion(void **state)
{
	enum { DEPTH = 100000 };
	struct read r;

	(void)state;
	begin("deep");
	maker_enter_at(&m, MAIN, 0);
	for (uint64_t i = 1; i <= DEPTH; i++)
		maker_enter_at(&m, i % 2 ? A : B, i);
	for (uint64_t i = DEPTH; i >= 1; i--)
		maker_leave_at(&m, i % 2 ? A : B, 2 * DEPTH - i + 1);
	maker_leave_at(&m, MAIN, 2 * DEPTH + 1);
	finish();
	read_trace(&r, "deep", 1000);
	assert_int_equal(r.tree.n, 4);
	NODES(&r, &r.tree, "main 1/200001/2 .a 50000/199999/100000r49999 ..b 50000/199997/99999r49999");
	close_trace(&r);
}

static void unwound_and_open(void **state)
{
	struct read r;

	(void)state;
	begin("unwound");
	maker_enter_at(&m, MAIN, 0);
	maker_enter_at(&m, A, 100);
	maker_enter_at(&m, B, 200);
	maker_unwind_to(&m, 1); /* longjmp to main */
	maker_enter_at(&m, C, 400);
	maker_leave_at(&m, C, 500);
	maker_enter_at(&m, B, 600);
	maker_at(&m, 700);
	maker_record(&m, 17 + 2 * A, 0); /* a return of what was not entered */
	finish();
	read_trace(&r, "unwound", 1000);
	NODES(&r, &r.tree, "main 1/700/200 .a 1/300/100 ..b 1/200/200 .b 1/100/100 .c 1/100/100");
	assert_int_equal(r.walk.unwound, 2);
	assert_int_equal(r.walk.open, 2);
	assert_int_equal(r.walk.orphans, 1);
	close_trace(&r);
}

/* What finds no room is its caller's own time; nothing else changes. */
static void full(void **state)
{
	struct read r;

	(void)state;
	begin("full");
	maker_enter_at(&m, MAIN, 0);
	maker_enter_at(&m, A, 100);
	maker_enter_at(&m, B, 200);
	maker_enter_at(&m, C, 300);
	maker_leave_at(&m, C, 400);
	maker_leave_at(&m, B, 500);
	maker_leave_at(&m, A, 600);
	maker_leave_at(&m, MAIN, 1000);
	finish();
	read_trace(&r, "full", 2);
	NODES(&r, &r.tree, "main 1/1000/500 .a 1/500/500");
	assert_int_equal(r.walk.unplaced, 2);
	close_trace(&r);
}

/* Below what calls it; of waiting in waiting only the outermost, and what never returned until the process ended. */
static void waiting(void **state)
{
	static const struct tf_field wait[] = { { "wait", SONDE_TRACE_WAIT }, { NULL, 0 } };
	static const struct tf_field apart[] = { { "start", SONDE_TRACE_APART }, { NULL, 0 } };
	enum { RECV = 10, INIT, JOIN };
	struct graph_style s = { .whole = 1000000, .waits = true };
	char *text = NULL;
	struct graph_tree t;
	struct read r;
	size_t size;

	(void)state;
	begin("waiting");
	maker_module(&m, "x");
	maker_function_fields(&m, RECV, "recv", "x", wait, NULL);
	maker_function_fields(&m, INIT, "init", "x", apart, NULL);
	maker_function_fields(&m, JOIN, "join", "x", NULL, wait);
	maker_enter_at(&m, MAIN, 0);
	maker_enter_at(&m, INIT, 1000);
	maker_enter_at(&m, RECV, 1100);
	maker_leave_at(&m, RECV, 1200);
	maker_leave_at(&m, INIT, 2000);
	maker_enter_at(&m, A, 10000);
	maker_enter_at(&m, RECV, 11000);
	maker_enter_at(&m, RECV, 11100);
	maker_leave_at(&m, RECV, 11200);
	maker_leave_at(&m, RECV, 12000);
	maker_enter_at(&m, JOIN, 13000);
	maker_leave_at(&m, JOIN, 13500);
	maker_leave_at(&m, A, 15000);
	maker_enter_at(&m, B, 20000);
	maker_enter_at(&m, RECV, 30000);
	finish();
	read_trace(&r, "waiting", 1000);
	assert_int_equal(r.tree.node[GRAPH_ROOT].wait, 1500 + 970000);
	NODES(&r, &r.tree, "main 1/1000000/14000 .a 1/5000/3500 ..recv 2/1000/1000r1 ..join 1/500/500 "
			   ".b 1/980000/10000 ..recv 1/970000/970000 .init 1/1000/900 ..recv 1/100/100");
	graph_callees(&r.tree, A, &t);
	assert_int_equal(t.node[GRAPH_ROOT].wait, 1500);
	graph_tree_free(&t);
	s.trace = r.trace;
	s.min_percent = 50;
	s.out = open_memstream(&text, &size);
	assert_non_null(s.out);
	graph_print_title(&s);
	graph_print_below(&s, &r.tree, GRAPH_ROOT, 0);
	fclose(s.out);
	assert_string_equal(text, "     total total%       self       wait       calls  function\n"
				  "  1.000 ms 100.0%   14.00 us   971.5 us           1  main\n"
				  "  980.0 us  98.0%   10.00 us   970.0 us           1    b\n"
				  "  970.0 us  97.0%   970.0 us   970.0 us           1      recv\n");
	free(text);
	close_trace(&r);
}

static void printed_tree(void **state)
{
	struct graph_style s = { .min_percent = 7, .whole = 1000 };
	char *text = NULL;
	struct read r;
	size_t size;

	(void)state;
	read_trace(&r, "paths", 1000);
	s.trace = r.trace;
	s.out = open_memstream(&text, &size);
	assert_non_null(s.out);
	graph_print_below(&s, &r.tree, GRAPH_ROOT, 0);
	fclose(s.out);
	assert_string_equal(text, "  1.000 us 100.0%     600 ns           1  main\n"
				  "    200 ns  20.0%     140 ns           2    a\n"
				  "    200 ns  20.0%     100 ns           1    b\n"
				  "    100 ns  10.0%     100 ns           1      c\n");
	assert_int_equal(s.left_out, 1);
	free(text);
	s.out = open_memstream(&text, &size);
	assert_non_null(s.out);
	s.left_out = s.whole = 0; /* as where recording took all of the time: nothing has a share, nothing is left out */
	graph_print_below(&s, &r.tree, GRAPH_ROOT, 0);
	fclose(s.out);
	assert_non_null(strstr(text, "main\n"));
	assert_int_equal(s.left_out, 0);
	free(text);
	s.out = open_memstream(&text, &size);
	assert_non_null(s.out);
	graph_print_folded(&s, &r.tree);
	fclose(s.out);
	assert_string_equal(text, "main 600\nmain;a 140\nmain;a;c 60\nmain;b 100\nmain;b;c 100\n");
	free(text);
	close_trace(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),	cmocka_unit_test(recursion),
		cmocka_unit_test(deep_recursion), cmocka_unit_test(unwound_and_open),
		cmocka_unit_test(full),		cmocka_unit_test(waiting),
		cmocka_unit_test(printed_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
