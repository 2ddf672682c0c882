// SPDX-License-Identifier: GPL-3.0-or-later
/* Lines that threads share: what they are called, how often they go to and fro, and what happens when there is too much of something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sharing/sharing.h"

#define LINE UINT64_C(0x1000)
#define PID 7

static struct sh *new_sh(unsigned int line, uint64_t most)
{
	struct sh *s = sh_new(&(struct sh_options){ .line = line, .most_uses = most });

	assert_non_null(s);
	return s;
}

static struct sh_thread *new_thread(struct sh *s, int tid)
{
	struct sh_thread *t = sh_thread_new(s, PID, tid);

	assert_non_null(t);
	return t;
}

static void times(struct sh_thread *t, uint64_t n, uint64_t addr, uint32_t size, uint8_t kind, uint64_t insn)
{
	const struct mt_access a = { .addr = addr, .size = size, .kind = kind, .insn = insn };

	while (n--)
		assert_true(sh_thread_take(t, &a, 1));
}

static void at(struct sh_thread *t, uint64_t now)
{
	assert_true(sh_thread_time(t, now, true));
}

static void sweep(struct sh_thread *t, uint64_t addr, uint64_t stride, uint32_t n, uint8_t kind, uint64_t insn, bool repeated)
{
	struct mt_access v[2] = { { .addr = addr, .size = 8, .kind = kind, .insn = insn }, { .addr = stride, .size = n, .kind = MD_REPEAT, .insn = insn } };

	if (repeated) {
		v[0].kind |= MD_REPEATED;
		assert_true(sh_thread_take(t, v, 2));
		return;
	}
	for (; n; n--, v[0].addr += stride)
		assert_true(sh_thread_take(t, v, 1));
}

static const struct sh_line *only_line(struct sh *s)
{
	assert_true(sh_finish(s));
	assert_non_null(sh_line(s, 0));
	assert_null(sh_line(s, 1));
	return sh_line(s, 0);
}

static void test_false(void **state)
{
	struct sh *s = new_sh(64, 0);
	struct sh_thread *main = new_thread(s, 1), *a = new_thread(s, 2), *b = new_thread(s, 3);
	const struct sh_line *l;

	(void)state;
	at(main, 1);
	times(main, 1, LINE, 64, MD_STORE, 0x90); /* initializes all of it: no true sharing */
	at(main, 2);
	at(a, 10);
	at(b, 10);
	times(a, 1000, LINE, 8, MD_MODIFY, 0x100);
	times(b, 500, LINE + 56, 8, MD_MODIFY, 0x100);
	at(a, 20);
	at(b, 20);
	l = only_line(s);
	assert_int_equal(l->class, SH_FALSE);
	assert_false(l->handed);
	assert_int_equal(l->address, LINE);
	assert_int_equal(l->pid, PID);
	assert_int_equal(l->threads, 3);
	assert_int_equal(l->accesses, 1501);
	assert_int_equal(l->transfers.most, 1001);
	assert_int_equal(l->transfers.least, 2); /* from the first, and from one of the others */
	assert_int_equal(l->uses[l->a].tid, 2);
	assert_int_equal(l->uses[l->a].writes, 0xff);
	assert_int_equal(l->uses[l->b].tid, 3);
	assert_true(l->uses[l->b].writes == UINT64_C(0xff) << 56);
	sh_free(s);
}

static void test_true(void **state)
{
	struct sh *s = new_sh(64, 0);
	struct sh_thread *a = new_thread(s, 2), *b = new_thread(s, 3);
	const struct sh_line *l;

	(void)state;
	at(a, 1);
	at(b, 1);
	times(a, 300, LINE + 8, 8, MD_STORE, 0x100);
	times(b, 300, LINE + 12, 4, MD_LOAD, 0x200);
	l = only_line(s);
	assert_int_equal(l->class, SH_TRUE);
	assert_int_equal(l->transfers.most, 300);
	assert_int_equal(l->stores, 300);
	sh_free(s);
}

/* A lock and what it is for go from thread to thread together; a counter beside them does not. */
static void test_mixed(void **state)
{
	(void)state;
	for (int beside = 0; beside < 2; beside++) {
		struct sh *s = new_sh(64, 0);

		for (int i = 0; i < 2; i++) {
			struct sh_thread *t = new_thread(s, 2 + i);

			at(t, 1);
			times(t, 300, LINE, 4, MD_MODIFY, 0x100);
			times(t, 300, LINE + 8, 8, MD_MODIFY, 0x110);
			if (beside)
				times(t, 300, LINE + 16 + 8 * (uint64_t)i, 8, MD_STORE, 0x120);
		}
		assert_int_equal(only_line(s)->class, beside ? SH_MIXED : SH_TRUE);
		sh_free(s);
	}
}

/* Each end of a queue is stored to by one thread, and read by the other. */
static void test_ends(void **state)
{
	struct sh *s = new_sh(64, 0);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sh_thread *t = new_thread(s, 2 + i);

		at(t, 1);
		times(t, 300, LINE + 8 * (uint64_t)i, 8, MD_STORE, 0x100 + (uint64_t)i);
		times(t, 30000, LINE + 8 * (uint64_t)!i, 8, MD_LOAD, 0x200 + (uint64_t)i);
	}
	assert_int_equal(only_line(s)->class, SH_MIXED);
	assert_false(sh_line(s, 0)->handed);
	sh_free(s);
}

/* What a barrier keeps apart goes over once in each phase, however much is done in it. */
static void test_phases(void **state)
{
	struct sh *s = new_sh(64, 0);
	struct sh_thread *t[2] = { new_thread(s, 2), new_thread(s, 3) };

	(void)state;
	for (uint64_t phase = 0; phase < 10; phase++) {
		for (int i = 0; i < 2; i++) {
			at(t[i], phase * 100 + 1);
			if (phase % 2 == (uint64_t)i)
				times(t[i], 2000, LINE + 8 * (uint64_t)i, 8, MD_MODIFY, 0x100);
			at(t[i], phase * 100 + 90);
		}
	}
	assert_true(only_line(s)->handed);
	assert_int_equal(sh_line(s, 0)->transfers.most, 9);
	assert_int_equal(sh_line(s, 0)->transfers.least, 9);
	sh_free(s);
}

/* Without exact times an access is known to have been made after the time before its chunk's only. */
static void test_chunks(void **state)
{
	struct sh *s = new_sh(64, 0);
	struct sh_thread *a = new_thread(s, 2), *b = new_thread(s, 3);

	(void)state;
	assert_true(sh_thread_time(a, 10, false));
	times(a, 5, LINE, 8, MD_STORE, 0x100);
	assert_true(sh_thread_time(a, 20, false));
	assert_true(sh_thread_time(b, 15, false));
	assert_true(sh_thread_time(b, 30, false));
	times(b, 5, LINE, 8, MD_STORE, 0x100);
	assert_in_range(only_line(s)->transfers.most, 9, 10); /* all may be between 15 and 20 */
	sh_free(s);
}

static void test_none(void **state)
{
	struct sh *s = new_sh(64, 0);
	struct sh_thread *a = new_thread(s, 2), *b = new_thread(s, 3), *other = sh_thread_new(s, PID + 1, 4);

	(void)state;
	assert_non_null(other);
	at(a, 1);
	at(b, 1);
	at(other, 1);
	times(a, 10, LINE, 8, MD_STORE, 0x100);
	times(b, 10, LINE + 64, 8, MD_STORE, 0x100); /* another line */
	times(other, 10, LINE, 8, MD_STORE, 0x100);  /* another process */
	times(a, 10, LINE + 128, 8, MD_LOAD, 0x100); /* nobody stores */
	times(b, 10, LINE + 128, 8, MD_LOAD, 0x100);
	times(b, 10, LINE, 64, MD_PREFETCH, 0x100);
	assert_true(sh_finish(s));
	assert_null(sh_line(s, 0));
	sh_free(s);
}

static void test_sizes(void **state)
{
	struct sh *s = new_sh(128, 0);
	struct sh_thread *a = new_thread(s, 2), *b = new_thread(s, 3);

	(void)state;
	at(a, 1);
	at(b, 1);
	times(a, 200, LINE + 60, 8, MD_STORE, 0x100); /* in one line of 128 bytes */
	times(b, 200, LINE + 64 + 56, 16, MD_STORE, 0x100); /* in two */
	assert_int_equal(only_line(s)->class, SH_FALSE);
	assert_true(sh_line(s, 0)->uses[0].writes == UINT64_C(0xf) << 30);
	assert_true(sh_line(s, 0)->uses[1].writes == UINT64_C(0xf) << 60);
	sh_free(s);
	s = new_sh(64, 2);
	a = new_thread(s, 2);
	for (uint64_t i = 0; i < 10; i++)
		times(a, 3, LINE + 64 * i * i, 8, MD_STORE, 0x100);
	times(a, 1, UINT64_MAX - 3, 8, MD_STORE, 0x100); /* beyond the end of the address space */
	assert_true(sh_finish(s));
	assert_true(sh_missed(s) >= 24);
	sh_free(s);
}

/* More windows than are kept: bounds get wider, and stay bounds. */
static void test_many(void **state)
{
	struct sh *s = new_sh(64, 0);
	struct sh_thread *t[2] = { new_thread(s, 2), new_thread(s, 3) };
	const uint64_t rounds = 20000;

	(void)state;
	for (uint64_t k = 0; k < rounds; k++) {
		at(t[k % 2], 10 * k + 1);
		times(t[k % 2], 1, LINE, 8, MD_MODIFY, 0x100);
		at(t[k % 2], 10 * k + 9);
	}
	assert_true(only_line(s)->transfers.least <= rounds - 1);
	assert_true(sh_line(s, 0)->transfers.least > rounds / 20);
	assert_true(sh_line(s, 0)->transfers.most >= rounds - 1);
	assert_true(sh_line(s, 0)->transfers.most <= 2 * rounds);
	sh_free(s);
}

/* ---- sweeps ---- */

#define SWEEP 400

/* The accesses of a window, in their order, or in another one, of which no sweep is made. */
static void give(struct sh_thread *t, const struct mt_access *v, size_t n, bool mixed)
{
	for (size_t i = 0; i < n; i++)
		assert_true(sh_thread_take(t, &v[mixed ? i * 7919 % n : i], 1));
}

/* One way through memory, the same each time that @seed is. */
static size_t make_sweep(struct mt_access *v, uint64_t seed, unsigned int line)
{
	static const int64_t strides[] = { 8, -8, 1, 4, 40, -24, 72, 200, 16, 8 };
	static const uint32_t sizes[] = { 8, 4, 1, 16, 32, 2 };
	const int64_t stride = strides[seed % 10];
	const size_t n = 1 + seed * 31 % (SWEEP - 1);

	for (size_t i = 0; i < n; i++)
		v[i] = (struct mt_access){ .addr = 0x100000 + seed % 5 * line + seed * 3 % 64 + (uint64_t)((int64_t)i * stride),
					   .size = sizes[seed % 6], .kind = (uint8_t)(seed % 4 ? MD_LOAD : MD_STORE),
					   .insn = 0x100 + seed % 7 };
	return n;
}

static void compare_lines(const struct sh_line *x, const struct sh_line *y)
{
	assert_true(x->address == y->address && x->class == y->class && x->threads == y->threads && x->nuses == y->nuses);
	assert_true(x->accesses == y->accesses && x->stores == y->stores && x->handed == y->handed);
	assert_memory_equal(&x->transfers, &y->transfers, sizeof(x->transfers));
	assert_memory_equal(&x->invalidated, &y->invalidated, sizeof(x->invalidated));
	assert_true(x->a == y->a && x->b == y->b);
	for (size_t i = 0; i < x->nuses; i++) {
		const struct sh_use *u = &x->uses[i], *v = &y->uses[i];

		assert_true(u->insn == v->insn && u->thread == v->thread && u->reads == v->reads && u->writes == v->writes);
		assert_true(u->accesses == v->accesses && u->stores == v->stores && u->from == v->from && u->to == v->to);
	}
}

/* It does not matter in which order the accesses of a window are: what is found by sweeps is what is found line by line. */
static void test_sweeps(void **state)
{
	(void)state;
	for (unsigned int line = 64; line <= 256; line *= 4) {
		struct mt_access *v = calloc(SWEEP, sizeof(*v));
		struct sh *s[2] = { new_sh(line, 0), new_sh(line, 0) };
		struct sh_thread *t[2][3];
		size_t n = 0;

		assert_non_null(v);
		for (int i = 0; i < 6; i++)
			t[i / 3][i % 3] = new_thread(s[i / 3], 2 + i % 3);
		for (uint64_t k = 0; k < 1200; k++) {
			const size_t accesses = make_sweep(v, k % 3 ? k % 11 : k % 199, line);

			for (int i = 0; i < 2; i++) {
				at(t[i][k % 3], 10 * (k / 4) + 1 + k % 3);
				give(t[i][k % 3], v, accesses, i);
			}
		}
		assert_true(sh_finish(s[0]) && sh_finish(s[1]));
		for (; sh_line(s[0], n) && sh_line(s[1], n); n++)
			compare_lines(sh_line(s[0], n), sh_line(s[1], n));
		assert_true(n > 20);
		assert_true(!sh_line(s[0], n) && !sh_line(s[1], n));
		sh_free(s[0]);
		sh_free(s[1]);
		free(v);
	}
}

/* Two threads that sweep over the same lines: up, down, on, in large and small steps, with other accesses in between. */
static struct sh *swept(bool repeated)
{
	static const int64_t strides[] = { 8, -8, 24, 0, 200, 64, -72, 8, 5000, 8 };
	struct sh *s = new_sh(64, 0);
	struct sh_thread *t[2] = { new_thread(s, 1), new_thread(s, 2) };

	for (uint32_t i = 0; i < 400; i++) {
		const uint64_t insn = 0x100 + i % 7, stride = (uint64_t)strides[i / 3 % 10];
		const uint64_t addr = 16 * LINE + (i / 7 % 5) * 640 + (i % 3 == 2 ? stride * (i % 40) : 0);

		at(t[i % 2], 10 * i + 1);
		sweep(t[i % 2], addr, stride, 1 + i % 60, i % 4 ? MD_LOAD : MD_STORE, insn, repeated);
		sweep(t[i % 2], addr + stride * (1 + i % 60), stride, 1 + i % 60, i % 4 ? MD_LOAD : MD_STORE, insn, repeated && i % 5);
		times(t[i % 2], i % 3, addr, 4, MD_LOAD, insn + i % 2);
	}
	assert_true(sh_finish(s));
	return s;
}

static void test_repeats(void **state)
{
	struct sh *s[2] = { swept(false), swept(true) };
	size_t n = 0;

	(void)state;
	for (; sh_line(s[0], n) && sh_line(s[1], n); n++)
		compare_lines(sh_line(s[0], n), sh_line(s[1], n));
	assert_true(n > 50);
	assert_true(!sh_line(s[0], n) && !sh_line(s[1], n));
	sh_free(s[0]);
	sh_free(s[1]);
}

/* Loops in each other; in another order there are no runs, let alone runs of them. */
static void nest(struct sh_thread *t, uint64_t addr, const int64_t *stride, const uint32_t *n, uint8_t kind, uint64_t insn, bool mixed)
{
	const uint32_t all = n[0] * n[1] * n[2];

	for (uint32_t k = 0; k < all; k++) {
		const uint32_t i = mixed ? (uint32_t)(k * UINT64_C(7919) % all) : k;

		times(t, 1, addr + i % n[0] * (uint64_t)stride[0] + i / n[0] % n[1] * (uint64_t)stride[1] + i / n[0] / n[1] * (uint64_t)stride[2], 8,
		      kind, insn);
	}
}

static struct sh *nested(unsigned int line, bool mixed)
{
	static const struct {
		int64_t stride[3];
		uint32_t n[3];
	} shapes[] = {
		{ { 8, 40, 400 }, { 5, 10, 12 } },     /* one after another */
		{ { 20000, 40, 8 }, { 6, 9, 5 } },     /* by columns, farther apart than a sweep's accesses may be */
		{ { 24, 0, 1000 }, { 20, 3, 7 } },     /* again */
		{ { -8, -720, 12 }, { 30, 4, 6 } },    /* down, and across lines */
		{ { 8, 8, 8 }, { 40, 20, 10 } },       /* over each other */
		{ { 9000, -30000, 70000 }, { 3, 4, 5 } }, /* far apart */
	};
	struct sh *s = new_sh(line, 0);
	struct sh_thread *t[2] = { new_thread(s, 1), new_thread(s, 2) };

	for (uint32_t i = 0; i < 240; i++) {
		const size_t k = i / 2 % 6;

		at(t[i % 2], 10 * (i / 4) + 1);
		nest(t[i % 2], 100 * LINE + i % 3 * 4, shapes[k].stride, shapes[k].n, i % 5 ? MD_LOAD : MD_STORE, 0x100 + k, mixed);
	}
	assert_true(sh_finish(s));
	return s;
}

static void test_nests(void **state)
{
	(void)state;
	for (unsigned int line = 16; line <= 256; line *= 4) {
		struct sh *s[2] = { nested(line, false), nested(line, true) };
		size_t n = 0;

		for (; sh_line(s[0], n) && sh_line(s[1], n); n++)
			compare_lines(sh_line(s[0], n), sh_line(s[1], n));
		assert_true(n > 50);
		assert_true(!sh_line(s[0], n) && !sh_line(s[1], n));
		sh_free(s[0]);
		sh_free(s[1]);
	}
}

#define INSTRUCTIONS 5000

/* More instructions than are remembered at a time, of two threads each in two processes, one after another or alternating. */
static struct sh *many_instructions(bool alternating)
{
	struct sh *s = new_sh(64, 0);

	for (int i = 0; i < 4; i++) {
		struct sh_thread *t = sh_thread_new(s, PID + i / 2, 10 + i);

		assert_non_null(t);
		for (uint64_t k = 0; k < UINT64_C(8) * INSTRUCTIONS; k++) {
			const uint64_t which = alternating ? k % INSTRUCTIONS : k / 8, n = alternating ? k / INSTRUCTIONS : k % 8;

			at(t, 1 + k / (4 * INSTRUCTIONS));
			times(t, 1, LINE + which % 40 * 24 + n * (which % 5) * 8, 8, which % 3 ? MD_LOAD : MD_STORE, 0x100 + 3 * which);
		}
	}
	assert_true(sh_finish(s));
	return s;
}

static void test_instructions(void **state)
{
	struct sh *one = many_instructions(false), *other = many_instructions(true);
	size_t n[2] = { 0, 0 };

	(void)state;
	for (size_t i = 0; sh_line(one, i); i++) {
		const struct sh_line *x = sh_line(one, i), *y = NULL;

		for (size_t k = 0; !y && sh_line(other, k); k++)
			if (sh_line(other, k)->pid == x->pid && sh_line(other, k)->address == x->address)
				y = sh_line(other, k);
		assert_non_null(y);
		assert_true(x->pid == y->pid && x->threads == 2 && x->accesses == y->accesses && x->stores == y->stores && x->nuses == y->nuses);
		n[x->pid - PID]++;
	}
	assert_int_equal(n[0], n[1]);
	assert_true(n[0] > 15);
	sh_free(one);
	sh_free(other);
}

/* At both ends of the address space. */
static void test_ends_of_memory(void **state)
{
	struct sh *s = new_sh(64, 0);
	struct sh_thread *a = new_thread(s, 2), *b = new_thread(s, 3);

	(void)state;
	at(a, 1);
	at(b, 1);
	for (uint64_t i = 0; i < 200; i++) {
		times(a, 1, UINT64_MAX - 799 + 8 * i, 8, MD_STORE, 0x100); /* around */
		times(b, 1, 800 - 8 * i, 8, MD_STORE, 0x101);
	}
	assert_true(sh_finish(s));
	assert_non_null(sh_line(s, 20)); /* 13 lines at the end, 13 at the beginning */
	assert_null(sh_line(s, 26));
	sh_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false), cmocka_unit_test(test_true), cmocka_unit_test(test_mixed), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_phases), cmocka_unit_test(test_chunks), cmocka_unit_test(test_none), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_many), cmocka_unit_test(test_sweeps), cmocka_unit_test(test_repeats), cmocka_unit_test(test_nests),
		cmocka_unit_test(test_instructions), cmocka_unit_test(test_ends_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
