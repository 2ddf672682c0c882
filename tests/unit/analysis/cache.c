// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The cache simulator, compared access by access with one that is made in the simplest way: a set is its ways, all of which are
 * looked at; no access is left out, no level is shared.
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
#define POLICIES (CACHE_QLRU + 1)
#define SYSTEMS 5
#define MAX_SEEN 20000

/* ---- the reference ---- */

#define NONE UINT64_MAX

struct ref_line {
	uint64_t line; /* NONE: free */
	int modified;
	uint64_t time; /* LRU: of its last use; FIFO: when it was put in */
	int age;       /* QLRU */
};

struct ref_set {
	struct ref_line v[MAX_WAYS];
	int right[2 * MAX_WAYS]; /* tree: the victim is in the right half of this node */
	unsigned int last;	 /* NMRU: way */
};

/* Asked for at least once. */
struct ref_seen {
	uint64_t line, time; /* of its last use; 0: a fully associative cache does not have it */
};

struct ref_level {
	const struct cache_level *what;
	struct ref_seen *seen;
	size_t nseen;
	struct ref_set *set;
	uint64_t random, time;
	struct cache_count count;
};

struct ref {
	unsigned int n;
	struct ref_level *level[CACHE_LEVELS], own[CACHE_LEVELS];
	struct ref *cores; /* all; NULL: it is alone */
	unsigned int ncores;
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

/* @used: the way; -1: none. */
static void ref_get_older(const struct cache_level *what, struct ref_set *set, int used)
{
	const int update = what->qlru.update, spares = update == 1 || update == 3;
	int most = -1, any_3 = 0;

	for (int i = 0; i < (int)what->ways; i++) {
		any_3 |= set->v[i].age == 3;
		if (!(update == 1 && i == used) && set->v[i].age > most)
			most = set->v[i].age;
	}
	for (int i = 0; i < (int)what->ways; i++)
		if (!(spares && i == used) && (update < 2 || !any_3))
			set->v[i].age += update < 2 ? 3 - most : 1;
}

static void ref_use(struct ref_level *l, struct ref_set *set, unsigned int way, int hit)
{
	const struct cache_qlru *q = &l->what->qlru;
	struct ref_line *line = &set->v[way];

	if (l->what->policy == CACHE_LRU || !hit)
		line->time = ++l->time;
	if (l->what->policy == CACHE_TREE_PLRU)
		ref_tree_use(l, set, way);
	set->last = way;
	if (l->what->policy != CACHE_QLRU)
		return;
	if (hit)
		line->age = line->age == 3 ? q->hit3 : line->age == 2 ? q->hit2 : 0;
	else
		line->age = q->insert;
	if (!q->on_miss)
		ref_get_older(l->what, set, (int)way);
}

/* The line, used now; or NULL. */
static struct ref_line *ref_find(struct ref_level *l, uint64_t line)
{
	struct ref_set *set = ref_set_of(l, line);

	for (unsigned int i = 0; i < l->what->ways; i++) {
		if (set->v[i].line != line)
			continue;
		ref_use(l, set, i, 1);
		return &set->v[i];
	}
	return NULL;
}

static unsigned int ref_victim(struct ref_level *l, const struct ref_set *set)
{
	unsigned int way = 0;

	if (l->what->policy == CACHE_RANDOM)
		return (unsigned int)(cache_random(&l->random) % l->what->ways);
	if (l->what->policy == CACHE_TREE_PLRU)
		return ref_tree_victim(l, set);
	if (l->what->policy == CACHE_NMRU)
		return (unsigned int)((set->last + 1) % l->what->ways);
	for (unsigned int i = 0; i < l->what->ways; i++) {
		if (l->what->policy == CACHE_QLRU && set->v[i].age == 3)
			return i;
		if (l->what->policy != CACHE_QLRU && set->v[i].time < set->v[way].time)
			way = i;
	}
	return way;
}

/* What had to leave; its line is NONE if nothing had to. */
static struct ref_line ref_insert(struct ref_level *l, uint64_t line, int modified)
{
	const int last = l->what->policy == CACHE_QLRU && l->what->qlru.replace == 2;
	struct ref_set *set = ref_set_of(l, line);
	unsigned int at = MAX_WAYS;
	struct ref_line victim;

	if (l->what->policy == CACHE_QLRU && l->what->qlru.on_miss)
		ref_get_older(l->what, set, -1);
	for (unsigned int i = 0; i < l->what->ways; i++)
		if (set->v[i].line == NONE && (at == MAX_WAYS || last))
			at = i;
	if (at == MAX_WAYS)
		at = ref_victim(l, set);
	victim = set->v[at];
	set->v[at].line = line;
	set->v[at].modified = modified;
	ref_use(l, set, at, 0);
	return victim;
}

static struct ref_line ref_remove(struct ref_level *l, uint64_t line)
{
	struct ref_set *set = ref_set_of(l, line);
	struct ref_line found = { .line = NONE };

	for (unsigned int i = 0; i < l->what->ways; i++) {
		if (set->v[i].line != line)
			continue;
		found = set->v[i];
		set->v[i] = (struct ref_line){ .line = NONE, .age = 3 };
	}
	return found;
}

/* What a fully associative LRU cache of as many lines does; a miss of the level is counted by kind. */
static void ref_shadow(struct ref_level *l, uint64_t line, int comes, int goes, int miss)
{
	struct ref_seen *found = NULL, *oldest = NULL;
	uint64_t has = 0;

	if (!l->seen)
		return;
	for (size_t i = 0; i < l->nseen; i++) {
		struct ref_seen *s = &l->seen[i];

		has += s->time != 0;
		if (s->line == line)
			found = s;
		if (s->time && (!oldest || s->time < oldest->time))
			oldest = s;
	}
	l->count.compulsory += miss && !found;
	l->count.capacity += miss && found && !found->time;
	if (!found) {
		assert_true(l->nseen < MAX_SEEN);
		found = &l->seen[l->nseen++];
		*found = (struct ref_seen){ .line = line };
	}
	if (goes) {
		found->time = 0;
	} else if (found->time || comes) {
		if (!found->time && has == l->what->lines)
			oldest->time = 0;
		found->time = ++l->time;
	}
}

static int ref_exclusive(const struct ref *r, unsigned int at)
{
	return at < r->n && r->level[at]->what->holds == CACHE_EXCLUSIVE;
}

static void ref_receive(struct ref *r, unsigned int at, uint64_t addr, int modified);

static void ref_fill(struct ref *r, unsigned int at, uint64_t addr, int modified)
{
	struct ref_level *l = r->level[at];
	const uint64_t line = l->what->line;
	struct ref_line victim = ref_insert(l, addr / line, modified);

	if (victim.line == NONE)
		return;
	for (unsigned int c = 0; c < (r->cores ? r->ncores : 1); c++) {
		struct ref *o = r->cores ? &r->cores[c] : r;

		for (unsigned int i = 0; i < at && l->what->holds == CACHE_INCLUSIVE && o->level[at] == l; i++) {
			struct ref_level *b = o->level[i];

			for (uint64_t a = victim.line * line; a < (victim.line + 1) * line; a += b->what->line) {
				if (!ref_remove(b, a / b->what->line).modified)
					continue;
				b->count.written++;
				victim.modified = 1;
			}
		}
	}
	if (!victim.modified && !ref_exclusive(r, at + 1))
		return;
	l->count.written++;
	ref_receive(r, at + 1, victim.line * line, victim.modified);
}

/* A line comes from the level before. */
static void ref_receive(struct ref *r, unsigned int at, uint64_t addr, int modified)
{
	struct ref_level *l = r->level[at];
	struct ref_line *found;

	if (at == r->n)
		return;
	found = ref_find(l, addr / l->what->line);
	ref_shadow(l, addr / l->what->line, !l->what->through, 0, 0);
	if (l->what->through) {
		l->count.written++;
		ref_receive(r, at + 1, addr, modified);
		return;
	}
	if (found) {
		found->modified |= modified;
		return;
	}
	for (unsigned int i = at + 1; ref_exclusive(r, i); i++)
		modified |= ref_remove(r->level[i], addr / l->what->line).modified;
	ref_fill(r, at, addr, modified);
}

/* Returns whether what is read was modified in an exclusive level that gave it up. */
static int ref_ask(struct ref *r, unsigned int at, uint64_t addr, int reads, int writes)
{
	struct ref_level *l = r->level[at];
	struct ref_line *found, moved;

	if (at == r->n)
		return 0;
	if (ref_exclusive(r, at)) {
		moved = ref_remove(l, addr / l->what->line);
		ref_shadow(l, addr / l->what->line, 0, 1, moved.line == NONE);
		if (moved.line != NONE) {
			l->count.hits++;
			return moved.modified;
		}
		l->count.misses++;
		return ref_ask(r, at + 1, addr, 1, 0);
	}
	found = ref_find(l, addr / l->what->line);
	ref_shadow(l, addr / l->what->line, !l->what->through || reads, 0, !found);
	if (found)
		l->count.hits++;
	else
		l->count.misses++;
	if (l->what->through) {
		if (!found && reads)
			ref_fill(r, at, addr, ref_ask(r, at + 1, addr, 1, 0));
		if (writes) {
			l->count.written++;
			ref_ask(r, at + 1, addr, 0, 1);
		}
	} else if (found) {
		found->modified |= writes;
	} else {
		int modified = ref_ask(r, at + 1, addr, 1, 0);

		ref_fill(r, at, addr, modified || writes);
	}
	return 0;
}

static void ref_take(struct ref *r, const struct mt_access *v)
{
	const uint64_t line = r->level[0]->what->line;

	for (uint64_t at = v->addr / line; at <= (v->addr + v->size - 1) / line; at++)
		ref_ask(r, 0, at * line, v->kind != MD_STORE, v->kind != MD_LOAD);
}

/* ---- the reference, with cores ---- */

#define MAX_CORES 4

static struct ref_line *ref_look(struct ref_level *l, uint64_t line)
{
	struct ref_set *set = ref_set_of(l, line);

	for (unsigned int i = 0; i < l->what->ways; i++)
		if (set->v[i].line == line)
			return &set->v[i];
	return NULL;
}

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
		r->level[i] = &r->own[i];
		r->level[i]->what = &levels[i];
		r->level[i]->seen = calloc(MAX_SEEN, sizeof(*r->level[i]->seen));
		r->level[i]->set = calloc(levels[i].lines / levels[i].ways, sizeof(*r->level[i]->set));
		assert_non_null(r->level[i]->seen);
		assert_non_null(r->level[i]->set);
		r->level[i]->random = cache_random_begin(levels[i].seed);
		for (unsigned int k = 0; k < levels[i].lines / levels[i].ways; k++)
			for (unsigned int w = 0; w < MAX_WAYS; w++)
				r->level[i]->set[k].v[w] = (struct ref_line){ .line = NONE, .age = 3 };
	}
	return r;
}

static uint64_t farthest = UINT64_MAX / 2;

/* Mostly near each other, some far, some over two lines or more. */
static struct mt_access any_access(void)
{
	static const uint8_t kinds[] = { MD_LOAD, MD_LOAD, MD_LOAD, MD_STORE, MD_MODIFY };
	static const uint32_t sizes[] = { 1, 4, 8, 8, 16, 32, 64, 300 };
	uint64_t addr = any(4) ? 0x10000 + any(4096) : any(8) ? 0x10000 + any(40000) : any(2) ? any(8) << 20 : any(farthest);

	return (struct mt_access){ .addr = addr, .size = sizes[any(8)], .kind = kinds[any(5)], .insn = 100 + any(5) };
}

static void sum_up(const struct cache_sim *sim, size_t system, struct cache_count *sums)
{
	struct cache_insn insn;

	memset(sums, 0, CACHE_LEVELS * sizeof(*sums));
	for (size_t i = 0; cache_sim_insn(sim, i, &insn); i++) {
		struct cache_count v[CACHE_LEVELS];

		cache_sim_counts(sim, i, system, v);
		for (unsigned int k = 0; k < CACHE_LEVELS; k++) {
			sums[k].hits += v[k].hits;
			sums[k].misses += v[k].misses;
			sums[k].written += v[k].written;
			sums[k].compulsory += v[k].compulsory;
			sums[k].capacity += v[k].capacity;
			sums[k].invalidated += v[k].invalidated;
			sums[k].upgrades += v[k].upgrades;
			sums[k].transfers += v[k].transfers;
		}
	}
}

static void ref_free(struct ref *r)
{
	for (unsigned int i = 0; i < r->n; i++) {
		free(r->own[i].seen);
		free(r->own[i].set);
	}
	free(r);
}

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

static struct cache_level level(uint64_t sets, uint64_t ways, uint64_t line, enum cache_policy policy, bool through)
{
	return (struct cache_level){ .lines = sets * ways, .ways = ways, .line = line, .policy = policy, .seed = 7,
				     .through = through, .qlru = { .hit3 = 1, .hit2 = 1, .insert = 1 } };
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

static struct cache_system any_system(void)
{
	struct cache_system s = { .ncaches = 1 + (unsigned int)any(4) };
	uint64_t line = UINT64_C(8) << any(5);

	for (unsigned int k = 0; k < s.ncaches; k++) {
		enum cache_policy policy = (enum cache_policy)any(POLICIES);
		uint64_t ways = policy == CACHE_TREE_PLRU ? UINT64_C(1) << any(7) :
				policy == CACHE_QLRU ? 2 + any(31) : 1 + any(MAX_WAYS / (1 + any(8)));
		uint64_t sets = any(2) ? UINT64_C(1) << any(7) : 1 + any(MAX_SETS);
		struct cache_level *l = &s.level[k];

		line <<= any(2);
		*l = level(sets, ways, line, policy, any(3) == 0);
		if (!k)
			continue;
		l->holds = (enum cache_holds)any(3);
		if (l->holds == CACHE_EXCLUSIVE && (l[-1].through || l->through || l[-1].line != line))
			l->holds = CACHE_ANY;
	}
	return s;
}

static void test_shapes(void **unused)
{
	(void)unused;
	for (unsigned int round = 0; round < 60; round++) {
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
	farthest = UINT64_C(1) << 46;
	compare_systems(&s, 1, ACCESSES / 4);
	farthest = UINT64_C(1) << 48;
	compare_systems(&s, 1, ACCESSES / 4);
	farthest = UINT64_MAX / 2;
}

/* Systems that begin alike. */
static void test_prefixes(void **unused)
{
	(void)unused;
	for (unsigned int round = 0; round < 20; round++) {
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

/* ---- cores ---- */

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
			ref_ask(r, 0, at * line, v.kind != MD_STORE, v.kind != MD_LOAD);
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
	for (unsigned int c = 0; c < s->cores; c++)
		for (unsigned int k = 0; k < s->ncaches; k++)
			free(cores[c].own[k].set);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_policies),
		cmocka_unit_test(test_qlru),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_cores),
		cmocka_unit_test(test_mesi),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_odd_accesses),
		cmocka_unit_test(test_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
