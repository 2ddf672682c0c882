// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How often each block and each edge is likely to be taken: both successors of a conditional branch
 * as often, but for a loop's exit edge; loops make some iterations.
 *
 * From that, where accesses or instructions are counted (polls.c), how much is done from one place
 * where they are counted to the next: the blocks of its loop, and of loops around it that have no
 * such place of their own, each as often as it is likely to be run for once of that place.  Blocks
 * in no loop count where the function is entered.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

/* ---- how often ---- */

#define FREQ_MAX 1e12f


static bool stays_in_loop(const struct mp *p, uint32_t from, uint32_t to)
{
	uint32_t loop = p->flow->blocks[from].loop;

	return to != TRAMP_NONE && (loop == TRAMP_NONE || mp_in_loop(p, to, loop));
}

/* Share of the times that successor k of a block is taken. */
static float share(const struct mp *p, uint32_t block, uint32_t k)
{
	uint32_t to = mp_successor(p, block, k), other = mp_successor(p, block, !k);
	bool in = stays_in_loop(p, block, to);

	if (other == TRAMP_NONE)
		return 1;
	if (in == stays_in_loop(p, block, other))
		return 0.5f;
	return in ? 1 - 1 / MP_ITERATIONS : 1 / MP_ITERATIONS;
}

/* Control comes to it by indirect jumps, most often. */
static bool is_case(const struct mp *p, uint32_t i)
{
	return p->blocks.v[i].external && !p->blocks.v[i].polled &&
	       !(p->flow->blocks[i].flags & (TRAMP_BLOCK_ENTRY | TRAMP_BLOCK_RETURN));
}

/* @of_case: of each case; below 0: what its loops make likely. */
static float base_freq(const struct mp *p, uint32_t i, float of_case)
{
	const struct tramp_block *b = &p->flow->blocks[i];
	float freq = b->flags & TRAMP_BLOCK_ENTRY ? 1 : 0.125f;

	if (of_case >= 0 && is_case(p, i))
		return of_case;
	for (unsigned int d = 0;
	     d < b->loop_depth && freq < FREQ_MAX && !(b->flags & TRAMP_BLOCK_ENTRY); d++)
		freq *= MP_ITERATIONS;
	return b->flags & TRAMP_BLOCK_RETURN ? 0 : freq;
}

/* A back edge's frequency is in the head's, which is multiplied by MP_ITERATIONS.  (Cases come before the head.) */
static bool is_back_edge(const struct mp *p, uint32_t from, uint32_t to)
{
	uint32_t loop = p->flow->blocks[to].loop;

	return p->env->count && loop != TRAMP_NONE && p->flow->loops[loop].head == to &&
	       mp_in_loop(p, from, loop);
}

static void spread(struct mp *p, float of_case)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		p->blocks.v[i].freq = p->blocks.v[i].external && !p->blocks.v[i].polled
					      ? base_freq(p, i, of_case)
					      : 0;
	for (uint32_t n = 0; n < p->flow->nblocks; n++) {
		uint32_t i = p->order.v[n], loop = p->flow->blocks[i].loop;
		struct mp_block *b = &p->blocks.v[i];

		if (loop != TRAMP_NONE && p->flow->loops[loop].head == i && b->freq < FREQ_MAX)
			b->freq *= MP_ITERATIONS;
		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			uint32_t to = mp_successor(p, i, k);
			float freq = b->freq * share(p, i, k);

			if (to != TRAMP_NONE && p->blocks.v[to].number > n &&
			    !is_back_edge(p, i, to))
				p->blocks.v[to].freq += freq;
			if (b->succ[k] != TRAMP_NONE)
				p->edges.v[b->succ[k]].freq = freq;
		}
		if (b->external_edge != TRAMP_NONE)
			p->edges.v[b->external_edge].freq = b->polled ? 0 : b->freq;
	}
}

static float indirect_jumps(const struct mp *p)
{
	float n = 0;

	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		uint8_t ends = p->flow->blocks[i].ends;

		if (tramp_end_is_switch(ends))
			n += p->blocks.v[i].freq;
	}
	return n;
}

/*
 * Where it is counted what is done, all cases together have to be run as often as there are indirect jumps, be it one case of
 * hundreds in an iteration.  If they jump to each other, as those of an interpreter, that is a loop like others.
 */
static void find_freqs(struct mp *p)
{
	float cases = 0, first, ratio;

	for (uint32_t i = 0; p->env->count && i < p->flow->nblocks; i++)
		cases += is_case(p, i);
	spread(p, cases > 0 ? 0 : -1);
	if (!(cases > 0))
		return;
	first = indirect_jumps(p);
	spread(p, first / cases);
	ratio = first > 0 ? indirect_jumps(p) / first - 1 : 0;
	if (ratio > 1 - 1 / MP_ITERATIONS)
		ratio = 1 - 1 / MP_ITERATIONS;
	spread(p, first > 0 ? first / (1 - ratio) / cases : -1);
}

/* ---- how much ---- */

#define WEIGHT_MAX 100000.0f
#define REPEATED 32.0f		/* iterations that a repeated string instruction is taken to make */

static float accesses_of(const struct tramp_mem_facts *facts)
{
	float n = 0;

	for (unsigned int k = 0; k < facts->nops; k++) {
		const struct md_op *op = &facts->ops[k];

		if (op->code == MD_ACCESS)
			n += 1;
		else if (op->code == MD_STRING)
			n += op->index == MD_NONE ? 1 : REPEATED;
		else if (op->code == MD_MASKED || op->code == MD_GATHER || op->code == MD_PACKED)
			n += (float)MD_LANES_COUNT(op->imm);
	}
	return n;
}

static float size_of(const struct mp *p, const struct tramp_block *b)
{
	float n = 0;

	for (uint32_t k = b->op; k < b->op + b->nops; k++)
		n += accesses_of(&p->facts.v[k]);
	return n;
}

float mp_level_size(const struct mp *p, uint32_t loop)
{
	float n = 0;

	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		if (p->flow->blocks[i].loop == loop)
			n += size_of(p, &p->flow->blocks[i]);
	}
	return n;
}

/* Where it is counted; TRAMP_NONE: nowhere. */
static uint32_t place_of(const struct mp *p, uint32_t i)
{
	uint32_t entry = p->flow->entry;

	for (uint32_t l = p->flow->blocks[i].loop; l != TRAMP_NONE; l = p->flow->loops[l].parent) {
		if (p->polls.v[l] != TRAMP_NONE)
			return p->polls.v[l];
	}
	if (p->flow->blocks[entry].loop != TRAMP_NONE ||
	    p->flow->blocks[entry].live_in & TRAMP_STATUS)
		return TRAMP_NONE;
	return entry;
}

/* How often block i is run for once of that where it is counted. */
static float times_of(const struct mp *p, uint32_t i, uint32_t at)
{
	const struct tramp_block *b = &p->flow->blocks[i], *place = &p->flow->blocks[at];
	float times = 1;

	if (p->blocks.v[at].freq > 0 && p->blocks.v[i].freq > 0)
		return p->blocks.v[i].freq / p->blocks.v[at].freq;
	for (unsigned int d = place->loop_depth; d < b->loop_depth; d++)
		times *= MP_ITERATIONS;
	for (unsigned int d = b->loop_depth; d < place->loop_depth; d++)
		times /= MP_ITERATIONS;
	return times;
}

static uint32_t rounded(float weight)
{
	return weight < WEIGHT_MAX ? (uint32_t)(weight + 0.5f) : (uint32_t)WEIGHT_MAX;
}

bool mp_weigh(struct mp *p)
{
	struct mem_plan *plan = p->plan;
	uint32_t n = p->flow->nblocks;

	find_freqs(p);
	if (!p->env->count)
		return true;
	if (!mp_grow(p, plan->weight, plan->room_weight, n + 1) ||
	    !mp_reserve(p, &p->weights, n))
		return false;
	memset(p->weights.v, 0, n * sizeof(*p->weights.v));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = place_of(p, i);

		if (at != TRAMP_NONE)
			p->weights.v[at] += size_of(p, &p->flow->blocks[i]) * times_of(p, i, at);
	}
	for (uint32_t i = 0; i < n; i++)
		plan->weight[i] = place_of(p, i) == i ? rounded(p->weights.v[i]) : 0;
	return true;
}
