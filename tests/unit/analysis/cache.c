// SPDX-License-Identifier: GPL-3.0-or-later
/* The cache simulator, compared access by access with the reference. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/analysis/cachereference.h"
#include "tests/unit/analysis/crew.h"
#include "tests/unit/part.h"

#define ACCESSES PART_OF(20000)
#define POLICIES (CACHE_QLRU + 1)
#define SYSTEMS 5

/* ---- comparing ---- */

static void compare(const struct ref *r, const struct cache_count *sums, bool classified)
{
	for (unsigned int k = 0; k < r->n; k++) {
		assert_int_equal(sums[k].hits, r->level[k]->count.hits);
		assert_int_equal(sums[k].misses, r->level[k]->count.misses);
		assert_int_equal(sums[k].written, r->level[k]->count.written);
		assert_int_equal(sums[k].compulsory, classified ? r->level[k]->count.compulsory : 0);
		assert_int_equal(sums[k].capacity, classified ? r->level[k]->count.capacity : 0);
	}
}

/* All of the systems at once, each with a reference of its own. */
static void compare_systems(const struct cache_system *s, unsigned int n, unsigned int accesses)
{
	struct ref *caches[SYSTEMS], *tlbs[SYSTEMS];
	struct cache_sim *sims[2] = { cache_sim_new(s, n, NULL),
				      cache_sim_new(s, n, &(struct cache_sim_options){ .classify = true }) };
	struct cache_count sums[CACHE_LEVELS];

	assert_non_null(sims[0]);
	assert_non_null(sims[1]);
	for (unsigned int k = 0; k < n; k++) {
		caches[k] = ref_new(s[k].level, s[k].ncaches);
		tlbs[k] = ref_new(s[k].level + s[k].ncaches, s[k].ntlbs);
	}
	for (unsigned int i = 0; i < accesses; i++) {
		struct mt_access v = any_access(), load = v;

		load.kind = MD_LOAD;
		for (unsigned int c = 0; c < 2; c++)
			assert_true(cache_sim_take(sims[c], &v, 1, true));
		for (unsigned int k = 0; k < n; k++) {
			ref_take(caches[k], &v);
			if (s[k].ntlbs)
				ref_take(tlbs[k], &load);
			for (unsigned int c = 0; c < 2; c++) {
				sum_up(sims[c], k, sums);
				compare(caches[k], sums, c);
				compare(tlbs[k], sums + s[k].ncaches, false);
			}
		}
	}
	cache_sim_free(sims[0]);
	cache_sim_free(sims[1]);
	for (unsigned int k = 0; k < n; k++) {
		ref_free(caches[k]);
		ref_free(tlbs[k]);
	}
}

static void test_policies(void **unused)
{
	(void)unused;
	for (unsigned int policy = CACHE_LRU; policy < POLICIES; policy++) {
		for (unsigned int through = 0; through < 4; through++) {
			struct cache_system s = { .ncaches = 3, .ntlbs = 2, .level = {
				level(8, 4, 32, policy, through & 1),
				level(16, 8, 32, (policy + 1) % POLICIES, through & 2),
				level(12, 16, 128, policy, false),
				level(1, 8, 4096, policy % CACHE_QLRU, false),
				level(4, 4, 2 << 20, policy % CACHE_QLRU, false),
			} };

			compare_systems(&s, 1, ACCESSES / 4);
		}
	}
}

/* All that can be described. */
static void test_qlru(void **unused)
{
	struct cache_system s = { .ncaches = 2, .level = {
		level(4, 2, 64, CACHE_LRU, false), level(4, 8, 64, CACHE_QLRU, false) } };
	struct cache_qlru *q = &s.level[1].qlru;

	(void)unused;
	for (unsigned int i = 0; i < 3 * 2 * 4 * 3 * 4 * 2; i++) {
		*q = (struct cache_qlru){ .hit3 = i % 3, .hit2 = i / 3 % 2, .insert = i / 6 % 4, .replace = i / 24 % 3,
					  .update = i / 72 % 4, .on_miss = i / 288 };
		if (q->replace != 1 && q->update > 1)
			continue;
		s.level[1].holds = (enum cache_holds)(i % 2);
		compare_systems(&s, 1, 400);
	}
}

static void test_shapes(void **unused)
{
	(void)unused;
	for (unsigned int round = 0; round < PART_OF(60); round++) {
		struct cache_system s = any_system();

		compare_systems(&s, 1, 1000);
	}
}

/* Many sets, whose slots are narrow until there is an address that no program has. */
static void test_narrow(void **unused)
{
	struct cache_system s = { .ncaches = 3, .level = {
		level(8, 2, 32, CACHE_LRU, false), level(1024, 2, 32, CACHE_LRU, false), level(1500, 3, 64, CACHE_LRU, false) } };

	(void)unused;
	farthest = UINT64_C(1) << 36;
	compare_systems(&s, 1, ACCESSES / 4);
	farthest = UINT64_C(1) << 46;
	compare_systems(&s, 1, ACCESSES / 4);
	farthest = UINT64_C(1) << 48;
	compare_systems(&s, 1, ACCESSES / 4);
	farthest = UINT64_MAX / 2;
}

/* So many ways that lines stay where they are. */
static void test_ways(void **unused)
{
	struct cache_system s = { .ncaches = 3, .ntlbs = 1, .level = {
		level(2, 64, 32, CACHE_LRU, false), level(3, 48, 64, CACHE_LRU, false), level(4, 64, 64, CACHE_LRU, false),
		level(1, 32, 4096, CACHE_LRU, false) } };

	(void)unused;
	compare_systems(&s, 1, ACCESSES / 4);
	farthest = 1 << 15;
	compare_systems(&s, 1, ACCESSES / 4);
	farthest = UINT64_MAX / 2;
}

/* Systems that begin alike. */
static void test_prefixes(void **unused)
{
	(void)unused;
	for (unsigned int round = 0; round < PART_OF(20); round++) {
		struct cache_system s[SYSTEMS];

		for (unsigned int k = 0; k < SYSTEMS; k++) {
			s[k] = any_system();
			if (!k || !any(3))
				continue;
			s[k] = s[k - 1];
			if (any(2))
				s[k].level[s[k].ncaches - 1].policy = CACHE_LRU;
			if (any(2))
				s[k].level[s[k].ncaches - 1].seed++;
			if (any(2) && s[k].ncaches > 1)
				s[k].ncaches--;
		}
		compare_systems(s, SYSTEMS, 500);
	}
}

/* ---- sets that stand for others ---- */

#define UNIT 128
#define GROUPS 16
#define ONE_IN 4

/* Each group of sets has an instruction: what a chosen one does is as if all were simulated, and counts ONE_IN times. */
static void test_sets(void **unused)
{
	struct cache_system s = { .ncaches = 3, .ntlbs = 1, .level = {
		level(32, 4, 64, CACHE_LRU, false), level(96, 8, 64, CACHE_TREE_PLRU, false),
		level(16, 24, 128, CACHE_QLRU, false), level(1, 4, 4096, CACHE_LRU, false) } };
	const struct cache_sim_options o = { .one_in = ONE_IN };
	struct mt_access *v = calloc(ACCESSES, sizeof(*v));

	(void)unused;
	assert_non_null(v);
	for (unsigned int i = 0; i < ACCESSES; i++) {
		uint64_t unit = any(any(2) ? 600 : 4000);

		v[i] = (struct mt_access){ .addr = unit * UNIT + any(UNIT - 8), .size = any(2) ? 1 : 8,
					   .kind = any(3) ? MD_LOAD : MD_STORE, .insn = unit % GROUPS };
	}
	for (unsigned int round = 0; round < 12; round++) {
		struct cache_sim *all, *some;
		struct cache_groups groups[CACHE_LEVELS] = { { 0 } };
		unsigned int chosen = 0;

		s.level[0].through = round & 1;
		s.level[1].holds = round & 2 ? CACHE_INCLUSIVE : round & 1 ? CACHE_ANY : CACHE_EXCLUSIVE;
		s.level[2].holds = round % 3 ? CACHE_ANY : CACHE_INCLUSIVE;
		all = cache_sim_new(&s, 1, NULL);
		some = cache_sim_new(&s, 1, &o);
		assert_non_null(all);
		assert_non_null(some);
		assert_true(cache_sim_take(all, v, ACCESSES, true));
		assert_true(cache_sim_take(some, v, ACCESSES, true));
		for (unsigned int k = 0; k < 4; k++)
			cache_sim_groups(some, 0, k, &groups[k]);
		assert_int_equal(groups[0].n, GROUPS / ONE_IN);
		assert_int_equal(groups[2].one_in, ONE_IN);
		assert_int_equal(groups[3].n, 0); /* fully associative: one set */
		for (size_t i = 0; i < GROUPS; i++) {
			struct cache_count a[CACHE_LEVELS], b[CACHE_LEVELS];
			struct cache_insn insn;

			assert_true(cache_sim_insn(all, i, &insn));
			cache_sim_counts(all, i, 0, a);
			cache_sim_counts(some, i, 0, b);
			assert_memory_equal(&a[3], &b[3], sizeof(a[3]));
			assert_int_equal(b[0].hits + b[0].misses, insn.accesses + (a[0].hits + a[0].misses - insn.accesses));
			if (!b[0].misses && !b[1].misses)
				continue;
			chosen++;
			assert_int_equal(b[0].misses, ONE_IN * a[0].misses < insn.accesses ? ONE_IN * a[0].misses :
					 b[0].hits + b[0].misses);
			for (unsigned int k = 1; k < 3; k++) {
				uint64_t found = 0;

				assert_int_equal(b[k].misses, ONE_IN * a[k].misses);
				assert_int_equal(b[k].written, ONE_IN * a[k].written);
				for (size_t g = 0; g < groups[k].n; g++)
					found += groups[k].misses[g] == a[k].misses;
				assert_true(found);
			}
		}
		assert_int_equal(chosen, GROUPS / ONE_IN);
		cache_sim_free(all);
		cache_sim_free(some);
	}
	free(v);
}

/* ---- what is known without a reference ---- */

static struct cache_count run_one(const struct cache_level *l, const struct mt_access *v, size_t n)
{
	struct cache_system s = { .ncaches = 1, .level = { *l } };
	struct cache_sim *sim = cache_sim_new(&s, 1, NULL);
	struct cache_count sums[CACHE_LEVELS];

	assert_non_null(sim);
	assert_true(cache_sim_take(sim, v, n, false));
	sum_up(sim, 0, sums);
	cache_sim_free(sim);
	return sums[0];
}

static void check(struct cache_count c, uint64_t hits, uint64_t misses, uint64_t written)
{
	assert_int_equal(c.hits, hits);
	assert_int_equal(c.misses, misses);
	assert_int_equal(c.written, written);
}

/* Twice over an array of so many lines. */
static void test_streams(void **unused)
{
	enum { LINES = 1000 };
	struct mt_access *v = calloc(2 * LINES, sizeof(*v));
	struct cache_level fits = level(1, LINES, 64, CACHE_LRU, false), less = level(1, LINES - 1, 64, CACHE_LRU, false);

	(void)unused;
	assert_non_null(v);
	for (unsigned int i = 0; i < 2 * LINES; i++)
		v[i] = (struct mt_access){ .addr = 64 * (i % LINES), .size = 8, .kind = MD_STORE };
	check(run_one(&fits, v, 2 * LINES), LINES, LINES, 0);
	check(run_one(&less, v, 2 * LINES), 0, 2 * LINES, LINES + 1);
	free(v);
}

static void test_odd_accesses(void **unused)
{
	const struct cache_level l = level(1, 4, 64, CACHE_LRU, false);
	struct mt_access v = { .addr = 60, .size = 8, .kind = MD_LOAD };

	(void)unused;
	check(run_one(&l, &v, 1), 0, 2, 0);
	v.addr = 56;
	check(run_one(&l, &v, 1), 0, 1, 0);
	v.size = 0;
	check(run_one(&l, &v, 1), 0, 0, 0);
	v.addr = UINT64_MAX - 3; /* what would be beyond the end is left out */
	v.size = 8;
	check(run_one(&l, &v, 1), 0, 1, 0);
	v.kind = MD_PREFETCH;
	check(run_one(&l, &v, 1), 0, 0, 0);
	v.kind = MD_LOAD | MD_STACK;
	check(run_one(&l, &v, 1), 0, 0, 0);
}

/* Several systems get what each would get alone, whatever batches accesses come in, by instruction. */
static void test_together(void **unused)
{
	struct cache_system s[2] = {
		{ .ncaches = 1, .level = { level(8, 4, 32, CACHE_LRU, false) } },
		{ .ncaches = 2, .level = { level(4, 2, 64, CACHE_RANDOM, false), level(8, 2, 64, CACHE_FIFO, false) } },
	};
	struct mt_access *v = calloc(ACCESSES, sizeof(*v));
	struct cache_sim *all = cache_sim_new(s, 2, NULL), *one[2];
	struct cache_count together[CACHE_LEVELS], alone[CACHE_LEVELS];
	struct cache_insn insn, other;
	uint64_t accesses = 0;

	(void)unused;
	assert_non_null(v);
	for (unsigned int i = 0; i < ACCESSES; i++) {
		v[i] = any_access();
		v[i].insn = any(3000);
	}
	assert_true(cache_sim_take(all, v, ACCESSES, true));
	for (unsigned int k = 0; k < 2; k++) {
		one[k] = cache_sim_new(&s[k], 1, NULL);
		assert_non_null(one[k]);
		for (unsigned int i = 0; i < ACCESSES; i += 100)
			assert_true(cache_sim_take(one[k], v + i, 100, true));
	}
	for (size_t i = 0; cache_sim_insn(all, i, &insn); i++) {
		accesses += insn.accesses;
		for (unsigned int k = 0; k < 2; k++) {
			assert_true(cache_sim_insn(one[k], i, &other));
			assert_int_equal(insn.insn, other.insn);
			assert_int_equal(insn.stores, other.stores);
			cache_sim_counts(all, i, k, together);
			cache_sim_counts(one[k], i, 0, alone);
			assert_memory_equal(together, alone, sizeof(alone));
		}
	}
	assert_int_equal(accesses, ACCESSES);
	cache_sim_free(all);
	cache_sim_free(one[0]);
	cache_sim_free(one[1]);
	free(v);
}

/* ---- several threads ---- */

#define MANY (3 * 32768 + 100) /* several rounds */

static void compare_all(const struct cache_sim *a, const struct cache_sim *b, size_t systems)
{
	struct cache_insn insn, other;
	size_t i = 0;

	for (; cache_sim_insn(a, i, &insn); i++) {
		assert_true(cache_sim_insn(b, i, &other));
		assert_memory_equal(&insn, &other, sizeof(insn));
		for (size_t k = 0; k < systems; k++) {
			struct cache_count v[CACHE_LEVELS], w[CACHE_LEVELS];

			cache_sim_counts(a, i, k, v);
			cache_sim_counts(b, i, k, w);
			assert_memory_equal(v, w, sizeof(v));
		}
	}
	assert_int_equal(i, 3000);
	assert_false(cache_sim_insn(b, i, &other));
}

static struct cache_sim *simulate(const struct cache_system *s, const struct cache_sim_options *o, const struct mt_access *v, size_t step)
{
	struct cache_sim *sim = cache_sim_new(s, SYSTEMS, o);

	assert_non_null(sim);
	for (size_t i = 0; i < MANY; i += step)
		assert_true(cache_sim_take(sim, v + i, MANY - i < step ? MANY - i : step, true));
	assert_true(cache_sim_end(sim));
	return sim;
}

/* Any number of them counts the same, with all kinds of levels. */
static void test_crew(void **unused)
{
	struct mt_access *v = calloc(MANY, sizeof(*v));

	(void)unused;
	assert_non_null(v);
	for (unsigned int i = 0; i < MANY; i++) {
		v[i] = any_access();
		v[i].insn = i < MANY / 2 ? any(2000) : any(3000);
	}
	for (unsigned int round = 0; round < 6; round++) {
		struct cache_crew crew = { .begin = crew_begin, .finish = crew_finish };
		struct cache_sim_options o = { .one_in = round == 1 ? 4 : 1, .classify = round == 2 };
		struct cache_system s[SYSTEMS];
		struct cache_sim *alone;

		for (unsigned int k = 0; k < SYSTEMS; k++)
			s[k] = any_system();
		s[1] = s[0];
		s[1].level[s[1].ncaches - 1].policy = round & 1 ? CACHE_LRU : CACHE_FIFO;
		s[2].level[0] = level(64, 8, 64, CACHE_LRU, false);
		s[2].level[1] = level(64, 16, 64, round > 2 ? CACHE_OPT : CACHE_LRU, false);
		s[2].ncaches = 2;
		if (round > 3)
			s[3].level[0].prefetch = CACHE_STRIDE;
		alone = simulate(s, &o, v, 1000);
		o.crew = &crew;
		for (crew.workers = 2; crew.workers < 6; crew.workers++) {
			struct cache_sim *sim = simulate(s, &o, v, crew.workers == 4 ? MANY : 777);

			compare_all(alone, sim, SYSTEMS);
			cache_sim_free(sim);
		}
		cache_sim_free(alone);
	}
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_qlru),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_odd_accesses),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_crew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
