/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which frames are open after longjmps, exceptions, other stacks; and very deep recursion. */
#include "tests/unit/tracefmt/support.h"

#include <stdio.h>
#include <string.h>

#define TOP UINT64_C(0x7ffff0000000)
#define OTHER UINT64_C(0x7fff00000000) /* a stack below that one */
#define ABOVE UINT64_C(0x7fffff000000) /* and one above */

struct step {
	char what; /* 'e'nter, 'l'eave; of a probe 'E', 'L' */
	uint32_t f;
	uint64_t addr;
};

#define E(f, addr) { 'e', f, addr }
#define L(f) { 'l', f, 0 }
#define PE(f, addr) { 'E', f, addr }
#define PL(f, addr) { 'L', f, addr }

/*
 * Runs the steps; the events must be @expected: for each one 'e', 'l', 'u' (unwound) or 'o'
 * (orphan), the function and the depth, as in "e3.0 u3.0"; functions with probes are p3.
 */
static void run(const struct step *step, size_t n, const char *expected)
{
	struct image im;
	struct sonde_trace *trace;
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	char text[1024] = "", name[16];
	size_t at = 0;

	image_init(&im, 4096);
	for (size_t i = 0; i < n; i++) {
		if (step[i].what == 'e')
			image_enter(&im, BASE_TSC + i, step[i].f, step[i].addr);
		else if (step[i].what == 'l')
			image_leave(&im, BASE_TSC + i, step[i].f);
		else
			image_probe(&im, BASE_TSC + i,
				    step[i].what == 'E' ? PROBE_ENTER(step[i].f) :
							  PROBE_LEAVE(step[i].f),
				    step[i].addr);
	}
	write_trace("stack", &im, BASE_TSC + n);
	trace = open_trace("stack");
	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	while (sonde_trace_next(it, &ev) == SONDE_TRACE_OK) {
		char what = ev->flags & SONDE_TRACE_UNWOUND ? 'u' :
			    ev->flags & SONDE_TRACE_ORPHAN  ? 'o' :
			    ev->kind == SONDE_TRACE_ENTER   ? 'e' :
							      'l';

		assert_non_null(ev->function);
		if (*ev->function->name == 'p')
			snprintf(name, sizeof name, "%s", ev->function->name);
		else
			snprintf(name, sizeof name, "%zu", ev->function->index);
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%c%s.%u", at ? " " : "",
				       what, name, ev->depth);
	}
	assert_string_equal(text, expected);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	remove_trace("stack");
	image_free(&im);
}

#define RUN(expected, ...)                                               \
	do {                                                             \
		static const struct step steps[] = { __VA_ARGS__ };      \
		run(steps, sizeof steps / sizeof steps[0], expected);    \
	} while (0)

static void calls(void **state)
{
	(void)state;
	RUN("e3.0 e4.1 l4.1 e4.1 l4.1 l3.0", E(3, TOP), E(4, TOP - 16), L(4), E(4, TOP - 16), L(4),
	    L(3));
	RUN("e3.0 e3.1 e3.2 l3.2 l3.1 l3.0", E(3, TOP), E(3, TOP - 64), E(3, TOP - 128), L(3), L(3),
	    L(3));
}

/* Exits of probes tell which frame it is. */
static void framed(void **state)
{
	(void)state;
	/* Recursion: the outer one is left, by a longjmp from the inner ones. */
	RUN("ep3.0 ep3.1 ep3.2 up3.2 up3.1 lp3.0", PE(3, TOP), PE(3, TOP - 64), PE(3, TOP - 128),
	    PL(3, TOP));
	RUN("ep3.0 ep4.1 ep3.2 up3.2 lp4.1 lp3.0", PE(3, TOP), PE(4, TOP - 64), PE(3, TOP - 128),
	    PL(4, TOP - 64), PL(3, TOP));
	/* Tail calls: the same place on the stack, one after the other. */
	RUN("ep3.0 ep4.1 lp4.1 ep5.1 lp5.1 lp3.0", PE(3, TOP), PE(4, TOP - 16), PL(4, TOP - 16),
	    PE(5, TOP - 16), PL(5, TOP - 16), PL(3, TOP));
	/* A tail call whose exit was not seen. */
	RUN("ep3.0 ep4.1 up4.1 ep5.1 lp5.1 lp3.0", PE(3, TOP), PE(4, TOP - 16), PE(5, TOP - 16),
	    PL(5, TOP - 16), PL(3, TOP));
	/* Among frames without such exits. */
	RUN("e3.0 ep4.1 e5.2 u5.2 lp4.1 l3.0", E(3, TOP), PE(4, TOP - 16), E(5, TOP - 32),
	    PL(4, TOP - 16), L(3));
}

static void framed_orphans(void **state)
{
	(void)state;
	/* The enter is missing: what lies inside is gone, what lies outside is not. */
	RUN("ep3.0 ep4.1 up4.1 op5.1 lp3.0", PE(3, TOP), PE(4, TOP - 64), PL(5, TOP - 32),
	    PL(3, TOP));
	/* The frame at this place is another function's: that is gone too. */
	RUN("ep3.0 ep4.1 up4.1 op5.1 lp3.0", PE(3, TOP), PE(4, TOP - 32), PL(5, TOP - 32),
	    PL(3, TOP));
	/* The function is open, but not there. */
	RUN("ep3.0 op3.1 lp3.0", PE(3, TOP), PL(3, TOP - 32), PL(3, TOP));
	RUN("op3.0", PL(3, TOP));
	RUN("op3.0 ep4.0 lp4.0", PL(3, TOP), PE(4, TOP), PL(4, TOP));
}

static void framed_other_stacks(void **state)
{
	(void)state;
	/* A handler on a signal stack, left by longjmp: an exit on the first stack shows it. */
	RUN("ep3.0 ep4.1 ep5.2 up5.2 lp4.1 lp3.0", PE(3, TOP), PE(4, TOP - 64), PE(5, ABOVE),
	    PL(4, TOP - 64), PL(3, TOP));
	RUN("ep3.0 ep4.1 ep5.2 lp5.2 lp4.1 lp3.0", PE(3, TOP), PE(4, TOP - 64), PE(5, ABOVE),
	    PL(5, ABOVE), PL(4, TOP - 64), PL(3, TOP));
	/* An exit on a stack of which nothing is known says nothing about the others. */
	RUN("ep3.0 op5.1 lp3.0", PE(3, TOP), PL(5, ABOVE), PL(3, TOP));
	RUN("ep3.0 op5.1 lp3.0", PE(3, TOP), PL(5, OTHER), PL(3, TOP));
}

static void longjmp_seen_by_enter(void **state)
{
	(void)state;
	/* 5 was called from 3 after 4 and 6 were left behind. */
	RUN("e3.0 e4.1 e6.2 u6.2 u4.1 e5.1 l5.1 l3.0", E(3, TOP), E(4, TOP - 32), E(6, TOP - 64),
	    E(5, TOP - 16), L(5), L(3));
	/* A frame at the same address takes the place of the one before. */
	RUN("e3.0 e4.1 u4.1 e5.1 l5.1 l3.0", E(3, TOP), E(4, TOP - 32), E(5, TOP - 32), L(5), L(3));
	/* All of them, as when main() is not recorded. */
	RUN("e3.0 e4.1 u4.1 u3.0 e3.0", E(3, TOP - 64), E(4, TOP - 96), E(3, TOP - 64));
}

static void exception_seen_by_leave(void **state)
{
	(void)state;
	RUN("e3.0 e4.1 e5.2 u5.2 u4.1 l3.0", E(3, TOP), E(4, TOP - 32), E(5, TOP - 64), L(3));
	/* Recursion: the innermost one. */
	RUN("e3.0 e3.1 e5.2 u5.2 l3.1 l3.0", E(3, TOP), E(3, TOP - 32), E(5, TOP - 64), L(3), L(3));
}

static void orphans(void **state)
{
	(void)state;
	RUN("o3.0", L(3));
	RUN("e3.0 o4.1 l3.0 o3.0", E(3, TOP), L(4), L(3), L(3));
}

static void signal_stack_below(void **state)
{
	(void)state;
	RUN("e3.0 e4.1 e5.2 e6.3 l6.3 l5.2 l4.1 l3.0", E(3, TOP), E(4, TOP - 32), E(5, OTHER),
	    E(6, OTHER - 16), L(6), L(5), L(4), L(3));
}

static void signal_stack_above(void **state)
{
	(void)state;
	RUN("e3.0 e4.1 e5.2 e6.3 l6.3 l5.2 e6.2 l6.2 l4.1 l3.0", E(3, TOP), E(4, TOP - 32),
	    E(5, ABOVE), E(6, ABOVE - 16), L(6), L(5), E(6, TOP - 64), L(6), L(4), L(3));
	/* A longjmp out of the handler, seen by an enter on the first stack. */
	RUN("e3.0 e4.1 e5.2 u5.2 e6.2 l6.2 l4.1 l3.0", E(3, TOP), E(4, TOP - 32), E(5, ABOVE),
	    E(6, TOP - 64), L(6), L(4), L(3));
	/* And one on the handler's own stack. */
	RUN("e3.0 e5.1 e6.2 u6.2 u5.1 e5.1 l5.1 l3.0", E(3, TOP), E(5, ABOVE), E(6, ABOVE - 16),
	    E(5, ABOVE), L(5), L(3));
}

/*
 * Two coroutines that take turns inside of functions: no order is right, but every function is
 * left.
 */
static void coroutines(void **state)
{
	struct image im;
	struct sonde_trace *trace;
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	int enters = 0, ends = 0, orphans = 0;

	(void)state;
	image_init(&im, 65536);
	for (uint32_t i = 0; i < 500; i++) {
		image_enter(&im, BASE_TSC + 4 * i, 3, TOP);
		image_enter(&im, BASE_TSC + 4 * i + 1, 4, ABOVE);
		image_leave(&im, BASE_TSC + 4 * i + 2, 3);
		image_leave(&im, BASE_TSC + 4 * i + 3, 4);
	}
	write_trace("coroutines", &im, BASE_TSC + 10000);
	trace = open_trace("coroutines");
	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	while (sonde_trace_next(it, &ev) == SONDE_TRACE_OK) {
		bool orphan = ev->flags & SONDE_TRACE_ORPHAN;

		enters += ev->kind == SONDE_TRACE_ENTER;
		ends += ev->kind == SONDE_TRACE_LEAVE && !orphan;
		orphans += orphan;
		assert_true(ev->depth < 3);
	}
	assert_int_equal(enters, 1000);
	assert_int_equal(ends, 1000);
	assert_true(orphans <= 500);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	image_free(&im);
}

#define DEEP 1000000u

/* A million frames, in many chunks, some of them left, the rest thrown away by one leave. */
static void deep_recursion(void **state)
{
	struct image im;
	struct tf_writer *w = new_trace("deep", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct sonde_trace *trace;
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	uint32_t n = 0, unwound = 0;
	struct tf_thread_stats stats;

	(void)state;
	image_init(&im, 32 << 20);
	image_enter(&im, BASE_TSC, 5, TOP + 32);
	for (uint32_t i = 0; i < DEEP; i++)
		image_enter(&im, BASE_TSC + i, 3, TOP - 32 * i);
	for (uint32_t i = 0; i < DEEP / 2; i++)
		image_leave(&im, BASE_TSC + DEEP + i, 3);
	image_leave(&im, BASE_TSC + 2 * DEEP, 5);
	drain_image(t, &im, true, BASE_TSC + 2 * DEEP);
	tf_thread_stats(t, &stats);
	assert_int_equal(stats.depth, 0);
	assert_int_equal(stats.enters, DEEP + 1);
	assert_int_equal(stats.leaves, DEEP / 2 + 1);
	assert_int_equal(stats.unwound, DEEP / 2);
	end_thread(t);
	end_trace(w);
	trace = open_trace("deep");
	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	for (; sonde_trace_next(it, &ev) == SONDE_TRACE_OK; n++) {
		unwound += ev->flags == SONDE_TRACE_UNWOUND;
		if (n && n <= DEEP)
			assert_int_equal(ev->depth, n);
		if (n == DEEP + 10) {
			assert_int_equal(ev->kind, SONDE_TRACE_LEAVE);
			assert_int_equal(ev->entered, DEEP - 10);
		}
	}
	assert_int_equal(n, 2 * DEEP + 2);
	assert_int_equal(unwound, DEEP / 2);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	image_free(&im);
}

/* Leaves without enter below a deep stack: each looks for its function in vain. */
static void orphans_below_deep_stack(void **state)
{
	struct image im;
	struct tf_writer *w = new_trace("orphans", -1);
	struct tf_thread *t = new_thread(w, 1, 1);
	struct tf_thread_stats stats;

	(void)state;
	image_init(&im, 32 << 20);
	for (uint32_t i = 0; i < DEEP; i++)
		image_enter(&im, BASE_TSC + i, 3, TOP - 32 * i);
	for (uint32_t i = 0; i < DEEP; i++)
		image_leave(&im, BASE_TSC + DEEP + i, 4);
	drain_image(t, &im, true, BASE_TSC + 2 * DEEP);
	tf_thread_stats(t, &stats);
	assert_int_equal(stats.orphans, DEEP);
	assert_int_equal(stats.depth, DEEP);
	end_thread(t);
	end_trace(w);
	image_free(&im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(framed),
		cmocka_unit_test(framed_orphans),
		cmocka_unit_test(framed_other_stacks),
		cmocka_unit_test(longjmp_seen_by_enter),
		cmocka_unit_test(exception_seen_by_leave),
		cmocka_unit_test(orphans),
		cmocka_unit_test(signal_stack_below),
		cmocka_unit_test(signal_stack_above),
		cmocka_unit_test(coroutines),
		cmocka_unit_test(deep_recursion),
		cmocka_unit_test(orphans_below_deep_stack),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
