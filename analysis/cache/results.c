/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was counted: of several threads together, and by instruction, with what was left out or stands for others. */
#include "analysis/cache/simulate-private.h"

#include <string.h>

/* ---- sums ---- */

static void add_counts(struct cache_count *to, const struct cache_count *from)
{
	to->hits += from->hits;
	to->misses += from->misses;
	to->written += from->written;
	to->prefetched += from->prefetched;
	to->compulsory += from->compulsory;
	to->capacity += from->capacity;
}

/* Of the i-th instruction of @from, which is the k-th of @to. */
static void add_one(struct cache_sim *to, size_t k, const struct cache_sim *from, size_t i)
{
	for (unsigned int kind = 0; kind <= MD_KIND; kind++)
		to->insns[k].n[kind] += from->insns[i].n[kind];
	for (uint32_t s = 0; s < from->nstreams; s++)
		to->streams[s].more[k] += from->streams[s].more[i];
	for (uint32_t n = 0; n < from->nnodes; n++) {
		const unsigned int levels = from->nodes[n].chain.n;

		for (unsigned int l = 0; l < levels; l++)
			add_counts(&to->nodes[n].counts[k * levels + l], &from->nodes[n].counts[i * levels + l]);
	}
}

bool cache_sim_add(struct cache_sim *to, const struct cache_sim *from)
{
	struct recent r;

	for (size_t i = 0; i < from->n; i++) {
		if (!cache_find_insn(to, from->insns[i].insn, &r))
			return false;
		add_one(to, r.index, from, i);
	}
	for (uint32_t n = 0; n < from->nnodes; n++)
		for (uint64_t g = 0; g < from->nodes[n].chain.n * from->nodes[n].part.groups; g++)
			to->nodes[n].chain.group_misses[g] += from->nodes[n].chain.group_misses[g];
	return true;
}

/* ---- results ---- */

bool cache_sim_insn(const struct cache_sim *sim, size_t i, struct cache_insn *insn)
{
	const uint64_t *n;

	if (i >= sim->n)
		return false;
	n = sim->insns[i].n;
	*insn = (struct cache_insn){ .insn = sim->insns[i].insn, .accesses = n[MD_LOAD] + n[MD_STORE] + n[MD_MODIFY],
				     .loads = n[MD_LOAD] + n[MD_MODIFY], .stores = n[MD_STORE] + n[MD_MODIFY] };
	return true;
}

static void scale(struct cache_count *count, uint64_t by)
{
	count->hits *= by;
	count->misses *= by;
	count->written *= by;
}

/* Of so many lines that were asked for, which is known also if misses are estimated. */
static void set_hits(struct cache_count *count, uint64_t asked)
{
	count->misses = count->misses < asked ? count->misses : asked;
	count->hits = asked - count->misses;
}

/* Of a level of a system without cores. */
static struct cache_count count_of(const struct cache_sim *sim, size_t i, const struct place *place)
{
	const struct node *node = &sim->nodes[place->node];
	struct cache_count count = node->counts[i * node->chain.n + place->level];

	/* what a simple one has not is what the next one is asked for */
	if (node->chain.hits_known && !place->level && node->before != CACHE_NO_NODE)
		count.hits = sim->nodes[node->before].counts[i].misses - count.misses;
	if (node->part.groups)
		scale(&count, node->part.one_in);
	return count;
}

void cache_sim_counts(const struct cache_sim *sim, size_t i, size_t system, struct cache_count counts[static CACHE_LEVELS])
{
	const struct system *s = &sim->systems[system];
	struct cache_insn insn = { 0 };

	cache_sim_insn(sim, i, &insn);
	if (s->cores) {
		memcpy(counts, s->counts + i * CACHE_LEVELS, CACHE_LEVELS * sizeof(*counts));
		return;
	}
	for (unsigned int k = 0; k < CACHE_LEVELS; k++) {
		const struct node *node = k < s->n ? &sim->nodes[s->place[k].node] : NULL;

		counts[k] = node ? count_of(sim, i, &s->place[k]) : (struct cache_count){ 0 };
		/* its chain has not seen all that hit there */
		if (node && node->before == CACHE_NO_NODE && !s->place[k].level)
			set_hits(&counts[k], insn.accesses + sim->streams[node->stream].more[i]);
	}
}

void cache_sim_groups(const struct cache_sim *sim, size_t system, unsigned int level, struct cache_groups *to)
{
	const struct place *place = &sim->systems[system].place[level];
	const struct node *node = &sim->nodes[place->node];
	const struct cache_stream *stream = &sim->streams[node->stream];
	uint64_t n = 0;

	if (!node->part.groups)
		return;
	for (uint64_t g = 0; g < node->part.groups; g++)
		if (stream->chosen[g])
			to->misses[n++] += node->chain.group_misses[place->level * node->part.groups + g];
	to->n = n;
	to->one_in = node->part.one_in;
}
