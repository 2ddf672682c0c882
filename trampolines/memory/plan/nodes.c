// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks cut into body nodes: where no register is left that could hold the pointer, behind system calls,
 * and where too much would be written.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

/* That no pointer is put into. */
#define NEVER TRAMP_REG(TRAMP_RSP)

/*
 * How many of the instructions from `first` on make one node; *s: what is known, at worst: nothing at the
 * block's start.
 */
static uint32_t node_length(const struct mp *p, const struct tramp_block *b, uint32_t first,
			    struct mp_state *s)
{
	const struct tramp_op *ops = &p->flow->ops[b->op];
	struct mp_insn *insns = &p->insns.v[b->op];
	unsigned int bytes = MP_HEADER;
	mp_set named = NEVER;
	uint32_t k = first;

	for (; k < b->nops; k++) {
		struct mp_state behind = *s;

		mp_step(p, &insns[k], &behind);
		bytes += mp_insn_bytes(&insns[k]);
		named |= insns[k].named | insns[k].store;
		if (k > first && (named == TRAMP_GPRS || bytes > MP_NODE_BYTES ||
				  insns[k - 1].cuts || ops[k].off - ops[first].off > UINT16_MAX))
			break;
		*s = behind;
	}
	return k - first;
}

static bool add_node(struct mp *p, uint32_t block, uint32_t first, uint32_t nops)
{
	struct mem_plan *plan = p->plan;

	if (!mp_grow(p, (void **)&plan->nodes, &plan->room_nodes, plan->nnodes + 1,
		     sizeof(*plan->nodes)))
		return false;
	plan->nodes[plan->nnodes++] = (struct mem_node){
		.block = block, .first = first, .nops = nops,
		.target = TRAMP_NONE, .next = TRAMP_NONE, .reg = RT_MEM_NO_REG,
		.last = first + nops == p->flow->blocks[block].nops,
	};
	return true;
}

static bool cut_block(struct mp *p, uint32_t block)
{
	const struct tramp_block *b = &p->flow->blocks[block];
	struct mp_state s = { 0 };
	uint32_t first = 0;

	p->plan->body[block] = (uint32_t)p->plan->nnodes;
	while (first < b->nops) {
		uint32_t n = node_length(p, b, first, &s);

		if (!add_node(p, block, first, n))
			return false;
		first += n;
	}
	return true;
}

bool mp_cut(struct mp *p)
{
	struct mem_plan *plan = p->plan;
	uint32_t n = p->flow->nblocks;

	plan->nnodes = 0;
	if (!mp_grow(p, (void **)&plan->body, &plan->room_body, n + 1, sizeof(*plan->body)) ||
	    !mp_grow(p, (void **)&plan->entry, &plan->room_entry, n + 1, sizeof(*plan->entry)))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!cut_block(p, i))
			return false;
	}
	p->nbody = (uint32_t)plan->nnodes;
	return true;
}
