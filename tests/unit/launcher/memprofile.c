// SPDX-License-Identifier: GPL-3.0-or-later
/* The profile of memory accesses, compared with one that is made in the simplest way. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "launcher/memory/memlines.h"
#include "launcher/memory/profile/memprofile.h"

#define BASE UINT64_C(0x555555550000)
#define MAX_LINES 4096

static uint64_t seed = 1;

static uint64_t random_bits(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return memlines_hash(seed);
}

static struct mt_access access_at(uint64_t insn, uint64_t addr, uint8_t kind)
{
	return (struct mt_access){ .addr = addr, .size = 8, .kind = kind, .insn = BASE + 4 * insn };
}

static void give(struct memprofile *p, const struct mt_access *v, size_t n)
{
	struct memprofile_thread *t = memprofile_begin(p);

	assert_non_null(t);
	for (size_t i = 0; i < n; i += 1000)
		assert_true(memprofile_take(t, v + i, n - i < 1000 ? n - i : 1000));
	assert_true(memprofile_end(t));
}

static const struct memprofile_insn *insn_at(struct memprofile *p, uint64_t insn)
{
	const struct memprofile_insn *s;

	for (size_t i = 0; (s = memprofile_insn(p, i)); i++)
		if (s->insn == BASE + 4 * insn)
			return s;
	fail_msg("no instruction %d", (int)insn);
	return NULL;
}

/* ---- strides ---- */

static void test_strides(void **state)
{
	struct mt_access v[3000];
	struct memprofile *p = memprofile_new(NULL);
	const struct memprofile_insn *s;
	double percent;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		v[3 * i] = access_at(0, 0x10000 + 8 * i, MD_LOAD);
		v[3 * i + 1] = access_at(1, 0x9000000 - 4096 * i, MD_STORE);
		v[3 * i + 2] = access_at(2, random_bits() >> 20, MD_MODIFY);
	}
	give(p, v, 3000);
	s = insn_at(p, 0);
	assert_int_equal(s->accesses[MD_LOAD], 1000);
	assert_int_equal(s->bytes[MD_LOAD], 8000);
	assert_int_equal(s->moves, 999);
	assert_int_equal(s->near, 999);
	assert_int_equal(memprofile_dominant(s, &percent).by, 8);
	assert_true(percent == 100);
	s = insn_at(p, 1);
	assert_int_equal(s->accesses[MD_STORE], 1000);
	assert_int_equal(s->near, 0);
	assert_int_equal(s->strided, 998); /* the first move is not like one before it */
	assert_int_equal(memprofile_dominant(s, &percent).by, -4096);
	s = insn_at(p, 2);
	assert_int_equal(s->accesses[MD_MODIFY], 1000);
	assert_int_equal(s->near + s->strided, 0);
	memprofile_dominant(s, &percent);
	assert_true(percent < 5);
	memprofile_free(p);
}

/* One that is there most of the time is found among others, and its count is not too large. */
static void test_dominant(void **state)
{
	static struct mt_access v[20000];
	struct memprofile *p = memprofile_new(NULL);
	uint64_t addr = UINT64_C(1) << 40, rows = 0;
	struct memprofile_stride best;
	double percent;

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		v[i] = access_at(0, addr, MD_LOAD);
		/* rows of random lengths: +24 within, anything between them */
		if (random_bits() % 4) {
			addr += 24;
		} else {
			addr += random_bits() >> 30;
			rows++;
		}
	}
	give(p, v, 20000);
	best = memprofile_dominant(insn_at(p, 0), &percent);
	assert_int_equal(best.by, 24);
	assert_true(best.n <= 20000 - rows);
	assert_true(best.n >= 20000 - rows - 2000);
	memprofile_free(p);
}

/* ---- lines ---- */

/* Reuse by a list of lines, the last one used in front. */
struct simple {
	uint64_t line[MAX_LINES];
	size_t n;
	uint64_t reuse[MEMPROFILE_DISTANCES], first;
};

/* How many lines were used since; SIZE_MAX: it is new. */
static size_t simple_touch(struct simple *s, uint64_t line)
{
	size_t i, found;

	for (i = 0; i < s->n && s->line[i] != line; i++)
		;
	found = i < s->n ? i : SIZE_MAX;
	if (i == s->n)
		assert_true(++s->n <= MAX_LINES);
	memmove(s->line + 1, s->line, i * sizeof s->line[0]);
	s->line[0] = line;
	return found;
}

static size_t simple_count(struct simple *s, size_t distance)
{
	size_t b = 0;

	if (distance == SIZE_MAX) {
		s->first++;
		return distance;
	}
	while (distance >> b)
		b++;
	s->reuse[b]++;
	return distance;
}

static size_t simple_use(struct simple *s, uint64_t line)
{
	return simple_count(s, simple_touch(s, line));
}

/* Phases of loops over arrays, random accesses, and a few hot lines. */
static uint64_t next_addr(size_t i, uint64_t lines)
{
	uint64_t at = random_bits();

	switch (i / 3000 % 3) {
	case 0:
		return i % (lines / 2) * 64 + at % 57;
	case 1:
		return at % lines * 64;
	default:
		return at % 8 ? at % 16 * 64 : at % lines * 64;
	}
}

static void test_reuse(void **state)
{
	static struct mt_access v[60000];
	static struct simple simple;
	struct memprofile *p = memprofile_new(NULL);
	struct memprofile_insn sum = { 0 };
	const struct memprofile_insn *s;

	(void)state;
	memset(&simple, 0, sizeof simple);
	for (size_t i = 0; i < 60000; i++) {
		v[i] = access_at(random_bits() % 20, next_addr(i, 2000), MD_LOAD);
		simple_use(&simple, v[i].addr / 64);
	}
	give(p, v, 60000);
	assert_int_equal(memprofile_sampled(p), 1);
	for (size_t i = 0; (s = memprofile_insn(p, i)); i++)
		memprofile_add(&sum, s);
	assert_int_equal(sum.first, simple.first);
	for (size_t k = 0; k < MEMPROFILE_DISTANCES; k++)
		assert_int_equal(sum.reuse[k], simple.reuse[k]);
	memprofile_free(p);
}

/* An access to several lines is as far as the farthest, and all of them count for footprints. */
static void test_several_lines(void **state)
{
	static struct simple simple;
	static struct mt_access v[30000];
	struct memprofile *p = memprofile_new(NULL);
	const struct memprofile_insn *s;
	uint32_t group = 0;
	uint64_t lines;

	(void)state;
	memset(&simple, 0, sizeof simple);
	for (size_t i = 0; i < 30000; i++) {
		size_t most = 0;

		v[i] = access_at(0, next_addr(i, 500) + random_bits() % 64, MD_LOAD);
		v[i].size = (uint32_t[]){ 1, 8, 64, 512 }[random_bits() % 4];
		for (uint64_t line = v[i].addr / 64; line <= (v[i].addr + v[i].size - 1) / 64; line++) {
			size_t distance = simple_touch(&simple, line);

			most = distance > most ? distance : most;
		}
		simple_count(&simple, most);
	}
	give(p, v, 30000);
	s = memprofile_insn(p, 0);
	assert_int_equal(s->first, simple.first);
	for (size_t k = 0; k < MEMPROFILE_DISTANCES; k++)
		assert_int_equal(s->reuse[k], simple.reuse[k]);
	assert_true(memprofile_footprint(p, &group, &lines, 1));
	assert_int_equal(lines, simple.n);
	memprofile_free(p);
	/* the last byte of the address space, and beyond */
	p = memprofile_new(NULL);
	v[0] = access_at(0, UINT64_MAX, MD_LOAD);
	v[1] = access_at(0, UINT64_MAX - 1, MD_LOAD);
	v[1].size = UINT32_MAX;
	give(p, v, 2);
	assert_int_equal(memprofile_insn(p, 0)->first, 1);
	memprofile_free(p);
}

/* More lines than fit: misses in caches up to what fits stay exact, by instruction. */
static void test_caches(void **state)
{
	static struct simple simple;
	static struct mt_access v[60000];
	const struct memprofile_options o = { .lines = 256, .caches = { 48, 200, 256, 1500 } };
	uint64_t misses[20][4] = { { 0 } }, far = 0, estimate = 0;
	struct memprofile *p = memprofile_new(&o);

	(void)state;
	memset(&simple, 0, sizeof simple);
	for (size_t i = 0; i < 60000; i++) {
		uint64_t insn = random_bits() % 20;
		size_t distance;

		v[i] = access_at(insn, next_addr(i, 4000), MD_LOAD);
		distance = simple_use(&simple, v[i].addr / 64);
		for (size_t k = 0; k < 4; k++)
			misses[insn][k] += distance >= o.caches[k];
	}
	give(p, v, 60000);
	assert_true(memprofile_sampled(p) > 1);
	for (size_t i = 0; i < 20; i++) {
		const struct memprofile_insn *s = insn_at(p, i);

		for (size_t k = 0; k < 3; k++)
			assert_int_equal(s->misses[k] + s->unknown[k], misses[i][k]);
		far += misses[i][3];
		estimate += s->misses[3] + s->unknown[3];
	}
	/* a tenth of them is some standard deviations */
	assert_in_range(estimate, far - far / 10, far + far / 10);
	memprofile_free(p);
}

static uint64_t use(struct memlines *m, uint64_t line)
{
	uint32_t note;
	const uint64_t distance = memlines_take(m, line, memlines_hash(line), &note);

	memlines_put(m, line, memlines_hash(line), note);
	return distance;
}

/* Few lines fit, so times are numbered anew very often: the same figures. */
static void test_renumbering(void **state)
{
	static struct simple simple;
	struct memlines m;

	(void)state;
	memset(&simple, 0, sizeof simple);
	assert_true(memlines_init(&m, 50));
	for (size_t i = 0; i < 200000; i++) {
		uint64_t line = random_bits() % (1 + i / 500 % 50), got;
		size_t at;

		for (at = 0; at < simple.n && simple.line[at] != line; at++)
			;
		got = use(&m, line);
		assert_true(got == (at < simple.n ? at : UINT64_MAX));
		simple_use(&simple, line);
	}
	assert_int_equal(m.n, simple.n);
	memlines_free(&m);
}

/* When no more fit, the oldest is left out, and the others' distances stay what they are; pieces know nothing of each other. */
static void test_leaving_out(void **state)
{
	static struct simple simple;
	struct memlines m;

	(void)state;
	memset(&simple, 0, sizeof simple);
	assert_true(memlines_init(&m, 64));
	for (size_t i = 0; i < 200000; i++) {
		uint64_t line = random_bits() % (i / 5000 % 2 ? 70 : 300);
		size_t distance;
		uint64_t got;

		if (i % 1000 == 999) {
			memset(&simple, 0, sizeof simple);
			memlines_begin(&m);
		}
		assert_int_equal(memlines_full(&m), simple.n >= 64);
		got = use(&m, line);
		distance = simple_touch(&simple, line);
		if (distance >= 64)
			assert_true(got == UINT64_MAX);
		else
			assert_true(got == distance);
	}
	assert_int_equal(m.n, 64);
	memlines_free(&m);
}

static void test_footprint(void **state)
{
	static struct mt_access v[30000];
	static bool seen[3][1000];
	struct memprofile *p = memprofile_new(NULL);
	uint32_t group[30];
	uint64_t lines[2], want[2] = { 0 };
	size_t n = 0;

	(void)state;
	memset(seen, 0, sizeof seen);
	for (size_t i = 0; i < 30000; i++) {
		uint64_t insn = random_bits() % 3, line = random_bits() % (300 * (insn + 1));

		v[i] = access_at(insn, line * 64 + random_bits() % 57, MD_STORE);
		seen[insn][line] = true;
	}
	/* two threads: the same lines count once */
	give(p, v, 15000);
	give(p, v + 15000, 15000);
	while (memprofile_insn(p, n)) {
		group[n] = memprofile_insn(p, n)->insn == BASE + 4 ? 1 : 0;
		n++;
	}
	assert_int_equal(n, 3);
	for (size_t i = 0; i < 1000; i++) {
		want[0] += seen[0][i] || seen[2][i];
		want[1] += seen[1][i];
	}
	assert_true(memprofile_footprint(p, group, lines, 2));
	assert_int_equal(lines[0], want[0]);
	assert_int_equal(lines[1], want[1]);
	/* groups that are not asked for */
	assert_true(memprofile_footprint(p, group, lines, 1));
	assert_int_equal(lines[0], want[0]);
	memprofile_free(p);
}

/* One with few lines among those with very many: its figure is exact, and none is 0. */
static void test_small_footprints(void **state)
{
	static struct mt_access v[300000];
	struct memprofile_options o = { .lines = 1024 };
	struct memprofile *p = memprofile_new(&o);
	uint32_t group[300];
	uint64_t lines[300];

	(void)state;
	for (size_t i = 0; i < 300000; i++)
		v[i] = i % 10 ? access_at(i % 10, random_bits() % 100000 * 64, MD_LOAD) :
				access_at(100 + i / 10 % 200, (i / 10 % 200) * 4096 + i % 3 * 64, MD_STORE);
	give(p, v, 300000);
	for (uint32_t i = 0; i < 300; i++)
		group[i] = i;
	assert_true(memprofile_footprint(p, group, lines, 300));
	for (size_t i = 0; memprofile_insn(p, i); i++) {
		bool small = memprofile_insn(p, i)->insn >= BASE + 400;

		assert_in_range(lines[i], small ? 3 : 15000, small ? 3 : 45000);
	}
	memprofile_free(p);
}

/* With few samples the figures are near those that are exact. */
static void test_samples(void **state)
{
	static struct mt_access v[300000];
	struct memprofile_options o = { .lines = 1024 };
	struct memprofile *exact = memprofile_new(NULL), *sampled = memprofile_new(&o);
	struct memprofile_insn a, b;
	uint32_t group = 0;
	uint64_t la, lb, ma = 0, mb = 0;

	(void)state;
	for (size_t i = 0; i < 300000; i++)
		v[i] = access_at(0, i / 100000 == 1 ? random_bits() % 40000 * 64 : i % 30000 * 64, MD_LOAD);
	give(exact, v, 300000);
	give(sampled, v, 300000);
	assert_int_equal(memprofile_sampled(exact), 1);
	assert_true(memprofile_sampled(sampled) >= 32 && memprofile_sampled(sampled) <= 128);
	a = *memprofile_insn(exact, 0);
	b = *memprofile_insn(sampled, 0);
	assert_int_equal(a.near, b.near);
	for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++) {
		ma += a.reuse[k];
		mb += b.reuse[k];
		/* misses in a cache of 2^k lines; a hundredth of the accesses is a few standard deviations */
		assert_true(ma > mb ? ma - mb < 30000 : mb - ma < 30000);
	}
	assert_in_range(mb + b.first, 300000 - 20, 300000 + 20); /* each is rounded */
	assert_true(memprofile_footprint(exact, &group, &la, 1));
	assert_true(memprofile_footprint(sampled, &group, &lb, 1));
	assert_true(la > lb ? la - lb < la / 5 : lb - la < la / 5);
	memprofile_free(exact);
	memprofile_free(sampled);
}

/* ---- what is left out ---- */

static void test_kinds(void **state)
{
	const struct mt_access v[] = {
		access_at(0, 64, MD_PREFETCH),	      access_at(1, 4096, MD_STORE | MD_STACK),
		access_at(0, 128, MD_PREFETCH),	      access_at(2, 4096, 6),
	};
	struct memprofile_options o = { .no_stack = true };
	struct memprofile *p = memprofile_new(&o);
	const struct memprofile_insn *s;

	(void)state;
	give(p, v, 4);
	s = memprofile_insn(p, 0);
	assert_non_null(s);
	assert_int_equal(s->accesses[MD_PREFETCH], 2);
	assert_int_equal(s->moves + s->first, 0);
	assert_null(memprofile_insn(p, 1));
	memprofile_free(p);
	p = memprofile_new(NULL);
	give(p, v, 4);
	assert_int_equal(insn_at(p, 1)->accesses[MD_STORE], 1);
	assert_null(memprofile_insn(p, 2));
	memprofile_free(p);
	p = memprofile_new(NULL);
	give(p, v, 0);
	assert_null(memprofile_insn(p, 0));
	memprofile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strides),	   cmocka_unit_test(test_dominant),
		cmocka_unit_test(test_reuse),	   cmocka_unit_test(test_renumbering),
		cmocka_unit_test(test_footprint),  cmocka_unit_test(test_samples),
		cmocka_unit_test(test_kinds),	   cmocka_unit_test(test_several_lines),
		cmocka_unit_test(test_caches),	   cmocka_unit_test(test_leaving_out),
		cmocka_unit_test(test_small_footprints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
