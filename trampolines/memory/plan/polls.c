// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Polls: where the plain copy checks whether recording is on again, so that this is noticed within
 * one iteration of a loop.  They are at loop heads; where a cycle has several entries (Hecht and
 * Ullman 1972: it is no natural loop), at targets of backward jumps.  A poll needs dead flags: a
 * loop with live flags at its head has it in the next block without; one where they are live
 * everywhere is run to its end.  A loop that passes an inner loop's poll in each iteration needs
 * none of its own, or does not have to count at its own: the inner one counts for it.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

static bool has_dead_flags(const struct mp *p, uint32_t i)
{
	return !(p->flow->blocks[i].live_in & TRAMP_STATUS);
}

static bool dominates(const struct mp *p, uint32_t by, uint32_t i)
{
	while (i != TRAMP_NONE && i != by)
		i = p->flow->blocks[i].idom;
	return i == by;
}

/* Does each iteration of the loop pass block @at? */
static bool is_on_all_iterations(const struct mp *p, uint32_t loop, uint32_t at)
{
	uint32_t head = p->flow->loops[loop].head;

	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];

		if ((b->target == head || b->next == head) && mp_in_loop(p, i, loop) &&
		    !dominates(p, at, i))
			return false;
	}
	return true;
}

/* The plain copy repeats its body and polls only in the last repetition, which short runs do not reach. */
static bool may_be_too_short(const struct mp *p, uint32_t loop)
{
	const struct tramp_block *head = &p->flow->blocks[p->flow->loops[loop].head];

	return !p->env->count && p->flow->loops[loop].nblocks == 1 &&
	       2 * (head->end - head->start) <= MEM_UNROLL_BYTES;
}

static uint32_t inner_poll(const struct mp *p, uint32_t loop)
{
	for (uint32_t l = 0; l < p->flow->nloops; l++) {
		if (p->flow->loops[l].parent == loop && p->polls.v[l] != TRAMP_NONE &&
		    !may_be_too_short(p, l) && is_on_all_iterations(p, loop, p->polls.v[l]))
			return p->polls.v[l];
	}
	return TRAMP_NONE;
}

static uint32_t own_poll(const struct mp *p, uint32_t loop)
{
	uint32_t head = p->flow->loops[loop].head;

	if (has_dead_flags(p, head))
		return head;
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		if (p->flow->blocks[i].loop == loop && has_dead_flags(p, i))
			return i;
	}
	return TRAMP_NONE;
}

/* The inner loop's iterations are not known: accesses are counted there if those of the outer loop are few. */
static bool counts_for(const struct mp *p, uint32_t at, uint32_t loop)
{
	return 2 * mp_level_size(p, loop) <= mp_level_size(p, p->flow->blocks[at].loop);
}

static void poll_loop(struct mp *p, uint32_t loop)
{
	uint32_t *at = &p->polls.v[loop], own = TRAMP_NONE;

	*at = inner_poll(p, loop);
	if (*at == TRAMP_NONE || p->env->count)
		own = own_poll(p, loop);
	if (own != TRAMP_NONE)
		p->plan->poll[own] = true;
	if (*at == TRAMP_NONE || (own != TRAMP_NONE && !counts_for(p, *at, loop)))
		*at = own;
}

/* Inner loops first. */
static void poll_loops(struct mp *p)
{
	uint32_t depth = 0;

	for (uint32_t l = 0; l < p->flow->nloops; l++) {
		const struct tramp_block *head = &p->flow->blocks[p->flow->loops[l].head];

		p->polls.v[l] = TRAMP_NONE;
		if (head->loop_depth > depth)
			depth = head->loop_depth;
	}
	for (; depth > 0; depth--) {
		for (uint32_t l = 0; l < p->flow->nloops; l++) {
			if (p->flow->blocks[p->flow->loops[l].head].loop_depth == depth)
				poll_loop(p, l);
		}
	}
}

static void poll_back(struct mp *p, uint32_t from, uint32_t to)
{
	if (to != TRAMP_NONE && to <= from && has_dead_flags(p, to))
		p->plan->poll[to] = true;
}

bool mp_place_polls(struct mp *p)
{
	struct mem_plan *plan = p->plan;
	uint32_t n = p->flow->nblocks;

	if (!mp_grow(p, plan->poll, plan->room_poll, n + 1) ||
	    !mp_grow(p, plan->polled, plan->room_polled, n + 1) ||
	    !mp_reserve(p, &p->polls, (size_t)p->flow->nloops + 1))
		return false;
	memset(plan->poll, 0, n * sizeof(*plan->poll));
	if (p->env->sampled)
		poll_loops(p);
	for (uint32_t i = 0; i < n && p->env->sampled && p->flow->flags & TRAMP_FLOW_IRREDUCIBLE;
	     i++) {
		poll_back(p, i, p->flow->blocks[i].target);
		poll_back(p, i, p->flow->blocks[i].next);
	}
	for (uint32_t i = 0; i < n; i++) {
		plan->polled[i] = p->blocks.v[i].polled = plan->poll[i] && !p->blocks.v[i].external;
		p->blocks.v[i].external |= plan->poll[i];
	}
	return true;
}
