// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The cache simulator, compared access by access with one that is made in the simplest way: a set is a list of lines, the
 * first to leave at its end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "analysis/cache/simulate.h"

#define ACCESSES 20000
#define MAX_WAYS 64
#define MAX_SETS 64

/* ---- the reference ---- */

struct ref_line {
	uint64_t line;
	int modified;
};

struct ref_set {
	unsigned int n;
	struct ref_line v[MAX_WAYS]; /* LRU, FIFO: newest first; else by way */
	int right[2 * MAX_WAYS];     /* tree: the victim is in the right half of this node */
};

struct ref_level {
	const struct cache_level *what;
	struct ref_set set[MAX_SETS];
	uint64_t random;
	struct cache_count count;
};

struct ref {
	unsigned int n;
	struct ref_level level[CACHE_LEVELS];
};

static struct ref_set *ref_set_of(struct ref_level *l, uint64_t line)
{
	return &l->set[line % (l->what->lines / l->what->ways)];
}

/* A way's path from the root, as halves: the lower half of the ways is left. */
static void ref_tree_use(struct ref_level *l, struct ref_set *set, unsigned int way)
{
	unsigned int from = 0, n = (unsigned int)l->what->ways, node = 1;

	while (n > 1) {
		int right = way >= from + n / 2;

		set->right[node] = !right;
		node = 2 * node + (unsigned int)right;
		n /= 2;
		from += right ? n : 0;
	}
}

static unsigned int ref_tree_victim(const struct ref_level *l, const struct ref_set *set)
{
	unsigned int from = 0, n = (unsigned int)l->what->ways, node = 1;

	while (n > 1) {
		int right = set->right[node];

		node = 2 * node + (unsigned int)right;
		n /= 2;
		from += right ? n : 0;
	}
	return from;
}

/* The line, used now; or NULL. */
static struct ref_line *ref_find(struct ref_level *l, uint64_t line)
{
	struct ref_set *set = ref_set_of(l, line);

	for (unsigned int i = 0; i < set->n; i++) {
		struct ref_line found = set->v[i];

		if (found.line != line)
			continue;
		if (l->what->policy == CACHE_TREE_PLRU)
			ref_tree_use(l, set, i);
		if (l->what->policy != CACHE_LRU)
			return &set->v[i];
		memmove(&set->v[1], &set->v[0], i * sizeof(found));
		set->v[0] = found;
		return &set->v[0];
	}
	return NULL;
}

/* What had to leave; line is UINT64_MAX if nothing had to. */
static struct ref_line ref_insert(struct ref_level *l, struct ref_line new)
{
	struct ref_set *set = ref_set_of(l, new.line);
	struct ref_line victim = { UINT64_MAX, 0 };
	unsigned int at;

	if (l->what->policy == CACHE_LRU || l->what->policy == CACHE_FIFO) {
		if (set->n == l->what->ways)
			victim = set->v[--set->n];
		memmove(&set->v[1], &set->v[0], set->n++ * sizeof(new));
		set->v[0] = new;
		return victim;
	}
	if (set->n < l->what->ways) {
		at = set->n++;
	} else {
		at = l->what->policy == CACHE_RANDOM ? (unsigned int)(cache_random(&l->random) % l->what->ways) :
						       ref_tree_victim(l, set);
		victim = set->v[at];
	}
	set->v[at] = new;
	if (l->what->policy == CACHE_TREE_PLRU)
		ref_tree_use(l, set, at);
	return victim;
}

static void ref_receive(struct ref *r, unsigned int at, uint64_t addr);

static void ref_fill(struct ref *r, unsigned int at, uint64_t addr, int modified)
{
	struct ref_level *l = &r->level[at];
	struct ref_line victim = ref_insert(l, (struct ref_line){ addr / l->what->line, modified });

	if (!victim.modified)
		return;
	l->count.written++;
	ref_receive(r, at + 1, victim.line * l->what->line);
}

/* A modified line comes from the level before. */
static void ref_receive(struct ref *r, unsigned int at, uint64_t addr)
{
	struct ref_level *l = &r->level[at];
	struct ref_line *found;

	if (at == r->n)
		return;
	found = ref_find(l, addr / l->what->line);
	if (l->what->through) {
		l->count.written++;
		ref_receive(r, at + 1, addr);
	} else if (found) {
		found->modified = 1;
	} else {
		ref_fill(r, at, addr, 1);
	}
}

static void ref_ask(struct ref *r, unsigned int at, uint64_t addr, int reads, int writes)
{
	struct ref_level *l = &r->level[at];
	struct ref_line *found;

	if (at == r->n)
		return;
	found = ref_find(l, addr / l->what->line);
	if (found)
		l->count.hits++;
	else
		l->count.misses++;
	if (l->what->through) {
		if (!found && reads) {
			ref_ask(r, at + 1, addr, 1, 0);
			ref_fill(r, at, addr, 0);
		}
		if (writes) {
			l->count.written++;
			ref_ask(r, at + 1, addr, 0, 1);
		}
	} else if (found) {
		found->modified |= writes;
	} else {
		ref_ask(r, at + 1, addr, 1, 0);
		ref_fill(r, at, addr, writes);
	}
}

static void ref_take(struct ref *r, const struct mt_access *v)
{
	const uint64_t line = r->level[0].what->line;

	for (uint64_t at = v->addr / line; at <= (v->addr + v->size - 1) / line; at++)
		ref_ask(r, 0, at * line, v->kind != MD_STORE, v->kind != MD_LOAD);
}

/* ---- comparing ---- */

static uint64_t state = 88172645463325252;

static uint64_t any(uint64_t below)
{
	return cache_random(&state) % below;
}

static struct ref *ref_new(const struct cache_level *levels, unsigned int n)
{
	struct ref *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->n = n;
	for (unsigned int i = 0; i < n; i++) {
		r->level[i].what = &levels[i];
		r->level[i].random = cache_random_begin(levels[i].seed);
	}
	return r;
}

/* Mostly near each other, some far, some over two lines or more. */
static struct mt_access any_access(void)
{
	static const uint8_t kinds[] = { MD_LOAD, MD_LOAD, MD_LOAD, MD_STORE, MD_MODIFY };
	static const uint32_t sizes[] = { 1, 4, 8, 8, 16, 32, 64, 300 };
	uint64_t addr = any(4) ? 0x10000 + any(4096) : any(8) ? 0x10000 + any(40000) : any(UINT64_MAX / 2);

	return (struct mt_access){ .addr = addr, .size = sizes[any(8)], .kind = kinds[any(5)], .insn = 100 + any(5) };
}

static void sum_up(const struct cache_sim *sim, struct cache_count *sums)
{
	memset(sums, 0, CACHE_LEVELS * sizeof(*sums));
	for (size_t i = 0; cache_sim_insn(sim, i); i++) {
		const struct cache_count *v = cache_sim_counts(sim, i, 0);

		for (unsigned int k = 0; k < CACHE_LEVELS; k++) {
			sums[k].hits += v[k].hits;
			sums[k].misses += v[k].misses;
			sums[k].written += v[k].written;
		}
	}
}

static void compare(const struct ref *r, const struct cache_count *sums)
{
	for (unsigned int k = 0; k < r->n; k++) {
		assert_int_equal(sums[k].hits, r->level[k].count.hits);
		assert_int_equal(sums[k].misses, r->level[k].count.misses);
		assert_int_equal(sums[k].written, r->level[k].count.written);
	}
}

static void compare_system(const struct cache_system *s, unsigned int accesses)
{
	struct ref *caches = ref_new(s->level, s->ncaches), *tlbs = ref_new(s->level + s->ncaches, s->ntlbs);
	struct cache_sim *sim = cache_sim_new(s, 1);
	struct cache_count sums[CACHE_LEVELS];

	assert_non_null(sim);
	for (unsigned int i = 0; i < accesses; i++) {
		struct mt_access v = any_access();

		assert_true(cache_sim_take(sim, &v, 1, true));
		ref_take(caches, &v);
		v.kind = MD_LOAD;
		if (s->ntlbs)
			ref_take(tlbs, &v);
		sum_up(sim, sums);
		compare(caches, sums);
		compare(tlbs, sums + s->ncaches);
	}
	cache_sim_free(sim);
	free(caches);
	free(tlbs);
}

static struct cache_level level(uint64_t sets, uint64_t ways, uint64_t line, enum cache_policy policy, bool through)
{
	return (struct cache_level){ .lines = sets * ways, .ways = ways, .line = line, .policy = policy, .seed = 7,
				     .through = through };
}

static void test_policies(void **unused)
{
	(void)unused;
	for (unsigned int policy = CACHE_LRU; policy <= CACHE_TREE_PLRU; policy++) {
		for (unsigned int through = 0; through < 4; through++) {
			struct cache_system s = { .ncaches = 3, .ntlbs = 2, .level = {
				level(8, 4, 32, policy, through & 1),
				level(16, 8, 32, (policy + 1) % 4, through & 2),
				level(12, 16, 128, policy, false),
				level(1, 8, 4096, policy, false),
				level(4, 4, 4096, policy, false),
			} };

			compare_system(&s, ACCESSES / 4);
		}
	}
}

static void test_shapes(void **unused)
{
	(void)unused;
	for (unsigned int round = 0; round < 30; round++) {
		struct cache_system s = { .ncaches = 1 + (unsigned int)any(4) };
		uint64_t line = UINT64_C(8) << any(5);

		for (unsigned int k = 0; k < s.ncaches; k++) {
			enum cache_policy policy = (enum cache_policy)any(4);
			uint64_t ways = policy == CACHE_TREE_PLRU ? UINT64_C(1) << any(7) : 1 + any(MAX_WAYS);

			line <<= any(2);
			s.level[k] = level(1 + any(MAX_SETS), ways, line, policy, any(3) == 0);
		}
		compare_system(&s, 1000);
	}
}

/* ---- what is known without a reference ---- */

static struct cache_count run_one(const struct cache_level *l, const struct mt_access *v, size_t n)
{
	struct cache_system s = { .ncaches = 1, .level = { *l } };
	struct cache_sim *sim = cache_sim_new(&s, 1);
	struct cache_count sums[CACHE_LEVELS];

	assert_non_null(sim);
	assert_true(cache_sim_take(sim, v, n, false));
	sum_up(sim, sums);
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
	struct cache_sim *all = cache_sim_new(s, 2), *one[2];
	uint64_t accesses = 0;

	(void)unused;
	assert_non_null(v);
	for (unsigned int i = 0; i < ACCESSES; i++) {
		v[i] = any_access();
		v[i].insn = any(3000);
	}
	assert_true(cache_sim_take(all, v, ACCESSES, true));
	for (unsigned int k = 0; k < 2; k++) {
		one[k] = cache_sim_new(&s[k], 1);
		assert_non_null(one[k]);
		for (unsigned int i = 0; i < ACCESSES; i += 100)
			assert_true(cache_sim_take(one[k], v + i, 100, true));
	}
	for (size_t i = 0; cache_sim_insn(all, i); i++) {
		accesses += cache_sim_insn(all, i)->accesses;
		for (unsigned int k = 0; k < 2; k++) {
			assert_int_equal(cache_sim_insn(all, i)->insn, cache_sim_insn(one[k], i)->insn);
			assert_memory_equal(cache_sim_counts(all, i, k), cache_sim_counts(one[k], i, 0),
					    CACHE_LEVELS * sizeof(struct cache_count));
		}
	}
	assert_int_equal(accesses, ACCESSES);
	cache_sim_free(all);
	cache_sim_free(one[0]);
	cache_sim_free(one[1]);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_odd_accesses),
		cmocka_unit_test(test_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
