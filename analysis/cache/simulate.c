/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions are looked up once for all systems, for some hundred accesses at a time; then each system runs these,
 * so that its own state stays in the caches of the machine that simulates it.
 */
#include "analysis/cache/simulate.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

#define BATCH 512

struct insn {
	struct cache_insn sum;
	uint32_t next; /* which one came after it last: a guess */
};

struct system {
	unsigned int ncaches, ntlbs;
	struct cache_state level[CACHE_LEVELS];
	struct cache_count (*counts)[CACHE_LEVELS]; /* by instruction */
	size_t room;
};

struct cache_sim {
	struct insn *insns;
	size_t n, room;
	uint32_t *table; /* index + 1 */
	size_t slots;
	uint32_t at; /* the last one */
	size_t nsystems;
	struct system systems[];
};

/* ---- systems ---- */

static bool init_system(struct system *s, const struct cache_system *what)
{
	const unsigned int n = cache_levels(what);

	s->ncaches = what->ncaches;
	s->ntlbs = what->ntlbs;
	for (unsigned int i = n; i--;) {
		bool last = i == n - 1 || i == what->ncaches - 1;

		if (!cache_state_init(&s->level[i], &what->level[i], last ? NULL : &s->level[i + 1], i))
			return false;
	}
	return true;
}

struct cache_sim *cache_sim_new(const struct cache_system *systems, size_t n)
{
	struct cache_sim *sim = calloc(1, sizeof(*sim) + n * sizeof(sim->systems[0]));
	bool good = sim != NULL;

	if (sim)
		sim->nsystems = n;
	for (size_t i = 0; good && i < n; i++)
		good = init_system(&sim->systems[i], &systems[i]);
	if (good)
		return sim;
	cache_sim_free(sim);
	return NULL;
}

void cache_sim_free(struct cache_sim *sim)
{
	if (!sim)
		return;
	for (size_t i = 0; i < sim->nsystems; i++) {
		for (unsigned int k = 0; k < CACHE_LEVELS; k++)
			cache_state_free(&sim->systems[i].level[k]);
		free(sim->systems[i].counts);
	}
	free(sim->insns);
	free(sim->table);
	free(sim);
}

/* ---- instructions ---- */

static size_t slot_of(const struct cache_sim *sim, uint64_t insn)
{
	return hash_slot(i, sim->slots, hash_word(insn),
			 !sim->table[i] || sim->insns[sim->table[i] - 1].sum.insn == insn);
}

static bool add_insn(struct cache_sim *sim, uint64_t insn)
{
	if (sim->n >= UINT32_MAX - 1 || !array_room(sim->insns, sim->room, sim->n + 1) ||
	    !hash_grow(sim->table, sim->slots, sim->n + 1, old, *old,
		       &sim->table[slot_of(sim, sim->insns[*old - 1].sum.insn)]))
		return false;
	for (size_t i = 0; i < sim->nsystems; i++) {
		struct system *s = &sim->systems[i];

		if (!array_room(s->counts, s->room, sim->n + 1))
			return false;
		for (unsigned int k = 0; k < CACHE_LEVELS; k++)
			s->counts[sim->n][k] = (struct cache_count){ 0 };
	}
	sim->insns[sim->n] = (struct insn){ .sum.insn = insn };
	sim->table[slot_of(sim, insn)] = (uint32_t)++sim->n;
	return true;
}

/* Makes it the last one. */
static bool find_insn(struct cache_sim *sim, uint64_t insn)
{
	uint32_t next = sim->n ? sim->insns[sim->at].next : 0;
	size_t slot;

	if (sim->n && sim->insns[next].sum.insn == insn) {
		sim->at = next;
		return true;
	}
	slot = sim->n ? slot_of(sim, insn) : 0;
	next = sim->n && sim->table[slot] ? sim->table[slot] - 1 : (uint32_t)sim->n;
	if (next == sim->n && !add_insn(sim, insn))
		return false;
	sim->insns[sim->at].next = next;
	sim->at = next;
	return true;
}

/* ---- accesses ---- */

/* One that is simulated. */
struct access {
	uint64_t first, last;
	uint32_t insn, how;
};

static void run(struct system *s, const struct access *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cache_access(&s->level[0], v[i].first, v[i].last, v[i].how, s->counts[v[i].insn]);
	for (size_t i = 0; i < n && s->ntlbs; i++)
		cache_access(&s->level[s->ncaches], v[i].first, v[i].last, CACHE_READ, s->counts[v[i].insn]);
}

static bool prepare(struct cache_sim *sim, const struct mt_access *v, struct access *a)
{
	const unsigned int kind = v->kind & MD_KIND;
	struct cache_insn *sum;

	if (!find_insn(sim, v->insn))
		return false;
	sum = &sim->insns[sim->at].sum;
	sum->accesses++;
	sum->loads += kind != MD_STORE;
	sum->stores += kind != MD_LOAD;
	*a = (struct access){
		.first = v->addr, .last = v->addr + v->size - 1, .insn = sim->at,
		.how = (kind != MD_STORE ? CACHE_READ : 0u) | (kind != MD_LOAD ? CACHE_WRITE : 0u),
	};
	if (a->last < a->first)
		a->last = UINT64_MAX;
	return true;
}

bool cache_sim_take(struct cache_sim *sim, const struct mt_access *v, size_t n, bool stack)
{
	struct access batch[BATCH];

	for (size_t i = 0, k = 0; i < n; k = 0) {
		for (; i < n && k < BATCH; i++) {
			if ((v[i].kind & MD_KIND) == MD_PREFETCH || !v[i].size || (v[i].kind & MD_STACK && !stack))
				continue;
			if (!prepare(sim, &v[i], &batch[k++]))
				return false;
		}
		for (size_t s = 0; s < sim->nsystems; s++)
			run(&sim->systems[s], batch, k);
	}
	return true;
}

const struct cache_insn *cache_sim_insn(const struct cache_sim *sim, size_t i)
{
	return i < sim->n ? &sim->insns[i].sum : NULL;
}

const struct cache_count *cache_sim_counts(const struct cache_sim *sim, size_t i, size_t system)
{
	return sim->systems[system].counts[i];
}
