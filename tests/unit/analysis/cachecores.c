// SPDX-License-Identifier: GPL-3.0-or-later
/* Caches of cores that have some levels together and take lines from each other, compared access by access with the reference. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/analysis/cachereference.h"

#define ACCESSES 20000

/* ---- the reference ---- */

#define MAX_CORES 4

/* Lines that are shared. */
struct ref_shared {
	uint64_t v[MAX_SEEN];
	size_t n;
};

static int ref_is_shared(const struct ref_shared *s, uint64_t line)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == line)
			return 1;
	return 0;
}

static void ref_set_shared(struct ref_shared *s, uint64_t line, int shared)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == line)
			s->v[i] = s->v[--s->n];
	assert_true(s->n < MAX_SEEN);
	if (shared)
		s->v[s->n++] = line;
}

/* What a core's access does elsewhere, before it is made. */
static void ref_elsewhere(struct ref *r, struct ref_shared *shared, uint64_t addr, int writes)
{
	const uint64_t line = addr / r->level[0]->what->line;
	const struct ref_line *first = ref_look(r->level[0], line);
	int own = 0, there = 0, modified = 0, nothing = first && (!writes || first->modified);

	for (unsigned int k = 0; k < r->n; k++)
		own |= (!k || r->level[k]->what->shared == 1) && ref_look(r->level[k], line);
	for (unsigned int k = 0, to; k < r->n; k++) {
		for (unsigned int c = 0; c < r->ncores; c++) {
			struct ref *o = &r->cores[c];
			struct ref_line *found = o->level[k] == r->level[k] ? NULL : ref_look(o->level[k], line);

			if (!found)
				continue;
			assert_false(nothing && (writes || found->modified));
			there = 1;
			modified |= found->modified;
			if (writes) {
				ref_remove(o->level[k], line);
				r->level[k]->count.invalidated++;
			} else if (found->modified) {
				found->modified = 0;
				for (to = k; ref_exclusive(o, to + 1); to++)
					;
				o->level[to]->count.written++;
				ref_receive(o, to + 1, addr, 1);
			}
		}
	}
	if (nothing)
		return;
	r->level[0]->count.upgrades += writes && own && ref_is_shared(shared, line);
	r->level[0]->count.transfers += modified;
	ref_set_shared(shared, line, !writes && (own ? ref_is_shared(shared, line) : there));
}

static struct ref *ref_cores_new(const struct cache_system *s)
{
	struct ref *cores = calloc(s->cores, sizeof(*cores));

	assert_non_null(cores);
	for (unsigned int c = 0; c < s->cores; c++) {
		struct ref *one = ref_new(s->level, s->ncaches);

		cores[c] = *one;
		free(one);
		cores[c].cores = cores;
		cores[c].ncores = s->cores;
		for (unsigned int k = 0; k < s->ncaches; k++) {
			free(cores[c].own[k].seen);
			cores[c].own[k].seen = NULL;
			cores[c].level[k] = &cores[c - c % s->level[k].shared].own[k];
		}
	}
	return cores;
}

static void compare_cores(const struct cache_system *s, unsigned int accesses)
{
	static struct ref_shared shared;
	struct cache_sim *sim = cache_sim_new(s, 1, NULL);
	struct ref *cores = ref_cores_new(s);
	struct cache_count sums[CACHE_LEVELS];

	assert_non_null(sim);
	shared.n = 0;
	for (unsigned int i = 0; i < accesses; i++) {
		const struct mt_access v = any_access();
		const uint64_t line = s->level[0].line;
		const size_t thread = any(2 * s->cores);
		struct ref *r = &cores[cache_core_of(s, thread)];

		for (uint64_t at = v.addr / line; at <= (v.addr + v.size - 1) / line; at++) {
			ref_elsewhere(r, &shared, at * line, v.kind != MD_LOAD);
			ref_ask(r, 0, at * line, v.kind != MD_STORE, v.kind != MD_LOAD, 0);
		}
		cache_sim_thread(sim, thread);
		assert_true(cache_sim_take(sim, &v, 1, true));
		sum_up(sim, 0, sums);
		for (unsigned int k = 0; k < s->ncaches; k++) {
			struct cache_count want = { 0 };

			for (unsigned int c = 0; c < s->cores; c++) {
				const struct cache_count *one = &cores[c].own[k].count;

				want.hits += one->hits;
				want.misses += one->misses;
				want.written += one->written;
				want.invalidated += one->invalidated;
				want.upgrades += one->upgrades;
				want.transfers += one->transfers;
			}
			assert_memory_equal(&sums[k], &want, sizeof(want));
		}
	}
	cache_sim_free(sim);
	for (unsigned int c = 0; c < s->cores; c++) {
		for (unsigned int k = 0; k < s->ncaches; k++) {
			free(cores[c].own[k].set);
			free(cores[c].own[k].log.v);
		}
	}
	free(cores);
}

/* 1, 2 and 4 cores, with all kinds of levels, of which they have some in common. */
static void test_cores(void **unused)
{
	(void)unused;
	for (unsigned int round = 0; round < 120; round++) {
		struct cache_system s = any_system();
		uint64_t shared = 1;

		s.cores = 1u << any(3);
		for (unsigned int k = 0; k < s.ncaches; k++) {
			while (shared < s.cores && any(k + 3) > 1)
				shared *= 2;
			s.level[k].shared = shared;
			s.level[k].line = s.level[0].line;
		}
		s.nthreads = 2;
		s.thread[0] = (uint8_t)(s.cores - 1);
		compare_cores(&s, 1500);
	}
}

/* One line, caches from which nothing leaves: the states of the protocol, as its authors have them. */
static void test_mesi(void **unused)
{
	enum { INVALID, SHARED, EXCLUSIVE, MODIFIED } states[MAX_CORES] = { 0 };
	struct cache_system s = { .ncaches = 2, .cores = MAX_CORES, .level = {
		level(1, 1, 64, CACHE_LRU, false), level(1, 1, 64, CACHE_LRU, false) } };
	struct cache_sim *sim;
	struct cache_count sums[CACHE_LEVELS], want = { 0 };

	(void)unused;
	s.level[0].shared = 1;
	s.level[1].shared = MAX_CORES;
	sim = cache_sim_new(&s, 1, NULL);
	assert_non_null(sim);
	for (unsigned int i = 0; i < ACCESSES; i++) {
		const unsigned int core = (unsigned int)any(MAX_CORES), writes = !any(4);
		const struct mt_access v = { .addr = 64, .size = 8, .kind = writes ? MD_STORE : MD_LOAD };
		unsigned int others = 0;

		want.misses += states[core] == INVALID;
		want.hits += states[core] != INVALID;
		want.upgrades += writes && states[core] == SHARED;
		for (unsigned int c = 0; c < MAX_CORES; c++) {
			if (c == core || states[c] == INVALID)
				continue;
			others++;
			want.transfers += states[c] == MODIFIED;
			want.written += states[c] == MODIFIED && !writes;
			want.invalidated += writes;
			if (writes || states[core] == INVALID)
				states[c] = writes ? INVALID : SHARED;
		}
		if (writes || states[core] == INVALID)
			states[core] = writes ? MODIFIED : others ? SHARED : EXCLUSIVE;
		cache_sim_thread(sim, core);
		assert_true(cache_sim_take(sim, &v, 1, true));
		sum_up(sim, 0, sums);
		assert_memory_equal(&sums[0], &want, sizeof(want));
	}
	cache_sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cores),
		cmocka_unit_test(test_mesi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
