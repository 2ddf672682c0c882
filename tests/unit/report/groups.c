/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several threads, processes and ranks; which lines are shown, and in what order. */
#include "tests/unit/report/support.h"

#include <string.h>
#include <sys/stat.h>

enum { F, G };

static struct trace_maker m;

static void call(uint32_t f, uint64_t from, uint64_t to)
{
	maker_enter_at(&m, f, from);
	maker_leave_at(&m, f, to);
}

static void begin(const char *name, int rank)
{
	maker_begin(&m, name, rank);
	maker_module(&m, "a");
	maker_module(&m, "mpi");
	maker_function(&m, F, "f", "/opt/app", "a");
	maker_function(&m, G, "MPI_Send", "/lib/libmpi.so", "mpi");
}

/* 100.100: f 1000..2000, g 3000..3400; 100.101: f 500..600 twice as a recursion; 102.102, a child: g. */
static void make_threads(const char *name)
{
	begin(name, -1);
	assert_int_equal(tf_writer_process(m.writer, 102, 100, "child"), SONDE_TRACE_OK);
	maker_thread(&m, 100, 100);
	call(F, 1000, 2000);
	call(G, 3000, 3400);
	maker_end_thread(&m, 0);
	maker_thread(&m, 100, 101);
	maker_enter_at(&m, F, 500);
	call(F, 520, 580);
	maker_leave_at(&m, F, 600);
	maker_end_thread(&m, 0);
	maker_thread(&m, 102, 102);
	call(G, 5000, 5700);
	maker_end_thread(&m, 0);
	maker_end(&m, 10000);
}

static void make_ranks(const char *name)
{
	char dir[256];

	assert_int_equal(mkdir(test_path(name), 0777), 0);
	for (uint64_t rank = 0; rank < 3; rank++) {
		snprintf(dir, sizeof(dir), "%s/rank-%d", name, (int)rank);
		begin(dir, (int)rank);
		maker_thread(&m, 100, 100);
		if (rank != 1)
			call(F, 100, 200);
		call(G, 1000, 2000 + 300 * rank);
		maker_end_thread(&m, 0);
		maker_end(&m, 10000);
	}
}

static const struct report_stats *stats(const struct opened *o, size_t g, const char *function)
{
	return &find_line(o, g, function, NULL)->stats;
}

static void test_all_threads(void **state)
{
	struct opened o;

	(void)state;
	make_threads("all");
	report_open(&o, "all", &everything);
	assert_int_equal(o.report.ngroups, 1);
	assert_int_equal(stats(&o, 0, "f")->calls, 3);
	assert_int_equal(stats(&o, 0, "f")->total, 1100);
	assert_int_equal(stats(&o, 0, "f")->self, 1100);
	assert_int_equal(stats(&o, 0, "f")->threads, 2);
	assert_int_equal(report_min(stats(&o, 0, "f")), 60);
	assert_int_equal(report_max(stats(&o, 0, "f")), 1000);
	assert_int_equal(stats(&o, 0, "MPI_Send")->total, 1100);
	assert_int_equal(stats(&o, 0, "MPI_Send")->threads, 2);
	/* The whole run for the first thread, first to last event for the others. */
	assert_int_equal(o.report.groups[0].whole, 10000 + 100 + 700);
	/* Equal totals: by name. */
	assert_string_equal(report_name(&o.report, &o.report.groups[0].lines[0]), "MPI_Send");
	assert_int_equal(o.report.nmodules, 0);
	report_close(&o);
}

static void test_by_thread(void **state)
{
	struct report_request q = everything;
	struct opened o;

	(void)state;
	make_threads("threads");
	q.by = REPORT_BY_THREAD;
	report_open(&o, "threads", &q);
	assert_int_equal(o.report.ngroups, 3);
	assert_int_equal(o.report.groups[1].thread->tid, 101);
	assert_int_equal(o.report.groups[1].nlines, 1);
	assert_int_equal(o.report.groups[1].whole, 100);
	assert_int_equal(stats(&o, 1, "f")->calls, 2);
	assert_int_equal(stats(&o, 1, "f")->total, 100);
	assert_int_equal(stats(&o, 2, "MPI_Send")->total, 700);
	assert_int_equal(stats(&o, 0, "f")->total, 1000);
	report_close(&o);
}

static void test_one_thread(void **state)
{
	struct report_request q = everything;
	struct opened o;

	(void)state;
	make_threads("one");
	q.tid = 101;
	report_open(&o, "one", &q);
	assert_int_equal(o.report.nthreads, 1);
	assert_int_equal(o.report.groups[0].nlines, 1);
	report_close(&o);
	q.tid = 102;
	q.pid = 102;
	report_open(&o, "one", &q);
	assert_int_equal(stats(&o, 0, "MPI_Send")->calls, 1);
	report_close(&o);
	q.pid = 100;
	assert_int_equal(sonde_trace_open(test_path("one"), &o.trace, NULL), SONDE_TRACE_OK);
	assert_int_equal(report_make(&o.report, o.trace, "one", &q), 2);
	report_close(&o);
}

static void test_ranks(void **state)
{
	struct opened o;

	(void)state;
	make_ranks("ranks");
	report_open(&o, "ranks", &everything);
	assert_int_equal(o.report.nranks, 3);
	assert_int_equal(stats(&o, 0, "MPI_Send")->total, 1000 + 1300 + 1600);
	assert_int_equal(stats(&o, 0, "MPI_Send")->ranks, 3);
	assert_int_equal(stats(&o, 0, "f")->ranks, 2);
	assert_int_equal(o.report.nmodules, 2);
	const struct report_module_time *mpi = &o.report.modules[1];
	assert_string_equal(mpi->module->name, "mpi");
	assert_int_equal(mpi->time.sum, 3900);
	assert_int_equal(mpi->time.min, 1000);
	assert_int_equal(mpi->time.min_rank, 0);
	assert_int_equal(mpi->time.max, 1600);
	assert_int_equal(mpi->time.max_rank, 2);
	assert_int_equal(o.report.modules[0].time.min, 0);
	assert_int_equal(o.report.modules[0].time.min_rank, 1);
	report_close(&o);
}

static void test_by_rank(void **state)
{
	struct report_request q = everything;
	struct opened o;

	(void)state;
	make_ranks("byrank");
	q.by = REPORT_BY_RANK;
	report_open(&o, "byrank", &q);
	assert_int_equal(o.report.ngroups, 3);
	assert_int_equal(stats(&o, 2, "MPI_Send")->total, 1600);
	assert_int_equal(o.report.groups[2].rank, 2);
	assert_int_equal(o.report.groups[1].nlines, 1);
	report_close(&o);
	q.rank = 1;
	report_open(&o, "byrank", &q);
	assert_int_equal(o.report.ngroups, 1);
	assert_int_equal(stats(&o, 0, "MPI_Send")->total, 1300);
	report_close(&o);
	q.rank = 7;
	assert_int_equal(sonde_trace_open(test_path("byrank"), &o.trace, NULL), SONDE_TRACE_OK);
	assert_int_equal(report_make(&o.report, o.trace, "byrank", &q), 2);
	report_close(&o);
}

/* c: 3 calls of 100; b: 1 of 500; a: 2 of 200, one in b; each key has an order of its own. */
static void test_sort(void **state)
{
	static const struct {
		enum report_sort sort;
		const char *order;
	} cases[] = {
		{ REPORT_SORT_TOTAL, "bac" }, { REPORT_SORT_SELF, "abc" },
		{ REPORT_SORT_CALLS, "cab" }, { REPORT_SORT_AVERAGE, "bac" },
		{ REPORT_SORT_MAX, "bac" },   { REPORT_SORT_NAME, "abc" },
		{ REPORT_SORT_WAIT, "abc" },  { REPORT_SORT_BYTES, "cab" },
	};
	static const struct tf_field bytes[] = { { "bytes", SONDE_TRACE_BYTES }, { NULL, 0 } };
	static const struct tf_field wait[] = { { "wait", SONDE_TRACE_WAIT }, { NULL, 0 } };
	struct report_request q = everything;
	struct opened o;

	(void)state;
	maker_begin(&m, "sort", -1);
	maker_function_fields(&m, 0, "a", NULL, wait, NULL);
	maker_function_fields(&m, 1, "b", NULL, NULL, NULL);
	maker_function_fields(&m, 2, "c", NULL, NULL, bytes);
	maker_thread(&m, 100, 100);
	for (uint64_t i = 0; i < 3; i++) {
		maker_enter_at(&m, 2, 1000 * i);
		maker_at(&m, 1000 * i + 100);
		maker_leave(&m, 2, 1, UINT64_C(64));
	}
	call(0, 5000, 5200);
	maker_enter_at(&m, 1, 6000);
	call(0, 6100, 6300);
	maker_leave_at(&m, 1, 6500);
	maker_end_thread(&m, 0);
	maker_end(&m, 10000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		q.sort = cases[i].sort;
		report_open(&o, "sort", &q);
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(*report_name(&o.report, &o.report.groups[0].lines[k]),
					 cases[i].order[k]);
		report_close(&o);
	}
}

static void test_filter_and_limit(void **state)
{
	const char *patterns[] = { "MPI_*", "nothing" };
	struct report_request q = everything;
	struct opened o;

	(void)state;
	make_threads("filter");
	q.select.functions = (struct opt_list){ patterns, 2 };
	report_open(&o, "filter", &q);
	assert_int_equal(o.report.groups[0].nlines, 1);
	assert_string_equal(report_name(&o.report, &o.report.groups[0].lines[0]), "MPI_Send");
	report_close(&o);
	q.select.functions.n = 0;
	q.limit = 1;
	report_open(&o, "filter", &q);
	assert_int_equal(o.report.groups[0].nlines, 1);
	assert_int_equal(o.report.groups[0].left_out, 1);
	report_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_threads),
		cmocka_unit_test(test_by_thread),
		cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_by_rank),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_filter_and_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
