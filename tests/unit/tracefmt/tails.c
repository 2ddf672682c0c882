/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tail calls: which records are one, that they are read as they were recorded, and as calls.  Expected events are
 * words: "+0:3" enters p0 at depth 3, "-0:3" leaves it, "!0:3" unwinds it, "." is a point.
 */
#include "tests/unit/tracefmt/support.h"

#include <stdio.h>
#include <string.h>

#include "tracefmt/read/tails.h"
#include "tracefmt/ring.h"

#define TOP UINT64_C(0x7ffff0000000)

static struct image im;
static uint64_t now;

static void enter(uint32_t i, unsigned depth)
{
	image_probe(&im, BASE_TSC + ++now, PROBE_ENTER(i), TOP - 32 * depth);
}

static void leave(uint32_t i, unsigned depth)
{
	image_probe(&im, BASE_TSC + ++now, PROBE_LEAVE(i), TOP - 32 * depth);
}

static void jump_to(uint32_t i, unsigned depth, uint64_t target)
{
	image_probe(&im, BASE_TSC + ++now, PROBE_LEAVE(i),
		    (TOP - 32 * depth) | RING_JUMP | RING_JUMP_TARGET(target));
}

static void jump(uint32_t i, unsigned depth, uint32_t to)
{
	jump_to(i, depth, PROBE_ENTRY(to));
}

static void begin(void)
{
	image_init(&im, 1 << 20);
	now = 0;
}

/* One event as a word. */
static int word(char *to, size_t room, const struct sonde_trace_event *ev)
{
	char what = ev->kind == SONDE_TRACE_ENTER ? '+' : ev->flags & SONDE_TRACE_UNWOUND ? '!' : '-';

	if (ev->kind == SONDE_TRACE_POINT)
		return snprintf(to, room, ". ");
	return snprintf(to, room, "%c%s:%u ", what, ev->function->name, ev->depth);
}

static void read_as(char *text, size_t room, bool as_calls)
{
	struct sonde_trace *trace = open_trace("t");
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *it;
	uint64_t last = 0;
	size_t at = 0;

	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	sonde_trace_tail_calls(it, as_calls);
	while (sonde_trace_next(it, &ev) == SONDE_TRACE_OK) {
		assert_true(ev->time >= last);
		assert_true(ev->entered <= ev->time);
		last = ev->time;
		at += (size_t)word(text + at, room - at, ev);
	}
	text[at ? at - 1 : 0] = 0;
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
}

static void end(void)
{
	remove_trace("t");
	image_free(&im);
}

/* Of a trace that has been written. */
static void expect_calls(const char *as_calls)
{
	static char text[1 << 16];

	read_as(text, sizeof text, true);
	assert_string_equal(text, as_calls);
	end();
}

static void expect(const char *as_jumps, const char *as_calls)
{
	static char text[1 << 16];

	write_trace("t", &im, BASE_TSC + now);
	read_as(text, sizeof text, false);
	assert_string_equal(text, as_jumps);
	expect_calls(as_calls);
}

static void simple(void **state)
{
	(void)state;
	begin();
	enter(9, 0);
	enter(0, 1);
	jump(0, 1, 1);
	enter(1, 1);
	jump(1, 1, 2);
	enter(2, 1);
	enter(3, 2);
	leave(3, 2);
	leave(2, 1);
	leave(9, 0);
	expect("+p9:0 +p0:1 -p0:1 +p1:1 -p1:1 +p2:1 +p3:2 -p3:2 -p2:1 -p9:0",
	       "+p9:0 +p0:1 +p1:2 +p2:3 +p3:4 -p3:4 -p2:3 -p1:2 -p0:1 -p9:0");
}

/* What is jumped to is not recorded, and something else is called then, at the same place. */
static void elsewhere(void **state)
{
	(void)state;
	begin();
	enter(9, 0);
	for (int i = 0; i < 2; i++) {
		enter(0, 1);
		jump_to(0, 1, 0x400000 + 0x10 * i);
	}
	enter(0, 1);
	jump(0, 1, 1);
	enter(2, 1);	/* not the one */
	leave(2, 1);
	enter(0, 1);
	jump(0, 1, 1);
	enter(1, 2);	/* it is, but from another frame */
	leave(1, 2);
	enter(0, 1);
	jump(0, 1, 1);
	leave(9, 0);
	expect("+p9:0 +p0:1 -p0:1 +p0:1 -p0:1 +p0:1 -p0:1 +p2:1 -p2:1 +p0:1 -p0:1 +p1:1 -p1:1 +p0:1 -p0:1 -p9:0",
	       "+p9:0 +p0:1 -p0:1 +p0:1 -p0:1 +p0:1 -p0:1 +p2:1 -p2:1 +p0:1 -p0:1 +p1:1 -p1:1 +p0:1 -p0:1 -p9:0");
}

/* A loop of tail calls: the chain does not grow. */
static void loops(void **state)
{
	(void)state;
	begin();
	enter(0, 0);
	jump(0, 0, 1);
	for (int i = 0; i < 3; i++) {
		enter(1, 0);
		jump(1, 0, 2);
		enter(2, 0);
		jump(2, 0, 1);
	}
	enter(1, 0);
	jump(1, 0, 1);
	enter(1, 0);
	leave(1, 0);
	expect("+p0:0 -p0:0 +p1:0 -p1:0 +p2:0 -p2:0 +p1:0 -p1:0 +p2:0 -p2:0 +p1:0 -p1:0 +p2:0 -p2:0 +p1:0 -p1:0 "
	       "+p1:0 -p1:0",
	       "+p0:0 +p1:1 +p2:2 -p2:2 -p1:1 +p1:1 +p2:2 -p2:2 -p1:1 +p1:1 +p2:2 -p2:2 -p1:1 +p1:1 -p1:1 "
	       "+p1:1 -p1:1 -p0:0");
}

/* longjmp() over what was jumped to: p9 goes on, and calls p3 from where p0 was called. */
static void unwound(void **state)
{
	(void)state;
	begin();
	enter(9, 0);
	enter(0, 1);
	jump(0, 1, 1);
	enter(1, 1);
	enter(2, 2);
	enter(3, 1);
	leave(3, 1);
	leave(9, 0);
	expect("+p9:0 +p0:1 -p0:1 +p1:1 +p2:2 !p2:2 !p1:1 +p3:1 -p3:1 -p9:0",
	       "+p9:0 +p0:1 +p1:2 +p2:3 !p2:3 !p1:2 !p0:1 +p3:1 -p3:1 -p9:0");
}

/* Each event in a chunk of its own. */
static void chunks(void **state)
{
	struct tf_writer *w = new_trace("t", -1);
	struct tf_thread *t = new_thread(w, 100, 101);

	(void)state;
	begin();
	for (int i = 0; i < 6; i++) {
		image_clear(&im);
		switch (i) {
		case 0: enter(9, 0); break;
		case 1: enter(0, 1); break;
		case 2: jump(0, 1, 1); break;
		case 3: enter(1, 1); break;
		case 4: leave(1, 1); break;
		case 5: leave(9, 0); break;
		}
		drain_image(t, &im, true, BASE_TSC + now);
		assert_int_equal(tf_thread_flush(t), SONDE_TRACE_OK);
	}
	end_thread(t);
	end_trace(w);
	expect_calls("+p9:0 +p0:1 +p1:2 -p1:2 -p0:1 -p9:0");
}

/* The thread waits for room after the jump; with a chunk that ends there, and without. */
static void after_wait(void **state)
{
	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct tf_writer *w = new_trace("t", -1);
		struct tf_thread *t = new_thread(w, 100, 101);

		begin();
		enter(0, 0);
		jump(0, 0, 1);
		now += 20;
		drain_image(t, &im, true, BASE_TSC + now);
		assert_int_equal(tf_thread_waited(t, BASE_TSC + now, 10), SONDE_TRACE_OK);
		if (flush)
			assert_int_equal(tf_thread_flush(t), SONDE_TRACE_OK);
		image_clear(&im);
		enter(1, 0);
		leave(1, 0);
		drain_image(t, &im, true, BASE_TSC + now);
		end_thread(t);
		end_trace(w);
		expect_calls("+p0:0 +p1:1 -p1:1 -p0:0");
	}
}

/* By way of a module's wrapper, whose frame is a little lower. */
static void wrapped(void **state)
{
	(void)state;
	begin();
	enter(0, 0);
	jump_to(0, 0, WRAP_ENTRY(3));
	image_enter(&im, BASE_TSC + ++now, 3, TOP - 8);
	image_leave(&im, BASE_TSC + ++now, 3);
	enter(0, 0);
	jump_to(0, 0, WRAP_ENTRY(3));
	image_enter(&im, BASE_TSC + ++now, 3, TOP - 48); /* another call of it */
	image_leave(&im, BASE_TSC + ++now, 3);
	expect("+p0:0 -p0:0 +_Z2f3v:0 -_Z2f3v:0 +p0:0 -p0:0 +_Z2f3v:0 -_Z2f3v:0",
	       "+p0:0 +_Z2f3v:1 -_Z2f3v:1 -p0:0 +p0:0 -p0:0 +_Z2f3v:0 -_Z2f3v:0");
}

/* Longer than is followed: depths stay within bounds, each call is left once. */
static void long_chain(void **state)
{
	struct sonde_trace *trace;
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *it;
	unsigned enters = 0, leaves = 0, deepest = 0;

	(void)state;
	begin();
	for (uint32_t k = 0; k < 2 * NPROBES; k++) {
		enter(k % NPROBES, k / NPROBES);
		if (k % NPROBES == NPROBES - 1)
			break;
		jump(k % NPROBES, k / NPROBES, (k + 1) % NPROBES);
	}
	leave(NPROBES - 1, 0);
	write_trace("t", &im, BASE_TSC + now);
	trace = open_trace("t");
	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	sonde_trace_tail_calls(it, true);
	while (sonde_trace_next(it, &ev) == SONDE_TRACE_OK) {
		enters += ev->kind == SONDE_TRACE_ENTER;
		leaves += ev->kind == SONDE_TRACE_LEAVE;
		deepest = ev->depth > deepest ? ev->depth : deepest;
	}
	assert_int_equal(enters, NPROBES);
	assert_int_equal(leaves, NPROBES);
	assert_true(deepest == NPROBES - 1 || deepest == TF_TAILS_MAX);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple),  cmocka_unit_test(elsewhere), cmocka_unit_test(loops),
		cmocka_unit_test(unwound), cmocka_unit_test(chunks),	cmocka_unit_test(wrapped),
		cmocka_unit_test(after_wait), cmocka_unit_test(long_chain),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
