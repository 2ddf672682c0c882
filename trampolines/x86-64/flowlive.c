// SPDX-License-Identifier: GPL-3.0-or-later
/* Registers and flags that are read before they are written. */
#include "trampolines/x86-64/flowpriv.h"

void tramp_flow_live(struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++)
		flow->blocks[i].live_in = flow->blocks[i].live_out = TRAMP_ALL_REGS;
}

tramp_regs tramp_flow_live_at(const struct tramp_flow *flow, uint32_t block, uint32_t op)
{
	(void)flow;
	(void)block;
	(void)op;
	return TRAMP_ALL_REGS;
}

enum tramp_code_status tramp_flow_loops(struct tramp_flow *flow)
{
	flow->nloops = 0;
	return TRAMP_CODE_OK;
}
