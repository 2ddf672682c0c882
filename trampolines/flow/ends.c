// SPDX-License-Identifier: GPL-3.0-or-later
/* How blocks end and where they lead; what the function destroys. */
#include "base/search.h"
#include "trampolines/flow/private.h"

/* The block that starts at an address, or TRAMP_NONE. */
static uint32_t block_at(const struct tramp_flow *flow, uint64_t addr)
{
	uint32_t off, at;

	if (!flow_in_code(flow->code, addr))
		return TRAMP_NONE;
	off = (uint32_t)(addr - flow->code->base);
	at = (uint32_t)search_first(i, flow->nblocks, flow->blocks[i].start >= off);
	return at < flow->nblocks && flow->blocks[at].start == off ? at : TRAMP_NONE;
}

static uint64_t op_target(const struct tramp_flow *flow, const struct tramp_op *op)
{
	uint64_t addr = flow_addr(flow, op->off);
	const struct flow_range *r = tramp_flow_range(flow_priv(flow), addr);

	return addr + op->len + (uint64_t)tramp_flow_field(r->bytes + (addr - r->addr), op->disp_at,
							   op->disp_len);
}

static void end_branch(struct tramp_flow *flow, struct tramp_block *b, const struct tramp_op *op)
{
	uint64_t to = op_target(flow, op);
	bool jmp = op->kind == TRAMP_OP_JMP;

	b->target = block_at(flow, to);
	if (b->target == TRAMP_NONE)
		b->target_addr = to;
	if (jmp) {
		b->ends = b->target == TRAMP_NONE ? TRAMP_END_TAIL : TRAMP_END_JMP;
		return;
	}
	b->ends = b->target == TRAMP_NONE ? TRAMP_END_TAIL_JCC : TRAMP_END_JCC;
	b->next = block_at(flow, flow_addr(flow, b->end));
	if (b->next == TRAMP_NONE)
		flow->flags |= TRAMP_FLOW_BAD_CODE;
}

/* No compiler puts a call that returns at the very end; what comes after may be data. */
static void end_call(struct tramp_flow *flow, struct tramp_block *b, const struct tramp_op *op)
{
	uint64_t to = op->disp_len ? op_target(flow, op) : 0;

	if (op->kind == TRAMP_OP_CALL)
		b->target_addr = to;
	b->ends = TRAMP_END_NORETURN;
	if (op->disp_len && tramp_flow_noreturn(flow->code, to))
		return;
	b->next = block_at(flow, flow_addr(flow, b->end));
	if (b->next == TRAMP_NONE)
		return;
	b->ends = TRAMP_END_CALL;
	flow->blocks[b->next].flags |= TRAMP_BLOCK_RETURN;
}

static void end_fall(struct tramp_flow *flow, struct tramp_block *b)
{
	uint64_t behind = flow_addr(flow, b->end);
	uint32_t piece;

	b->next = block_at(flow, behind);
	b->ends = TRAMP_END_FALL;
	if (b->next != TRAMP_NONE)
		return;
	piece = tramp_flow_piece(flow->code, behind);
	if (piece != TRAMP_NONE && flow->code->facts->fns[piece].addr == behind &&
	    flow->code->owner[piece] != flow->fn) {
		b->ends = TRAMP_END_TAIL_FALL;
		b->target_addr = behind;
		return;
	}
	b->ends = TRAMP_END_STOP;
	flow->flags |= TRAMP_FLOW_BAD_CODE;
}

static void end_block(struct tramp_flow *flow, struct tramp_block *b)
{
	const struct tramp_op *op = flow_last_op(flow, b);

	switch (op->kind) {
	case TRAMP_OP_JMP:
	case TRAMP_OP_JCC:
	case TRAMP_OP_LOOP:
		end_branch(flow, b, op);
		break;
	case TRAMP_OP_CALL:
	case TRAMP_OP_CALL_IND:
		end_call(flow, b, op);
		break;
	case TRAMP_OP_JMP_IND:
		b->ends = TRAMP_END_UNSURE;
		break;
	case TRAMP_OP_RET:
		b->ends = TRAMP_END_RET;
		break;
	case TRAMP_OP_STOP:
		b->ends = TRAMP_END_STOP;
		break;
	case TRAMP_OP_TRAP:
		b->next = block_at(flow, flow_addr(flow, b->end));
		b->ends = b->next == TRAMP_NONE ? TRAMP_END_STOP : TRAMP_END_FALL;
		break;
	default:
		end_fall(flow, b);
	}
}

/* ---- what the function destroys ---- */

static tramp_regs callee_clobbers(const struct tramp_flow *flow, const struct tramp_block *b)
{
	if (b->ends != TRAMP_END_CALL && b->ends != TRAMP_END_NORETURN)
		return 0;
	return b->target_addr && tramp_flow_piece(flow->code, b->target_addr) != TRAMP_NONE ?
	       0 : FLOW_ABI_CLOBBERS;
}

static void find_clobbers(struct tramp_flow *flow)
{
	flow->clobbers = 0;
	for (uint32_t i = 0; i < flow->nops; i++)
		flow->clobbers |= flow->ops[i].def;
	for (uint32_t i = 0; i < flow->nblocks; i++)
		flow->clobbers |= callee_clobbers(flow, &flow->blocks[i]);
}

void tramp_flow_ends(struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++)
		end_block(flow, &flow->blocks[i]);
	find_clobbers(flow);
}
