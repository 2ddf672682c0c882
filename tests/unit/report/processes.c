/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of processes: programs that followed each other, children, what was not recorded, and damaged metadata. */
#include "tests/unit/report/support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <x86intrin.h>

static struct tf_writer *begin(const char *name, struct tf_start start)
{
	struct tf_writer *w;

	assert_int_equal(tf_writer_create(&w, test_path(name), &start), SONDE_TRACE_OK);
	return w;
}

static void end(struct tf_writer *w, enum sonde_trace_ending ending, int status)
{
	struct tf_end e = { .ending = ending, .exit_status = status, .complete = true };

	assert_int_equal(tf_writer_close(w, &e), SONDE_TRACE_OK);
}

static void process(struct tf_writer *w, int pid, int parent)
{
	assert_int_equal(tf_writer_process(w, pid, parent, "worker"), SONDE_TRACE_OK);
}

static void executes(struct tf_writer *w, int pid, const char *path, int number, const char *left_alone)
{
	const struct tf_exec e = { .pid = pid, .tsc = __rdtsc(), .path = path, .number = number, .left_alone = left_alone };

	assert_int_equal(tf_writer_exec(w, &e), SONDE_TRACE_OK);
}

/* A thread of the process with one event. */
static void does_something(struct tf_writer *w, int pid)
{
	struct tf_function f = { .id = 0, .name = "f" };
	struct tf_event e = { .id = 16, .kind = SONDE_TRACE_ENTER };
	uint64_t words[2] = { __rdtsc() << RING_ID_BITS | 16, STACK_TOP };
	struct tf_sub sub = { .base = words, .bytes = 16, .used = 16, .final = true, .now_tsc = __rdtsc() };
	struct tf_thread_end over = { 0 };
	struct tf_thread *t;
	uint32_t pos = 0;

	assert_int_equal(tf_writer_function(w, &f), SONDE_TRACE_OK);
	assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_OK);
	assert_int_equal(tf_thread_create(w, &t, pid, pid, "worker", __rdtsc()), SONDE_TRACE_OK);
	assert_int_equal(tf_thread_drain(t, &sub, &pos), SONDE_TRACE_OK);
	assert_int_equal(tf_thread_close(t, &over), SONDE_TRACE_OK);
}

struct expected {
	unsigned int depth;
	int pid, parent, number;
	enum process_kind kind;
	const char *name, *ending;
	uint64_t events;
};

static void check(const struct process_tree *tree, const struct expected *v, size_t n)
{
	char text[PROCESS_ENDING_MAX];

	assert_int_equal(tree->n, n);
	for (size_t i = 0; i < n; i++) {
		const struct process_entry *e = &tree->v[i];

		process_ending(e, text);
		assert_string_equal(process_name(e), v[i].name);
		assert_int_equal(e->depth, v[i].depth);
		assert_int_equal(e->pid, v[i].pid);
		assert_int_equal(e->parent, v[i].parent);
		assert_int_equal(e->part->number, v[i].number);
		assert_int_equal(e->kind, v[i].kind);
		assert_int_equal(e->events, v[i].events);
		assert_string_equal(text, v[i].ending);
	}
}

static struct sonde_trace *open_trace(const char *name)
{
	struct sonde_trace *trace;

	assert_int_equal(sonde_trace_open(test_path(name), &trace, NULL), SONDE_TRACE_OK);
	return trace;
}

/*
 * sh (10) forks 11, which executes app; 12, which executes sudo; and 13, which works.  Then it executes last.  app forks 14,
 * which executes an old program.
 */
static void make_job(const char *name)
{
	static char sh[] = "sh", option[] = "-c", text[] = "app and much, much more & sudo x";
	static char *const args[] = { sh, option, text, NULL };
	char app[64], last[64];

	snprintf(app, sizeof(app), "%s/process-11", name);
	snprintf(last, sizeof(last), "%s/process-10", name);
	struct tf_writer *w = begin(name, (struct tf_start){ .program = "/bin/sh", .args = args, .rank = -1, .pid = 10, .parent = 1 });
	process(w, 10, 1);
	process(w, 11, 10);
	executes(w, 11, "/opt/app", 1, NULL);
	struct tf_writer *v = begin(app, (struct tf_start){ .program = "/opt/app", .rank = -1, .pid = 11, .parent = 10, .number = 1 });
	process(v, 11, 10);
	process(w, 12, 10);
	executes(w, 12, "/usr/bin/sudo", 0, "set-user-ID");
	process(w, 13, 10);
	does_something(w, 13);
	process(v, 14, 11);
	executes(v, 14, "/opt/old", 0, "32 bits");
	assert_int_equal(tf_writer_process_end(w, 13, 4 << 8), SONDE_TRACE_OK);
	executes(w, 10, "/bin/last", 1, NULL);
	end(w, SONDE_TRACE_EXECUTED, 0);
	w = begin(last, (struct tf_start){ .program = "/bin/last", .rank = -1, .pid = 10, .parent = 1, .number = 1 });
	process(w, 10, 1);
	process(w, 15, 10);
	does_something(w, 15);
	end(w, SONDE_TRACE_EXITED, 7);
	end(v, SONDE_TRACE_EXITED, 0);
}

static const struct expected job[] = {
	{ 0, 10, 1, 0, PROCESS_PROGRAM, "sh", "executed last", 0 },
	{ 1, 11, 10, 1, PROCESS_PROGRAM, "app", "exit status 0", 0 },
	{ 2, 14, 11, 1, PROCESS_LEFT_ALONE, "old", "not recorded", 0 },
	{ 1, 12, 10, 0, PROCESS_LEFT_ALONE, "sudo", "not recorded", 0 },
	{ 1, 13, 10, 0, PROCESS_FORKED, "worker", "exit status 4", 1 },
	{ 0, 10, 1, 1, PROCESS_PROGRAM, "last", "exit status 7", 0 },
	{ 1, 15, 10, 1, PROCESS_FORKED, "worker", "", 1 },
};

#define JOB (sizeof(job) / sizeof(job[0]))

static void test_tree(void **state)
{
	struct sonde_trace *trace;
	struct process_tree tree;

	(void)state;
	make_job("job");
	trace = open_trace("job");
	assert_true(process_tree_is_worth(trace));
	assert_true(process_tree_make(trace, PROCESS_ANY_RANK, &tree));
	check(&tree, job, JOB);
	assert_int_equal(tree.processes, 6);
	assert_int_equal(tree.programs, 3);
	assert_false(tree.ranks);
	/* an entry ends where the next program begins */
	assert_true(tree.v[0].end <= tree.v[5].start);
	assert_true(tree.v[1].end >= tree.v[2].start);
	process_tree_free(&tree);
	sonde_trace_close(trace);
}

/* The same job in two ranks: processes of equal pids are others. */
static void test_ranks(void **state)
{
	struct expected both[2 * JOB];
	struct sonde_trace *trace;
	struct process_tree tree;

	(void)state;
	assert_int_equal(mkdir(test_path("ranks"), 0755), 0);
	make_job("ranks/rank-0");
	make_job("ranks/rank-1");
	trace = open_trace("ranks");
	memcpy(both, job, sizeof(job));
	memcpy(both + JOB, job, sizeof(job));
	assert_true(process_tree_make(trace, PROCESS_ANY_RANK, &tree));
	check(&tree, both, 2 * JOB);
	assert_int_equal(tree.processes, 12);
	assert_true(tree.ranks);
	process_tree_free(&tree);
	assert_true(process_tree_make(trace, 1, &tree));
	check(&tree, job, JOB);
	assert_int_equal(tree.v[0].part->rank, 1);
	process_tree_free(&tree);
	assert_true(process_tree_make(trace, 2, &tree));
	assert_int_equal(tree.n, 0);
	process_tree_free(&tree);
	sonde_trace_close(trace);
}

/* Nothing but a program and its children is no tree worth a table. */
static void test_one_program(void **state)
{
	static const struct expected expected[] = {
		{ 0, 10, 1, 0, PROCESS_PROGRAM, "p", "not known", 0 },
		{ 1, 11, 10, 0, PROCESS_FORKED, "worker", "", 0 },
		{ 2, 12, 11, 0, PROCESS_FORKED, "worker", "", 0 },
	};
	struct tf_writer *w = begin("one", (struct tf_start){ .program = "p", .rank = -1 });
	struct sonde_trace *trace;
	struct process_tree tree;

	(void)state;
	process(w, 10, 1);
	process(w, 11, 10);
	process(w, 12, 11);
	assert_int_equal(tf_writer_flush(w), SONDE_TRACE_OK);
	tf_writer_abandon(w);
	trace = open_trace("one");
	assert_false(process_tree_is_worth(trace));
	assert_true(process_tree_make(trace, PROCESS_ANY_RANK, &tree));
	check(&tree, expected, 3);
	process_tree_free(&tree);
	sonde_trace_close(trace);
}

/* A shell's child executes a program from a child of its own that left no trace: it is the shell's.  Its status is not known. */
static void test_unknown_parent(void **state)
{
	static const struct expected expected[] = {
		{ 0, 10, 1, 0, PROCESS_PROGRAM, "sh", "exit status 0", 0 },
		{ 1, 12, 11, 1, PROCESS_PROGRAM, "app", "status not known", 0 },
		{ 1, 13, 0, 0, PROCESS_LEFT_ALONE, "sudo", "not recorded", 0 },
	};
	struct tf_writer *w = begin("unknown", (struct tf_start){ .program = "/bin/sh", .rank = -1, .pid = 10, .parent = 1 });
	struct sonde_trace *trace;
	struct process_tree tree;

	(void)state;
	executes(w, 12, "/opt/app", 1, NULL);
	struct tf_writer *v = begin("unknown/process-12",
				    (struct tf_start){ .program = "/opt/app", .rank = -1, .pid = 12, .parent = 11, .number = 1 });
	executes(w, 13, "/bin/sudo", 0, "set-user-ID");
	end(v, SONDE_TRACE_ENDED, 0);
	end(w, SONDE_TRACE_EXITED, 0);
	trace = open_trace("unknown");
	assert_true(sonde_trace_rank(trace, 1)->complete);
	assert_true(process_tree_make(trace, PROCESS_ANY_RANK, &tree));
	check(&tree, expected, 3);
	process_tree_free(&tree);
	sonde_trace_close(trace);
}

/* Processes that are their own ancestors, programs that execute each other: each entry is there once. */
static void test_circles(void **state)
{
	struct tf_writer *w = begin("circles", (struct tf_start){ .program = "a", .rank = -1, .pid = 20, .parent = 21 });
	struct sonde_trace *trace;
	struct process_tree tree;
	unsigned int seen = 0;

	(void)state;
	process(w, 20, 21);
	process(w, 21, 20);
	process(w, 22, 22);
	executes(w, 30, "b", 1, NULL);
	executes(w, 20, "nowhere", 5, NULL);
	executes(w, 99, "unknown", 0, "not known");
	end(w, SONDE_TRACE_EXITED, 0);
	w = begin("circles/process-30", (struct tf_start){ .program = "b", .rank = -1, .pid = 30, .parent = 30, .number = 1 });
	executes(w, 30, "c", 2, NULL);
	end(w, SONDE_TRACE_EXECUTED, 0);
	w = begin("circles/process-30.2", (struct tf_start){ .program = "c", .rank = -1, .pid = 30, .parent = 30, .number = 2 });
	executes(w, 30, "b", 1, NULL);
	executes(w, 30, "c", 2, NULL);
	end(w, SONDE_TRACE_EXECUTED, 0);
	trace = open_trace("circles");
	assert_true(process_tree_make(trace, PROCESS_ANY_RANK, &tree));
	assert_int_equal(tree.n, 6);
	for (size_t i = 0; i < tree.n; i++)
		seen |= 1u << (tree.v[i].pid % 30 + 10 * (tree.v[i].part->number == 2));
	assert_int_equal(seen, 1u << 20 | 1u << 21 | 1u << 22 | 1u << 0 | 1u << 10 | 1u << 9);
	assert_true(tree.processes == 5);
	process_tree_free(&tree);
	sonde_trace_close(trace);
}

static struct process_tree printed_tree;
static uint64_t limit;
static unsigned int width;

static void print_tree(const struct report *r, FILE *out)
{
	(void)r;
	process_tree_print(&printed_tree, out, limit, width, false);
}

static void test_table(void **state)
{
	struct sonde_trace *trace = open_trace("job");
	char *text;

	(void)state;
	assert_true(process_tree_make(trace, PROCESS_ANY_RANK, &printed_tree));
	for (size_t i = 0; i < printed_tree.n; i++) {
		printed_tree.v[i].start = 0;
		printed_tree.v[i].end = i == 2 ? 0 : 1500;
	}
	limit = UINT64_MAX;
	width = 0;
	text = printed(print_tree, NULL);
	assert_string_equal(text, "process      time  events  ended          program\n"
				  "     10  1.500 us       0  executed last  sh -c 'app and much, much more & sudo x'\n"
				  "     11  1.500 us       0  exit status 0    app\n"
				  "     14                    not recorded       old (32 bits)\n"
				  "     12  1.500 us          not recorded     sudo (set-user-ID)\n"
				  "     13  1.500 us       1  exit status 4    worker (forked)\n"
				  "     10  1.500 us       0  exit status 7  last\n"
				  "     15  1.500 us       1                   worker (forked)\n");
	free(text);
	limit = 2;
	text = printed(print_tree, NULL);
	assert_non_null(strstr(text, "  app\n... and 5 more (--all shows them)\n"));
	free(text);
	for (limit = JOB, width = 66; width < 80; width++) {
		text = printed(print_tree, NULL);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			assert_true(strlen(line) <= width);
		free(text);
	}
	process_tree_free(&printed_tree);
	sonde_trace_close(trace);
}

/* The report of it: by process, and what each function is in. */
static void test_report(void **state)
{
	struct report_request q = everything;
	struct opened o;
	char *text;

	(void)state;
	q.by = REPORT_BY_PROCESS;
	report_open(&o, "job", &q);
	assert_int_equal(o.report.ngroups, 2);
	assert_int_equal(o.report.groups[0].pid, 13);
	assert_int_equal(o.report.groups[0].program->number, 0);
	assert_int_equal(o.report.groups[1].pid, 15);
	assert_int_equal(o.report.groups[1].program->number, 1);
	text = printed(report_print_csv, &o.report);
	assert_non_null(strstr(text, "rank,pid,program,function,"));
	assert_non_null(strstr(text, "\n-1,13,\"sh\",\"f\","));
	assert_non_null(strstr(text, "\n-1,15,\"last\",\"f\","));
	free(text);
	report_close(&o);
	report_open(&o, "job", &everything);
	assert_int_equal(find_line(&o, 0, "f", NULL)->stats.processes, 2);
	text = printed(report_print_head, &o.report);
	/* the first process, whatever program it was in the end */
	assert_non_null(strstr(text, "program     sh -c 'app and much, much more & sudo x'\n"));
	assert_non_null(strstr(text, "ended       exit status 7\n"));
	assert_non_null(strstr(text, "contents    3 programs, 6 processes, 2 threads, 2 events\n"));
	free(text);
	report_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_one_program),
		cmocka_unit_test(test_unknown_parent),
		cmocka_unit_test(test_circles),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
