// SPDX-License-Identifier: GPL-3.0-or-later
/* What indirect jumps are: within the function, out of it, or not to be told. */
#include "trampolines/x86-64/flowpriv.h"

static void classify(struct tramp_flow *flow, struct tramp_block *b)
{
	const struct tramp_op *op = flow_last_op(flow, b);

	if (op->disp_len)	/* through the GOT */
		b->ends = TRAMP_END_TAIL_IND;
	else if (flow->code->bits[flow->fn] & FLOW_FN_TABLES)
		b->ends = TRAMP_END_SWITCH;
	else
		flow->flags |= TRAMP_FLOW_UNSURE;
}

bool tramp_flow_jumps(struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		if (flow->blocks[i].ends == TRAMP_END_UNSURE)
			classify(flow, &flow->blocks[i]);
	}
	return true;
}
