// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How often each block and each edge is likely to be taken (flow/likely.h).
 *
 * From that, where accesses or instructions are counted (polls.c), how much is done from one place
 * where they are counted to the next: the blocks of its loop, and of loops around it that have no
 * such place of their own, each as often as it is likely to be run for once of that place.  Blocks
 * in no loop count where the function is entered.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

/* ---- how often ---- */

static void take_freqs(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct tramp_likely *l = &p->likely.v[i];
		struct mp_block *b = &p->blocks.v[i];
		const bool conditional = tramp_end_is_conditional(p->flow->blocks[i].ends);

		b->freq = (float)l->times;
		if (b->succ[MP_TARGET] != TRAMP_NONE)
			p->edges.v[b->succ[MP_TARGET]].freq = (float)l->taken;
		if (b->succ[MP_NEXT] != TRAMP_NONE)
			p->edges.v[b->succ[MP_NEXT]].freq = (float)(conditional ? l->times - l->taken : l->times);
		if (b->external_edge != TRAMP_NONE)
			p->edges.v[b->external_edge].freq = b->polled ? 0 : b->freq;
	}
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
		times *= TRAMP_LIKELY_ITERATIONS;
	for (unsigned int d = b->loop_depth; d < place->loop_depth; d++)
		times /= TRAMP_LIKELY_ITERATIONS;
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

	if (!tramp_likely_find(&p->likely, p->flow)) {
		p->status = TRAMP_MIRROR_MEMORY;
		return false;
	}
	take_freqs(p);
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
