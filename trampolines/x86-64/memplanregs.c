// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which register holds the pointer in each node.
 */
#include "trampolines/x86-64/memplanpriv.h"

static tramp_regs named_in(const struct mp *p, const struct mem_node *n)
{
	tramp_regs named = TRAMP_REG(TRAMP_RSP);

	for (uint32_t k = 0; k < n->nops; k++)
		named |= mp_insn_of(p, n, k)->named;
	return named;
}

/* Live in front of the node's first instruction. */
static tramp_regs live_in(const struct mp *p, const struct mem_node *n)
{
	if (n->first == 0)
		return p->flow->blocks[n->block].live_in;
	return tramp_flow_live_at(p->flow, n->block, p->flow->blocks[n->block].op + n->first);
}

void mp_choose_regs(struct mp *p)
{
	for (size_t i = 0; i < p->plan->nnodes; i++) {
		struct mem_node *n = &p->plan->nodes[i];
		tramp_regs live = live_in(p, n), named = named_in(p, n);
		tramp_regs dead = TRAMP_GPRS & ~live & ~named, any = TRAMP_GPRS & ~named;

		n->reg = (uint8_t)(31 - __builtin_clz(dead ? dead : any));
		n->parked = !dead;
		n->owner_flags = n->owner && live & TRAMP_STATUS;
	}
}
