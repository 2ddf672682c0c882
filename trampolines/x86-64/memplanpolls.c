// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where the plain copy looks whether recording is on again, so that this takes no longer than a loop's
 * iteration: at loop heads; where a cycle has several entries (Hecht and Ullman 1972: it is no natural loop), at
 * targets of jumps back.  Only where flags are dead; a loop whose head is reached with live ones is looked at in
 * its next block.  One where they are live everywhere is run to its end.
 */
#include <string.h>

#include "trampolines/x86-64/memplanpriv.h"

static bool has_dead_flags(const struct mp *p, uint32_t i)
{
	return !(p->flow->blocks[i].live_in & TRAMP_STATUS);
}

static void poll_loop(struct mp *p, uint32_t loop)
{
	uint32_t head = p->flow->loops[loop].head;

	if (has_dead_flags(p, head)) {
		p->plan->poll[head] = true;
		return;
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		if (p->flow->blocks[i].loop == loop && has_dead_flags(p, i)) {
			p->plan->poll[i] = true;
			return;
		}
	}
}

static void poll_back(struct mp *p, uint32_t from, uint32_t to)
{
	if (to != TRAMP_NONE && to <= from && has_dead_flags(p, to))
		p->plan->poll[to] = true;
}

bool mp_choose_polls(struct mp *p)
{
	struct mem_plan *plan = p->plan;
	uint32_t n = p->flow->nblocks;

	if (!mp_grow(p, (void **)&plan->poll, &plan->room_poll, n + 1, sizeof(*plan->poll)))
		return false;
	memset(plan->poll, 0, n * sizeof(*plan->poll));
	for (uint32_t l = 0; l < p->flow->nloops && p->env->sampled; l++)
		poll_loop(p, l);
	for (uint32_t i = 0; i < n && p->env->sampled && p->flow->flags & TRAMP_FLOW_IRREDUCIBLE; i++) {
		poll_back(p, i, p->flow->blocks[i].target);
		poll_back(p, i, p->flow->blocks[i].next);
	}
	for (uint32_t i = 0; i < n; i++) {
		p->blocks.v[i].polled = plan->poll[i] && !p->blocks.v[i].outside;
		p->blocks.v[i].outside |= plan->poll[i];
	}
	return true;
}
