// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where there is looked for room: a node's writes go on, without a look, for tramp_mem_env.slack at most.
 */
#include "trampolines/x86-64/memplanpriv.h"

/* In a forked child nothing may be written before a check: the pointer is zero. */
static bool is_first(const struct mp *p, const struct mem_node *n)
{
	const struct tramp_block *b = &p->flow->blocks[n->block];

	return n->owner || (n->first == 0 && b->flags & (TRAMP_BLOCK_RETURN | TRAMP_BLOCK_ENTRY));
}

/* Where the flags are dead, if that is anywhere in the node. */
static void place_check(struct mp *p, uint32_t index)
{
	const struct mem_node *n = &p->plan->nodes[index];
	const struct tramp_block *b = &p->flow->blocks[n->block];
	struct mp_node *side = &p->nodes.v[index];
	uint32_t k = n->nops;
	tramp_regs live = b->live_in;

	side->check = 0;
	side->check_flags = true;
	if (n->nops == 0) {
		side->check_flags = live & TRAMP_STATUS;
		return;
	}
	live = tramp_flow_live_at(p->flow, n->block, b->op + n->first + --k);
	for (;;) {
		if (!(live & TRAMP_STATUS) && (k == 0 || !is_first(p, n))) {
			side->check = k;
			side->check_flags = false;
		}
		if (k == 0)
			break;
		k--;
		live = mp_op(p, n, k)->use | (live & ~mp_op(p, n, k)->def);
	}
}

void mp_place_checks(struct mp *p)
{
	for (uint32_t i = 0; i < p->plan->nnodes; i++)
		place_check(p, i);
}
