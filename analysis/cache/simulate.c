/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions are looked up once for all systems, for some hundred accesses at a time; then streams leave out what first
 * levels need not see (stream.h), and chains of levels (chain.h) take what is left.
 *
 * A level sees nothing but what those before it ask for.  So levels are a forest: systems that begin with the same
 * levels have the same chains for these, and what a chain asks for goes to all that follow it in any of the systems.
 * Levels that a later one takes lines from, since it is inclusive or exclusive, are in one chain with it, and so are all where one
 * prefetches.
 */
#include "analysis/cache/simulate-private.h"
#include "base/array.h"
#include "base/hash.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- streams ---- */

unsigned int cache_node_unit(const struct node *node)
{
	return (unsigned int)__builtin_ctzll(node->levels[node->chain.n - 1].line);
}

static enum cache_stream_kind kind_of(const struct node *node)
{
	if (node->levels[0].policy == CACHE_QLRU)
		return CACHE_STREAM_ALL;
	/* it may drive out what was accessed last */
	for (unsigned int k = 0; k < node->chain.n; k++)
		if (node->levels[k].prefetch)
			return CACHE_STREAM_ALL;
	return node->tlb ? CACHE_STREAM_READS : node->levels[0].through ? CACHE_STREAM_THROUGH : CACHE_STREAM_BACK;
}

static uint64_t groups_of(const struct node *node)
{
	uint64_t groups = CACHE_STREAM_GROUPS;

	for (unsigned int k = 0; k < node->chain.n; k++) {
		uint64_t n = cache_stream_groups(&node->levels[k], cache_node_unit(node));

		groups = n < groups ? n : groups;
	}
	return groups;
}

#define FEW_GROUPS 16 /* those with fewer leave more in */

/* The stream that a first chain takes. */
static uint32_t stream_for(struct cache_sim *sim, const struct node *node)
{
	const unsigned int shift = node->chain.level[0]->shift, unit = node->part.groups ? node->part.unit : cache_node_unit(node);
	const uint64_t one_in = node->part.groups ? node->part.one_in : 1;
	const enum cache_stream_kind kind = kind_of(node);
	/* which line was used last of all is what a shadow has to know */
	const uint64_t groups = sim->o.classify ? 1 : node->part.groups ? node->part.groups : groups_of(node);
	uint32_t i = 0;

	while (i < sim->nstreams && (sim->streams[i].kind != kind || sim->streams[i].shift != shift ||
				     sim->streams[i].unit != unit || sim->streams[i].one_in != one_in ||
				     (one_in > 1 && sim->streams[i].groups != groups) ||
				     (sim->streams[i].groups < FEW_GROUPS) != (groups < FEW_GROUPS)))
		i++;
	if (i == sim->nstreams)
		sim->streams[sim->nstreams++] = (struct cache_stream){
			.kind = kind, .shift = shift, .unit = unit, .groups = groups, .one_in = one_in };
	else if (groups < sim->streams[i].groups)
		sim->streams[i].groups = groups;
	return i;
}

/* ---- what streams leave out ---- */

static bool is_wanted(const struct wanted *w, const struct cache_access *a)
{
	return w->group[a->first >> w->unit & w->mask] | ((a->first ^ a->last) >> w->shift != 0);
}

/* Of the i-th of the smallest groups. */
static bool wants(const struct cache_stream *s, const struct wanted *w, uint64_t i)
{
	return s->chosen && s->chosen[i >> (s->unit - w->unit) & (s->groups - 1)];
}

static bool find_wanted(struct cache_sim *sim)
{
	struct wanted *w = &sim->wanted;
	unsigned int most = 0; /* bits of an address from which on none counts */

	w->unit = w->shift = UINT_MAX;
	for (uint32_t i = 0; i < sim->nstreams; i++) {
		const struct cache_stream *s = &sim->streams[i];
		const unsigned int bits = s->unit + (unsigned int)__builtin_ctzll(s->groups);

		if (!s->chosen)
			continue;
		w->unit = s->unit < w->unit ? s->unit : w->unit;
		w->shift = s->shift < w->shift ? s->shift : w->shift;
		most = bits > most ? bits : most;
	}
	if (!most)
		return true;
	w->mask = (UINT64_C(1) << (most - w->unit)) - 1;
	w->group = calloc(w->mask + 1, 1);
	for (uint64_t i = 0; w->group && i <= w->mask; i++)
		for (uint32_t k = 0; k < sim->nstreams; k++)
			w->group[i] |= wants(&sim->streams[k], w, i);
	return w->group;
}

/* ---- chains ---- */

static bool same_level(const struct cache_level *a, const struct cache_level *b)
{
	if (a->lines != b->lines || a->ways != b->ways || a->line != b->line || a->policy != b->policy ||
	    a->through != b->through || a->prefetch != b->prefetch || a->holds != b->holds)
		return false;
	return a->policy == CACHE_RANDOM ? a->seed == b->seed :
	       a->policy != CACHE_QLRU || (a->qlru.hit3 == b->qlru.hit3 && a->qlru.hit2 == b->qlru.hit2 &&
					   a->qlru.insert == b->qlru.insert && a->qlru.replace == b->qlru.replace &&
					   a->qlru.update == b->qlru.update && a->qlru.on_miss == b->qlru.on_miss);
}

static bool same_levels(const struct node *node, const struct cache_level *levels, unsigned int n)
{
	if (node->chain.n != n)
		return false;
	for (unsigned int k = 0; k < n; k++)
		if (!same_level(&node->levels[k], &levels[k]))
			return false;
	return true;
}

static bool same_part(const struct part *a, const struct part *b)
{
	return a->groups == b->groups && a->one_in == b->one_in && a->unit == b->unit;
}

static bool begin_node(struct node *node, unsigned int n, bool classify)
{
	const struct cache_some some = { .one_in = node->part.one_in, .unit = node->part.unit };

	if (!cache_chain_init(&node->chain, node->levels, n, classify ? CACHE_CLASSIFY : 0, node->part.groups ? &some : NULL))
		return false;
	node->chain.unheard = true;
	node->chain.groups = node->part.groups;
	node->chain.unit = node->part.unit;
	if (!node->part.groups)
		return true;
	node->chain.group_misses = calloc(n * node->part.groups, sizeof(*node->chain.group_misses));
	if (!node->chain.group_misses)
		cache_chain_free(&node->chain);
	return node->chain.group_misses;
}

/* The chain of these levels after @before; CACHE_NO_NODE: no memory. */
static uint32_t node_for(struct cache_sim *sim, uint32_t before, const struct cache_level *levels, unsigned int n,
			 const struct part *part, bool tlb)
{
	struct node *node = &sim->nodes[sim->nnodes];

	for (uint32_t i = 0; i < sim->nnodes; i++)
		if (sim->nodes[i].before == before && sim->nodes[i].tlb == tlb && same_part(&sim->nodes[i].part, part) &&
		    same_levels(&sim->nodes[i], levels, n))
			return i;
	*node = (struct node){ .levels = levels, .before = before, .part = *part, .tlb = tlb };
	if (!begin_node(node, n, sim->o.classify && !tlb))
		return CACHE_NO_NODE;
	if (before != CACHE_NO_NODE)
		sim->nodes[before].chain.unheard = false;
	node->chain.hits_known = before == CACHE_NO_NODE || sim->nodes[before].chain.simple;
	node->stream = before != CACHE_NO_NODE ? sim->nodes[before].stream : stream_for(sim, node);
	return sim->nnodes++;
}

/* How many of the levels are one chain. */
static unsigned int chain_length(const struct cache_level *levels, unsigned int n, bool first)
{
	unsigned int length = 1;

	for (unsigned int k = 0; k < n; k++)
		if (levels[k].prefetch)
			return n;
	for (unsigned int k = 1; k < n; k++)
		if ((levels[k].holds == CACHE_INCLUSIVE && first) || (levels[k].holds == CACHE_EXCLUSIVE && k == length))
			length = k + 1;
	return length;
}

static struct part part_of(const struct cache_sim *sim, const struct cache_level *levels, unsigned int n)
{
	struct part part = { .groups = CACHE_STREAM_GROUPS, .one_in = sim->o.one_in };

	if (!n || part.one_in < 2)
		return (struct part){ 0 };
	part.unit = (unsigned int)__builtin_ctzll(levels[n - 1].line);
	for (unsigned int k = 0; k < n; k++) {
		uint64_t groups = cache_stream_groups(&levels[k], part.unit);

		if (levels[k].prefetch) /* what happens to a line follows from others, too */
			return (struct part){ 0 };
		part.groups = groups < part.groups ? groups : part.groups;
	}
	return part.groups < 2 * part.one_in ? (struct part){ 0 } : part;
}

static bool add_levels(struct cache_sim *sim, struct system *s, const struct cache_level *levels, unsigned int n, bool tlb)
{
	const struct part part = part_of(sim, levels, n);
	uint32_t node = CACHE_NO_NODE;

	for (unsigned int from = 0, length; from < n; from += length) {
		length = chain_length(levels + from, n - from, !from);
		node = node_for(sim, node, levels + from, length, &part, tlb);
		if (node == CACHE_NO_NODE)
			return false;
		for (unsigned int k = 0; k < length; k++)
			s->place[s->n++] = (struct place){ .node = node, .level = k };
	}
	return true;
}

/* ---- systems ---- */

struct cache_sim *cache_sim_new(const struct cache_system *systems, size_t n, const struct cache_sim_options *o)
{
	struct cache_sim *sim = calloc(1, sizeof(*sim) + n * sizeof(sim->systems[0]));
	bool good, several;

	if (!sim)
		return NULL;
	sim->nsystems = n;
	if (o)
		sim->o = *o;
	sim->nodes = calloc(n * CACHE_LEVELS + 1, sizeof(*sim->nodes));
	sim->streams = calloc(n * CACHE_LEVELS + 1, sizeof(*sim->streams));
	good = sim->nodes && sim->streams;
	for (size_t i = 0; good && i < n; i++) {
		if (systems[i].cores) {
			sim->systems[i].what = &systems[i];
			sim->systems[i].cores = cache_cores_new(&systems[i]);
			good = sim->systems[i].cores;
			continue;
		}
		good = add_levels(sim, &sim->systems[i], systems[i].level, systems[i].ncaches, false) &&
		       add_levels(sim, &sim->systems[i], systems[i].level + systems[i].ncaches, systems[i].ntlbs, true);
	}
	for (uint32_t i = 0; good && i < sim->nstreams; i++)
		good = cache_stream_begin(&sim->streams[i]);
	several = sim->o.crew && sim->o.crew->workers > 1;
	good = good && find_wanted(sim) && (!several || cache_round_new(sim));
	if (good)
		return sim;
	cache_sim_free(sim);
	return NULL;
}

void cache_sim_free(struct cache_sim *sim)
{
	if (!sim)
		return;
	cache_round_free(sim);
	free(sim->wanted.group);
	for (uint32_t i = 0; i < sim->nnodes; i++) {
		cache_chain_free(&sim->nodes[i].chain);
		free(sim->nodes[i].counts);
		free(sim->nodes[i].held.v);
		free(sim->nodes[i].coming);
	}
	for (uint32_t i = 0; i < sim->nstreams; i++)
		cache_stream_free(&sim->streams[i]);
	for (size_t i = 0; i < sim->nsystems; i++) {
		cache_cores_free(sim->systems[i].cores);
		free(sim->systems[i].counts);
	}
	free(sim->nodes);
	free(sim->streams);
	free(sim->insns);
	free(sim->table);
	free(sim);
}

/* ---- instructions ---- */

static size_t slot_of(const struct cache_sim *sim, uint64_t insn)
{
	return hash_slot(i, sim->slots, hash_word(insn),
			 !sim->table[i] || sim->insns[sim->table[i] - 1].insn == insn);
}

/* Room for the counts of another one. */
static bool make_room(struct cache_sim *sim)
{
	for (size_t i = 0; i < sim->nsystems; i++) {
		struct system *s = &sim->systems[i];

		if (!s->cores)
			continue;
		if (!array_room(s->counts, s->room, (sim->n + 1) * CACHE_LEVELS))
			return false;
		for (unsigned int k = 0; k < CACHE_LEVELS; k++)
			s->counts[sim->n * CACHE_LEVELS + k] = (struct cache_count){ 0 };
	}
	for (uint32_t i = 0; i < sim->nnodes; i++) {
		struct node *node = &sim->nodes[i];
		const unsigned int n = node->chain.n;

		if (!array_room(node->counts, node->room, (sim->n + 1) * n))
			return false;
		for (unsigned int k = 0; k < n; k++)
			node->counts[sim->n * n + k] = (struct cache_count){ 0 };
	}
	for (uint32_t i = 0; i < sim->nstreams; i++) {
		if (!array_room(sim->streams[i].more, sim->streams[i].room, sim->n + 1))
			return false;
		sim->streams[i].more[sim->n] = 0;
	}
	return true;
}

static bool add_insn(struct cache_sim *sim, uint64_t insn)
{
	/* others may be at what is moved now */
	if (sim->round && !cache_round_finish(sim))
		return false;
	if (sim->n >= UINT32_MAX - 1 || !array_room(sim->insns, sim->room, sim->n + 1) ||
	    !hash_grow(sim->table, sim->slots, sim->n + 1, old, *old,
		       &sim->table[slot_of(sim, sim->insns[*old - 1].insn)]) ||
	    !make_room(sim))
		return false;
	sim->insns[sim->n] = (struct insn){ .insn = insn };
	sim->table[slot_of(sim, insn)] = (uint32_t)++sim->n;
	return true;
}

bool cache_find_insn(struct cache_sim *sim, uint64_t insn, struct recent *r)
{
	const size_t slot = sim->n ? slot_of(sim, insn) : 0;
	const uint32_t index = sim->n && sim->table[slot] ? sim->table[slot] - 1 : (uint32_t)sim->n;

	if (index == sim->n && !add_insn(sim, insn))
		return false;
	*r = (struct recent){ .insn = insn, .index = index, .valid = true };
	return true;
}

/* ---- accesses ---- */

/* Its instruction's index; UINT32_MAX: no memory. */
static inline uint32_t count_insn(struct cache_sim *sim, const struct mt_access *v)
{
	struct recent *r = &sim->recent[v->insn % RECENT];

	if ((r->insn != v->insn || !r->valid) && !cache_find_insn(sim, v->insn, r))
		return UINT32_MAX;
	sim->insns[r->index].n[v->kind & MD_KIND]++;
	return r->index;
}

static inline struct cache_access access_of(const struct mt_access *v, uint32_t insn)
{
	static const uint8_t hows[MD_KIND + 1] = {
		[MD_LOAD] = CACHE_READ, [MD_STORE] = CACHE_WRITE, [MD_MODIFY] = CACHE_READ | CACHE_WRITE };
	const uint64_t last = v->addr + v->size - 1;

	return (struct cache_access){ .first = v->addr, .last = last < v->addr ? UINT64_MAX : last, .insn = insn,
				      .how = hows[v->kind & MD_KIND] };
}

static bool run_cores(struct cache_sim *sim, struct system *s, const struct cache_access *v, size_t n)
{
	const unsigned int core = cache_core_of(s->what, sim->thread);

	for (size_t i = 0; i < n; i++)
		if (!cache_cores_take(s->cores, core, &v[i], s->counts + (size_t)v[i].insn * CACHE_LEVELS))
			return false;
	return true;
}

void cache_sim_thread(struct cache_sim *sim, size_t thread)
{
	sim->thread = thread;
}

static bool run_all_cores(struct cache_sim *sim, const struct cache_access *v, size_t n)
{
	for (size_t i = 0; i < sim->nsystems; i++)
		if (sim->systems[i].cores && !run_cores(sim, &sim->systems[i], v, n))
			return false;
	return true;
}

/* Fills the piece with as many as there is room for.  How many of @v are done; NONE_DONE: no memory. */
#define NONE_DONE SIZE_MAX
static size_t fill(struct cache_sim *sim, const struct mt_access *v, size_t n, bool stack)
{
	struct piece *p = &sim->piece;
	size_t i = 0;

	for (; i < n && p->n < CACHE_PIECE; i++) {
		struct cache_access a;
		uint32_t insn;

		if ((v[i].kind & MD_KIND) == MD_PREFETCH || !v[i].size || (v[i].kind & MD_STACK && !stack))
			continue;
		insn = count_insn(sim, &v[i]);
		if (insn == UINT32_MAX)
			return NONE_DONE;
		a = access_of(&v[i], insn);
		p->v[p->n++] = a;
		if (sim->wanted.group && is_wanted(&sim->wanted, &a))
			p->some[p->nsome++] = a;
	}
	return run_all_cores(sim, p->v, p->n) && cache_round_piece(sim) ? i : NONE_DONE;
}

bool cache_sim_take(struct cache_sim *sim, const struct mt_access *v, size_t n, bool stack)
{
	for (size_t done = 0, k; done < n; done += k) {
		k = fill(sim, v + done, n - done, stack);
		if (k == NONE_DONE)
			return false;
		if (!cache_round_full(sim))
			continue;
		/* chains of others take it while streams are filled anew */
		if (!(sim->round ? cache_round_begin(sim) : cache_round_run(sim)))
			return false;
	}
	return sim->round || cache_round_run(sim);
}

bool cache_sim_end(struct cache_sim *sim)
{
	if (sim->round && !(cache_round_begin(sim) && cache_round_finish(sim)))
		return false;
	return cache_round_last(sim);
}
