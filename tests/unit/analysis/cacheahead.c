// SPDX-License-Identifier: GPL-3.0-or-later
/* What is known or guessed of later accesses: policy OPT and prefetchers, compared with the reference. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/analysis/cachereference.h"
#include "tests/unit/part.h"

#define POLICIES (CACHE_QLRU + 1)

static void compare(const struct ref *r, const struct cache_count *sums)
{
	for (unsigned int k = 0; k < r->n; k++) {
		assert_int_equal(sums[k].hits, r->level[k]->count.hits);
		assert_int_equal(sums[k].misses, r->level[k]->count.misses);
		assert_int_equal(sums[k].written, r->level[k]->count.written);
		assert_int_equal(sums[k].prefetched, r->level[k]->count.prefetched);
	}
}

/* ---- prefetchers ---- */

/* Some go through memory at a distance of their own, so that there are strides. */
static struct mt_access any_step(void)
{
	static uint64_t at[3];
	struct mt_access v = any_access();
	const uint64_t walk = any(6);

	if (walk >= 3)
		return v;
	at[walk] += (uint64_t[]){ 8, 72, UINT64_C(0) - 130 }[walk];
	at[walk] &= 0xffff;
	v.addr = 0x100000 + at[walk];
	v.insn = 200 + walk;
	return v;
}

static struct cache_system any_ahead(void)
{
	struct cache_system s = any_system();

	for (unsigned int k = 0; k < s.ncaches; k++)
		if (s.level[k].holds != CACHE_EXCLUSIVE)
			s.level[k].prefetch = (enum cache_prefetch)any(3);
	return s;
}

static void test_prefetch(void **unused)
{
	uint64_t brought = 0;

	(void)unused;
	for (unsigned int round = 0; round < PART_OF(50); round++) {
		const struct cache_system s = any_ahead();
		struct cache_sim *sim = cache_sim_new(&s, 1, NULL);
		struct ref *r = ref_new(s.level, s.ncaches);
		struct cache_count sums[CACHE_LEVELS];

		assert_non_null(sim);
		for (unsigned int i = 0; i < 2000; i++) {
			const struct mt_access v = any_step();

			assert_true(cache_sim_take(sim, &v, 1, true));
			ref_take(r, &v);
			sum_up(sim, 0, sums);
			compare(r, sums);
		}
		brought += sums[0].prefetched;
		cache_sim_free(sim);
		ref_free(r);
	}
	assert_true(brought > PART_OF(5000));
}

/* What they are for: of an array that is read in order, a line a page; of steps of two lines, the first three of each page. */
static void test_known(void **unused)
{
	enum { PAGES = 10 };
	struct cache_system s[2] = {
		{ .ncaches = 1, .level = { level(64, 8, 64, CACHE_LRU, false) } },
		{ .ncaches = 1, .level = { level(64, 8, 64, CACHE_LRU, false) } } };
	struct cache_count sums[CACHE_LEVELS];
	struct cache_sim *sim;

	(void)unused;
	s[0].level[0].prefetch = CACHE_NEXT_LINE;
	s[1].level[0].prefetch = CACHE_STRIDE;
	sim = cache_sim_new(s, 2, NULL);
	assert_non_null(sim);
	for (uint64_t addr = 0; addr < PAGES * 4096; addr += 128) {
		const struct mt_access v = { .addr = addr, .size = 8, .kind = MD_LOAD, .insn = 1 };

		assert_true(cache_sim_take(sim, &v, 1, true));
	}
	sum_up(sim, 0, sums);
	assert_int_equal(sums[0].misses, PAGES * 32);
	assert_int_equal(sums[0].prefetched, PAGES * 32);
	sum_up(sim, 1, sums);
	assert_int_equal(sums[0].misses, PAGES + 2);
	assert_int_equal(sums[0].prefetched, PAGES * 31 - 2);
	cache_sim_free(sim);
}

/* ---- the best that there is ---- */

#define ACCESSES 2000
#define RUNS (CACHE_CACHES + 1) /* in each, one level more with OPT knows what is to come */

static void make_futures(const struct cache_level *levels, unsigned int n, const struct mt_access *v, struct ref *runs[RUNS])
{
	for (unsigned int run = 0; run < RUNS; run++) {
		runs[run] = ref_new(levels, n);
		for (unsigned int k = 0; run && k < n; k++)
			runs[run]->level[k]->future = &runs[run - 1]->level[k]->log;
		for (unsigned int i = 0; i < ACCESSES; i++)
			ref_take(runs[run], &v[i]);
	}
}

static void test_opt(void **unused)
{
	struct mt_access *v = calloc(ACCESSES, sizeof(*v));

	(void)unused;
	assert_non_null(v);
	for (unsigned int round = 0; round < PART_OF(20); round++) {
		struct cache_system s = any_system(), both[2];
		struct ref *runs[RUNS];
		struct cache_count sums[CACHE_LEVELS];
		struct cache_sim *sim;

		for (unsigned int i = 0; i < ACCESSES; i++)
			v[i] = any_access();
		for (unsigned int k = 0; k < s.ncaches; k++) {
			s.level[k].holds = CACHE_ANY;
			if (any(2))
				s.level[k].policy = CACHE_OPT;
		}
		both[0] = both[1] = s;
		both[1].level[0].policy = CACHE_LRU;
		sim = cache_sim_new(both, 2, NULL);
		assert_non_null(sim);
		for (unsigned int i = 0; i < ACCESSES; i += 100)
			assert_true(cache_sim_take(sim, v + i, 100, true));
		assert_true(cache_sim_end(sim));
		for (unsigned int system = 0; system < 2; system++) {
			make_futures(both[system].level, s.ncaches, v, runs);
			sum_up(sim, system, sums);
			compare(runs[RUNS - 1], sums);
			for (unsigned int run = 0; run < RUNS; run++)
				ref_free(runs[run]);
		}
		cache_sim_free(sim);
	}
	free(v);
}

/* No other policy misses less. */
static void test_least(void **unused)
{
	struct mt_access *v = calloc(ACCESSES, sizeof(*v));
	uint64_t least = 0;

	(void)unused;
	assert_non_null(v);
	for (unsigned int i = 0; i < ACCESSES; i++)
		v[i] = any_access();
	for (unsigned int policy = CACHE_OPT + 1; policy--;) {
		struct cache_system s = { .ncaches = 1, .level = { level(8, 4, 64, (enum cache_policy)policy, false) } };
		struct cache_sim *sim = cache_sim_new(&s, 1, NULL);
		struct cache_count sums[CACHE_LEVELS];

		assert_non_null(sim);
		assert_true(cache_sim_take(sim, v, ACCESSES, true));
		assert_true(cache_sim_end(sim));
		sum_up(sim, 0, sums);
		least = policy == CACHE_OPT ? sums[0].misses : least;
		assert_true(sums[0].misses >= least && least);
		cache_sim_free(sim);
	}
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prefetch),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_opt),
		cmocka_unit_test(test_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
