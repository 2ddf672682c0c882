/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times and counts of one thread: nesting, recursion, calls without an end or a beginning, amounts, waits. */
#include "tests/unit/report/support.h"

#include <string.h>

enum { MAIN, F, G, H };

static struct trace_maker m;

static void begin(const char *name)
{
	maker_begin(&m, name, -1);
	maker_module(&m, "a");
	maker_function(&m, MAIN, "main", "/opt/app", "a");
	maker_function(&m, F, "f", "/opt/app", "a");
	maker_function(&m, G, "g", "/opt/app", "a");
	maker_thread(&m, 100, 100);
}

static void finish(uint64_t ns)
{
	maker_end_thread(&m, 0);
	maker_end(&m, ns);
}

static void check(const struct opened *o, const char *function, uint64_t calls, uint64_t total,
		  uint64_t self)
{
	const struct report_stats *s = &find_line(o, 0, function, NULL)->stats;

	assert_int_equal(s->calls, calls);
	assert_int_equal(s->total, total);
	assert_int_equal(s->self, self);
}

static void check_durations(const struct opened *o, const char *function, uint64_t min,
			    uint64_t average, uint64_t max)
{
	const struct report_stats *s = &find_line(o, 0, function, NULL)->stats;

	assert_int_equal(report_min(s), min);
	assert_int_equal(report_average(s), average);
	assert_int_equal(report_max(s), max);
}

static void test_nesting(void **state)
{
	struct opened o;

	(void)state;
	begin("nesting");
	maker_enter_at(&m, MAIN, 1000);
	maker_enter_at(&m, F, 2000);
	maker_enter_at(&m, G, 2100);
	maker_leave_at(&m, G, 2400);
	maker_leave_at(&m, F, 3000);
	maker_enter_at(&m, F, 4000);
	maker_leave_at(&m, F, 4200);
	maker_leave_at(&m, MAIN, 9000);
	finish(10000);
	report_open(&o, "nesting", &everything);
	check(&o, "main", 1, 8000, 6800);
	check(&o, "f", 2, 1200, 900);
	check(&o, "g", 1, 300, 300);
	check_durations(&o, "f", 200, 600, 1000);
	/* The program's first thread was there from start to end. */
	assert_int_equal(o.report.groups[0].whole, 10000);
	assert_int_equal(o.report.events, 8);
	report_close(&o);
}

static void test_recursion(void **state)
{
	struct opened o;

	(void)state;
	begin("recursion");
	for (uint64_t i = 0; i < 5; i++)
		maker_enter_at(&m, F, 1000 + 100 * i);
	for (uint64_t i = 0; i < 5; i++)
		maker_leave_at(&m, F, 2000 + 100 * i);
	finish(10000);
	report_open(&o, "recursion", &everything);
	check(&o, "f", 5, 1400, 1400);
	check_durations(&o, "f", 600, 1000, 1400);
	report_close(&o);
}

static void test_mutual_recursion(void **state)
{
	struct opened o;

	(void)state;
	begin("mutual");
	maker_enter_at(&m, F, 1000);
	maker_enter_at(&m, G, 1100);
	maker_enter_at(&m, F, 1200);
	maker_enter_at(&m, G, 1300);
	maker_leave_at(&m, G, 1400);
	maker_leave_at(&m, F, 1600);
	maker_leave_at(&m, G, 1900);
	maker_leave_at(&m, F, 2300);
	finish(10000);
	report_open(&o, "mutual", &everything);
	check(&o, "f", 2, 1300, 800);
	check(&o, "g", 2, 800, 500);
	report_close(&o);
}

/* longjmp() out of g and the inner f, seen at the enter of g at the depth of the inner f. */
static void test_unwound(void **state)
{
	struct opened o;

	(void)state;
	begin("unwound");
	maker_enter_at(&m, MAIN, 1000);
	maker_enter_at(&m, F, 1100);
	maker_enter_at(&m, G, 1200);
	maker_unwind_to(&m, 1);
	maker_enter_at(&m, G, 1500);
	maker_leave_at(&m, G, 1700);
	maker_leave_at(&m, MAIN, 2000);
	finish(10000);
	report_open(&o, "unwound", &everything);
	check(&o, "main", 1, 1000, 1000 - 400 - 200);
	check(&o, "f", 1, 400, 100);
	check(&o, "g", 2, 300 + 200, 500);
	assert_int_equal(find_line(&o, 0, "f", NULL)->stats.unwound, 1);
	assert_int_equal(find_line(&o, 0, "g", NULL)->stats.unwound, 1);
	assert_int_equal(find_line(&o, 0, "main", NULL)->stats.unwound, 0);
	report_close(&o);
}

/* A crash: f had returned once before, so what is still open does not change its durations. */
static void test_open(void **state)
{
	struct opened o;

	(void)state;
	begin("open");
	maker_enter_at(&m, MAIN, 1000);
	maker_enter_at(&m, F, 1100);
	maker_leave_at(&m, F, 1300);
	maker_enter_at(&m, F, 2000);
	maker_enter_at(&m, G, 2400);
	maker_leave_at(&m, G, 2500);
	finish(10000);
	report_open(&o, "open", &everything);
	check(&o, "main", 1, 1500, 1500 - 200 - 500);
	check(&o, "f", 2, 700, 600);
	check_durations(&o, "f", 200, 200, 200);
	check_durations(&o, "main", 1500, 1500, 1500);
	assert_int_equal(find_line(&o, 0, "main", NULL)->stats.open, 1);
	assert_int_equal(find_line(&o, 0, "f", NULL)->stats.open, 1);
	assert_int_equal(find_line(&o, 0, "g", NULL)->stats.open, 0);
	report_close(&o);
}

static void test_orphan(void **state)
{
	struct opened o;

	(void)state;
	begin("orphan");
	maker_enter_at(&m, F, 1000);
	maker_record(&m, 17 + 2 * G, 0);
	maker_leave_at(&m, F, 1500);
	finish(10000);
	report_open(&o, "orphan", &everything);
	check(&o, "f", 1, 500, 500);
	check(&o, "g", 1, 0, 0);
	assert_int_equal(find_line(&o, 0, "g", NULL)->stats.orphans, 1);
	report_close(&o);
}

/* Two modules that wrap the same function, one in the other: two rows, and self adds up. */
static void test_two_modules(void **state)
{
	struct opened o;

	(void)state;
	begin("two");
	maker_module(&m, "b");
	maker_event(&m, 90, SONDE_TRACE_ENTER, F, "b", NULL, NULL);
	maker_event(&m, 91, SONDE_TRACE_LEAVE, F, "b", NULL, NULL);
	maker_enter_at(&m, F, 1000);
	maker_enter_at(&m, (90 - 16) / 2, 1100);
	maker_leave_at(&m, (90 - 16) / 2, 1400);
	maker_leave_at(&m, F, 1500);
	finish(10000);
	report_open(&o, "two", &everything);
	assert_int_equal(find_line(&o, 0, "f", "a")->stats.total, 500);
	assert_int_equal(find_line(&o, 0, "f", "a")->stats.self, 200);
	assert_int_equal(find_line(&o, 0, "f", "b")->stats.total, 300);
	assert_int_equal(find_line(&o, 0, "f", "b")->stats.calls, 1);
	report_close(&o);
}

/*
 * "bytes" is recorded at entry and return: the return's counts, and the entry's where there is no return.
 * "asked" only at entry, "result" is no amount.
 */
static void test_amounts(void **state)
{
	static const struct tf_field at_entry[] = { { "bytes", SONDE_TRACE_BYTES },
						    { "asked", SONDE_TRACE_BYTES },
						    { NULL, 0 } };
	static const struct tf_field at_return[] = { { "result", SONDE_TRACE_I64 },
						     { "bytes", SONDE_TRACE_BYTES },
						     { NULL, 0 } };
	struct opened o;

	(void)state;
	begin("amounts");
	maker_function_fields(&m, H, "read", "a", at_entry, at_return);
	for (uint64_t i = 0; i < 3; i++) {
		maker_at(&m, 1000 + 100 * i);
		maker_enter(&m, H, 2, UINT64_C(4096), UINT64_C(5000));
		maker_leave(&m, H, 2, UINT64_C(77777), 10 + i);
	}
	maker_at(&m, 2000);
	maker_enter(&m, H, 2, UINT64_C(1000000), UINT64_C(1));
	maker_enter_at(&m, F, 2100);
	maker_leave_at(&m, F, 2200);
	finish(10000);
	report_open(&o, "amounts", &everything);
	assert_int_equal(amount(&o, 0, "read", "bytes"), 10 + 11 + 12 + 1000000);
	assert_int_equal(amount(&o, 0, "read", "asked"), 15001);
	assert_int_equal(amount(&o, 0, "f", "bytes"), 0);
	assert_int_equal(o.report.rows.ncolumns, 2);
	report_close(&o);
}

/* A waiting call in a waiting call: the thread waited once. */
static void test_waits(void **state)
{
	static const struct tf_field wait[] = { { "wait", SONDE_TRACE_WAIT }, { NULL, 0 } };
	struct opened o;

	(void)state;
	begin("waits");
	maker_function_fields(&m, H, "lock", "a", wait, NULL);
	maker_function_fields(&m, 4, "join", "a", NULL, wait);
	maker_enter_at(&m, F, 1000);
	maker_enter_at(&m, H, 1100);
	maker_enter_at(&m, H, 1200);
	maker_leave_at(&m, H, 1500);
	maker_leave_at(&m, H, 1700);
	maker_leave_at(&m, F, 2000);
	maker_enter_at(&m, 4, 3000);
	maker_leave_at(&m, 4, 3100);
	finish(10000);
	report_open(&o, "waits", &everything);
	assert_int_equal(find_line(&o, 0, "lock", NULL)->stats.wait, 600);
	assert_int_equal(find_line(&o, 0, "join", NULL)->stats.wait, 100);
	assert_int_equal(find_line(&o, 0, "f", NULL)->stats.wait, 0);
	assert_int_equal(o.report.groups[0].wait, 700);
	report_close(&o);
}

/* One that never returned lasted until the process was at its end, as what called it; other calls until the last event. */
static void check_last_call(const char *name, uint32_t last, int tid, uint64_t wait, uint64_t total)
{
	static const struct tf_field fields[] = { { "wait", SONDE_TRACE_WAIT }, { NULL, 0 } };
	struct opened o;

	begin(name);
	maker_function_fields(&m, H, "receive", "a", fields, NULL);
	maker_enter_at(&m, F, 500);
	maker_leave_at(&m, F, 600);
	if (tid) {
		maker_end_thread(&m, 0);
		maker_thread(&m, 100, tid);
	}
	maker_enter_at(&m, F, 1000);
	maker_enter_at(&m, last, 3000);
	finish(10000);
	report_open(&o, name, &everything);
	assert_int_equal(find_line(&o, 0, last == H ? "receive" : "g", NULL)->stats.wait, wait);
	assert_int_equal(find_line(&o, 0, "f", NULL)->stats.total, 100 + total);
	assert_int_equal(o.report.groups[0].wait, wait);
	report_close(&o);
}

static void test_last_calls(void **state)
{
	(void)state;
	check_last_call("last-wait", H, 0, 7000, 9000);
	check_last_call("last-call", G, 0, 0, 2000);
	/* of another thread than the first one the end is not known */
	check_last_call("last-elsewhere", H, 101, 0, 2000);
}

static const struct report_class *find_class(const struct opened *o, const char *name, uint64_t *ns)
{
	const struct report_rows *rows = &o->report.rows;

	for (size_t i = 0; i < rows->nclasses; i++) {
		if (strcmp(rows->classes[i].name, name) == 0) {
			*ns = o->report.groups[0].class_time[i];
			return &rows->classes[i];
		}
	}
	fail_msg("no class %s", name);
	return NULL;
}

/* Of waiting in waiting, apart in waiting and waiting in apart only the outermost counts. */
static void test_classes(void **state)
{
	static const struct tf_field fields[][2] = {
		{ { "files", SONDE_TRACE_WAIT }, { NULL, 0 } },
		{ { "messages", SONDE_TRACE_WAIT }, { NULL, 0 } },
		{ { "start", SONDE_TRACE_APART }, { NULL, 0 } },
		{ { "wait", SONDE_TRACE_WAIT }, { NULL, 0 } },
	};
	enum { FILES = 4, MESSAGES, START, LOCK };
	struct opened o;
	uint64_t ns;

	(void)state;
	begin("classes");
	maker_function_fields(&m, FILES, "write", "a", fields[0], NULL);
	maker_function_fields(&m, MESSAGES, "send", "a", fields[1], NULL);
	maker_function_fields(&m, START, "init", "a", fields[2], NULL);
	maker_function_fields(&m, LOCK, "lock", "a", fields[3], NULL);
	maker_enter_at(&m, START, 1000);
	maker_enter_at(&m, MESSAGES, 1100);
	maker_leave_at(&m, MESSAGES, 1900);
	maker_leave_at(&m, START, 2000);
	maker_enter_at(&m, FILES, 3000);
	maker_enter_at(&m, MESSAGES, 3100);
	maker_leave_at(&m, MESSAGES, 3200);
	maker_enter_at(&m, START, 3200);
	maker_enter_at(&m, MESSAGES, 3300);
	maker_leave_at(&m, MESSAGES, 3400);
	maker_leave_at(&m, START, 3500);
	maker_leave_at(&m, FILES, 3700);
	maker_enter_at(&m, MESSAGES, 4000);
	maker_leave_at(&m, MESSAGES, 4050);
	maker_enter_at(&m, LOCK, 5000);
	maker_leave_at(&m, LOCK, 5003);
	finish(10000);
	report_open(&o, "classes", &everything);
	assert_false(find_class(&o, "files", &ns)->apart);
	assert_int_equal(ns, 700);
	find_class(&o, "messages", &ns);
	assert_int_equal(ns, 50);
	assert_true(find_class(&o, "start", &ns)->apart);
	assert_int_equal(ns, 1000);
	find_class(&o, "a", &ns);
	assert_int_equal(ns, 3);
	assert_int_equal(o.report.groups[0].wait, 753);
	assert_int_equal(find_line(&o, 0, "send", NULL)->stats.wait, 50);
	assert_int_equal(find_line(&o, 0, "init", NULL)->stats.wait, 0);
	report_close(&o);
}

/* More classes than there is room for: the last ones are one. */
static void test_many_classes(void **state)
{
	struct tf_field wait[2] = { { NULL, SONDE_TRACE_WAIT }, { NULL, 0 } };
	char name[16];
	struct opened o;
	uint64_t ns;

	(void)state;
	begin("manyclasses");
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		wait[0].name = name;
		maker_function_fields(&m, 4 + i, name, "a", wait, NULL);
		maker_enter_at(&m, 4 + i, 1000 * i);
		maker_leave_at(&m, 4 + i, 1000 * i + 1);
	}
	finish(100000);
	report_open(&o, "manyclasses", &everything);
	assert_int_equal(o.report.rows.nclasses, REPORT_MAX_CLASSES);
	find_class(&o, "c0", &ns);
	assert_int_equal(ns, 1);
	find_class(&o, "other", &ns);
	assert_int_equal(ns, 100 - (REPORT_MAX_CLASSES - 2));
	assert_int_equal(o.report.groups[0].wait, 100);
	report_close(&o);
}

static void test_counters_and_points(void **state)
{
	static const struct tf_field sent[] = { { "sent", SONDE_TRACE_BYTES }, { NULL, 0 } };
	struct tf_counter counter = { .id = 5, .name = "hits", .function = F, .module = "a" };
	struct opened o;

	(void)state;
	begin("counters");
	assert_int_equal(tf_writer_counter(m.writer, &counter), SONDE_TRACE_OK);
	maker_event(&m, 90, SONDE_TRACE_POINT, F, "a", "tick", sent);
	maker_event(&m, 92, SONDE_TRACE_POINT, G, "a", "g", NULL);
	maker_enter_at(&m, F, 1000);
	maker_record(&m, 90, 1, UINT64_C(8));
	maker_record(&m, 90, 1, UINT64_C(9));
	maker_record(&m, 92, 0);
	maker_leave_at(&m, F, 1500);
	m.counters[5] = 42;
	finish(10000);
	report_open(&o, "counters", &everything);
	check(&o, "f:hits", 42, 0, 0);
	check(&o, "f:tick", 2, 0, 0);
	check(&o, "g", 1, 0, 0);
	check(&o, "f", 1, 500, 500);
	assert_int_equal(amount(&o, 0, "f:tick", "sent"), 17);
	report_close(&o);
}

/* 300,000 calls, so that frames are open across chunks. */
static void test_many_chunks(void **state)
{
	struct opened o;

	(void)state;
	begin("chunks");
	maker_enter_at(&m, MAIN, 1000);
	for (uint64_t i = 0; i < 300000; i++) {
		maker_enter_at(&m, F, 2000 + 100 * i);
		maker_leave_at(&m, F, 2030 + 100 * i);
	}
	maker_leave_at(&m, MAIN, 40000000);
	finish(40000000);
	report_open(&o, "chunks", &everything);
	check(&o, "main", 1, 39999000, 39999000 - 9000000);
	check(&o, "f", 300000, 9000000, 9000000);
	check_durations(&o, "f", 30, 30, 30);
	report_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_mutual_recursion),
		cmocka_unit_test(test_unwound),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_orphan),
		cmocka_unit_test(test_two_modules),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_last_calls),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_many_classes),
		cmocka_unit_test(test_counters_and_points),
		cmocka_unit_test(test_many_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
