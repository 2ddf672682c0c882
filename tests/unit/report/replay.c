/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of `sonde replay`, and counted calls in a report. */
#include "launcher/replay/replay.h"
#include "tests/unit/report/support.h"

#include <stdio.h>
#include <string.h>

enum { MAIN, A, B, C, NFUNCTIONS };

static struct trace_maker m;

static void begin(const char *name)
{
	static const char *const names[] = { "main", "a", "b" };
	static const struct tf_field in[] = { { "n", SONDE_TRACE_I32 }, { NULL, 0 } };
	static const struct tf_field out[] = { { "done", SONDE_TRACE_I64 }, { NULL, 0 } };

	maker_begin(&m, name, -1);
	for (uint32_t i = 0; i < C; i++)
		maker_function(&m, i, names[i], "/opt/app", NULL);
	maker_function_fields(&m, C, "c", NULL, in, out);
	maker_thread(&m, 100, 100);
}

static void enter(uint32_t f, uint64_t ns)
{
	maker_at(&m, ns);
	maker_enter(&m, f, f == C, (uint64_t)5);
}

static void leave(uint32_t f, uint64_t ns)
{
	maker_at(&m, ns);
	maker_leave(&m, f, f == C, (uint64_t)7);
}

static void finish(void)
{
	maker_end_thread(&m, 0);
	maker_end(&m, 1000000);
}

/* All threads, one after the other, with the filters of @s. */
static char *lines(const char *name, struct replay_style *s)
{
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *iter;
	struct sonde_trace *trace;
	struct tf_buf out = { 0 };

	assert_int_equal(sonde_trace_open(test_path(name), &trace, NULL), SONDE_TRACE_OK);
	s->trace = trace;
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		struct replay_thread t = { 0 };

		assert_int_equal(sonde_trace_iterate(trace, i, &iter), SONDE_TRACE_OK);
		while (sonde_trace_next(iter, &ev) == SONDE_TRACE_OK)
			assert_true(replay_event(&t, s, &out, ev));
		assert_true(replay_finish(&t, s, &out));
		replay_thread_free(&t);
		sonde_trace_iter_free(iter);
	}
	sonde_trace_close(trace);
	tf_buf_byte(&out, 0);
	return (char *)out.data;
}

#define LINES(name_, style_, expected_)                        \
	do {                                                   \
		struct replay_style style__ = style_;          \
		char *text__ = lines(name_, &style__);         \
		assert_string_equal(text__, expected_);        \
		free(text__);                                  \
	} while (0)
#define STYLE(...) ((struct replay_style){ __VA_ARGS__ })

static void make_nested(void)
{
	begin("nested");
	enter(MAIN, 0);
	enter(A, 100);
	enter(C, 200);
	leave(C, 250);
	leave(A, 300);
	enter(B, 400);
	leave(B, 900);
	leave(MAIN, 1000);
	finish();
}

static void nested(void **state)
{
	(void)state;
	make_nested();
	LINES("nested", STYLE(0),
	      "            main() {\n"
	      "              a() {\n"
	      "     50 ns      c(n=5) = done=7;\n"
	      "    200 ns    } /* a */\n"
	      "    500 ns    b();\n"
	      "  1.000 us  } /* main */\n");
}

static void filters(void **state)
{
	static const bool only_a[NFUNCTIONS] = { [A] = true };

	(void)state;
	LINES("nested", STYLE(.min_time = 300),
	      "            main() {\n"
	      "    500 ns    b();\n"
	      "  1.000 us  } /* main */\n");
	LINES("nested", STYLE(.min_time = 600), "  1.000 us  main();\n");
	LINES("nested", STYLE(.depth = 2),
	      "            main() {\n"
	      "    200 ns    a();\n"
	      "    500 ns    b();\n"
	      "  1.000 us  } /* main */\n");
	LINES("nested", STYLE(.only = only_a),
	      "            a() {\n"
	      "     50 ns    c(n=5) = done=7;\n"
	      "    200 ns  } /* a */\n");
	LINES("nested", STYLE(.only = only_a, .depth = 1), "    200 ns  a();\n");
	LINES("nested", STYLE(.without = only_a),
	      "            main() {\n"
	      "    500 ns    b();\n"
	      "  1.000 us  } /* main */\n");
}

static void unwound_and_open(void **state)
{
	(void)state;
	begin("unwound");
	enter(MAIN, 0);
	enter(A, 100);
	enter(B, 200);
	maker_unwind_to(&m, 1);
	enter(B, 400);
	leave(B, 500);
	maker_at(&m, 600);
	maker_record(&m, 17 + 2 * A, 0);
	enter(B, 700);
	finish();
	LINES("unwound", STYLE(0),
	      "            main() {\n"
	      "              a() {\n"
	      "    200 ns      b(); /* unwound */\n"
	      "    300 ns    } /* a: unwound */\n"
	      "    100 ns    b();\n"
	      "              } /* a: was not seen to be entered */\n"
	      "              b(); /* did not return */\n");
}

/* What is open at the end is shown, also where what it called is not. */
static void open_filtered(void **state)
{
	(void)state;
	begin("open");
	enter(MAIN, 0);
	enter(A, 100);
	enter(B, 200);
	enter(B, 300);
	finish();
	LINES("open", STYLE(.depth = 2), "            main() {\n"
					 "              a(); /* did not return */\n");
	LINES("open", STYLE(.min_time = 250), "            main(); /* did not return */\n");
}

static void lost(void **state)
{
	(void)state;
	begin("lost");
	enter(MAIN, 0);
	maker_flush(&m);
	assert_int_equal(tf_thread_lost(m.thread, TRACE_START + 50, 12), SONDE_TRACE_OK);
	leave(MAIN, 100);
	finish();
	LINES("lost", STYLE(0),
	      "            main() {\n"
	      "              /* 12 events are lost */\n"
	      "    100 ns  } /* main */\n");
}

static void recursion(void **state)
{
	struct replay_style s = { 0 };
	char *text;

	(void)state;
	begin("recursion");
	for (uint64_t i = 0; i < 20000; i++)
		enter(A, i);
	for (uint64_t i = 0; i < 20000; i++)
		leave(A, 20000 + i);
	finish();
	text = lines("recursion", &s);
	assert_non_null(strstr(text, "[19999] a();\n"));
	assert_non_null(strstr(text, "  40.00 us  } /* a */\n"));
	free(text);
}

/* --- counted calls ------------------------------------------------------------------------ */

static void counted(void **state)
{
	uint64_t calls[] = { 7, 0, 9 };
	struct tf_thread_end end = { .calls = calls, .ncalls = 3 };
	struct tf_probe probe[3] = { 0 };
	struct opened o;
	char *text;

	(void)state;
	maker_begin(&m, "counted", -1);
	for (uint32_t i = 0; i < 3; i++)
		probe[i] = (struct tf_probe){
			.function = { .id = i, .name = i ? i == 1 ? "never" : "often" : "some" },
			.event = 100 + 2 * i, .count = i };
	assert_int_equal(tf_writer_probes(m.writer, probe, 3, NULL), SONDE_TRACE_OK);
	for (int tid = 100; tid < 102; tid++) {
		maker_thread(&m, 100, tid);
		assert_int_equal(tf_thread_close(m.thread, &end), SONDE_TRACE_OK);
	}
	maker_end(&m, 1000);
	report_open(&o, "counted", &everything);
	assert_int_equal(o.report.groups[0].nlines, 2);
	assert_int_equal(find_line(&o, 0, "some", NULL)->stats.calls, 14);
	assert_int_equal(find_line(&o, 0, "often", NULL)->stats.calls, 18);
	assert_int_equal(find_line(&o, 0, "often", NULL)->stats.threads, 2);
	text = printed(report_print_csv, &o.report);
	free(text);
	report_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested), cmocka_unit_test(filters),
		cmocka_unit_test(unwound_and_open), cmocka_unit_test(lost),
		cmocka_unit_test(open_filtered), cmocka_unit_test(recursion),
		cmocka_unit_test(counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
