// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Registers and flags that are read before they are written: the usual backward dataflow, with what the ABI
 * says of calls and exits.  Where anything is in doubt, everything is live.
 */
#include "trampolines/flow/private.h"

struct effect {
	tramp_regs use, def;
};

static const struct tramp_fn *fn_of(const struct tramp_flow *flow)
{
	return &flow->code->facts->fns[flow->fn];
}

static bool by_the_abi(const struct tramp_fn *fn)
{
	return fn->flags & TRAMP_FN_FRAMED && !(fn->flags & TRAMP_FN_FOREIGN);
}

/* What a callee or the target of a tail call (0: not known) reads beside arguments and saved registers. */
static tramp_regs reads_besides(const struct tramp_flow *flow, uint64_t addr)
{
	const struct tramp_code *code = flow->code;
	uint32_t piece = tramp_flow_piece(code, addr);

	if (addr == 0 || !tramp_flow_is_code(code, addr))
		return 0;
	if (piece == TRAMP_NONE || code->facts->fns[piece].addr != addr ||
	    !by_the_abi(&code->facts->fns[piece]))
		return TRAMP_ALL_REGS;
	return code->bits[piece] & FLOW_FN_READS_R11 ? TRAMP_REG(TRAMP_R11) : 0;
}

/*
 * A direct call within the object destroys nothing for certain: compilers let callers rely on what the callee
 * does not touch.  So may a call through a register, where code and data are far apart.
 */
static tramp_regs call_destroys(const struct tramp_flow *flow, const struct tramp_block *b,
				const struct tramp_op *op)
{
	if (op->kind == TRAMP_OP_CALL)
		return tramp_flow_is_code(flow->code, b->target_addr) ? 0 : FLOW_ABI_CLOBBERS;
	return flow->code->large_model ? 0 : FLOW_ABI_CLOBBERS;
}

static struct effect call_effect(const struct tramp_flow *flow, const struct tramp_block *b,
				 const struct tramp_op *op)
{
	if (!by_the_abi(fn_of(flow)))
		return (struct effect){ .use = TRAMP_ALL_REGS };
	return (struct effect){
		.use = op->use | FLOW_ARGS | FLOW_SAVED | reads_besides(flow, b->target_addr),
		.def = call_destroys(flow, b, op),
	};
}

static struct effect effect_of(const struct tramp_flow *flow, const struct tramp_block *b,
			       const struct tramp_op *op)
{
	if (op->kind == TRAMP_OP_CALL || op->kind == TRAMP_OP_CALL_IND)
		return call_effect(flow, b, op);
	return (struct effect){ .use = op->use, .def = op->def };
}

/* ---- exits ---- */

/* It destroys what the ABI has it save, or its callers find results where the ABI has none. */
static bool has_own_rules(const struct tramp_flow *flow)
{
	tramp_regs keeps = FLOW_SAVED & ~(TRAMP_REG(TRAMP_RSP) | TRAMP_REG(TRAMP_DF));

	return flow->code->bits[flow->fn] & FLOW_FN_RESULTS ||
	       (flow->clobbers & keeps & ~flow_priv(flow)->saved);
}

/* What nobody wants when the function is left, among what it writes. */
static tramp_regs dead_at_exit(const struct tramp_flow *flow)
{
	tramp_regs flags = flow->code->bits[flow->fn] & FLOW_FN_FLAGS ? 0 : TRAMP_STATUS;
	tramp_regs restored = flow_priv(flow)->saved & flow_priv(flow)->loaded;

	if (!by_the_abi(fn_of(flow)))
		return 0;
	if (has_own_rules(flow))
		return flags;
	return flags | (FLOW_FREE_AT_EXIT & flow->clobbers & ~restored);
}

/*
 * Compilers let callers rely on what a function does not touch where they know it, which takes a direct call or
 * jump.  Without one it is called through tables and pointers, by the ABI.  That it destroys something says that it is
 * no exception from that, as what finds thread-local variables is.
 */
static tramp_regs dead_at_ret(const struct tramp_flow *flow)
{
	uint16_t bits = flow->code->bits[flow->fn];
	tramp_regs dead = dead_at_exit(flow);

	if (dead & FLOW_FREE_GPRS && !(bits & (FLOW_FN_CALLED | FLOW_FN_JOINED)) &&
	    !flow->code->large_model)
		dead |= TRAMP_REG(TRAMP_R11);
	return dead;
}

/* Arguments are live, and no more is dead than at ret. */
static tramp_regs live_at_tail(const struct tramp_flow *flow, const struct tramp_block *b)
{
	if (b->ends == TRAMP_END_TAIL_IND)
		return TRAMP_ALL_REGS & ~(dead_at_exit(flow) & ~FLOW_ARGS);
	return (TRAMP_ALL_REGS & ~(dead_at_ret(flow) & ~FLOW_ARGS)) | reads_besides(flow, b->target_addr);
}

static tramp_regs at_block(const struct tramp_flow *flow, uint32_t block)
{
	return block == TRAMP_NONE ? TRAMP_ALL_REGS : flow->blocks[block].live_in;
}

/* @outside: live at any place that an indirect jump within the function may lead to. */
static tramp_regs live_behind(const struct tramp_flow *flow, const struct tramp_block *b,
			      tramp_regs outside)
{
	switch (b->ends) {
	case TRAMP_END_FALL:
	case TRAMP_END_CALL:
		return at_block(flow, b->next);
	case TRAMP_END_JMP:
		return at_block(flow, b->target);
	case TRAMP_END_JCC:
		return at_block(flow, b->target) | at_block(flow, b->next);
	case TRAMP_END_TAIL_JCC:
		return live_at_tail(flow, b) | at_block(flow, b->next);
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_IND:
	case TRAMP_END_TAIL_FALL:
		return live_at_tail(flow, b);
	case TRAMP_END_SWITCH:
		return outside;
	case TRAMP_END_RET:
		return TRAMP_ALL_REGS & ~dead_at_ret(flow);
	case TRAMP_END_NORETURN:
		return 0;
	case TRAMP_END_STOP:
		return flow_last_op(flow, b)->kind == TRAMP_OP_STOP ? 0 : TRAMP_ALL_REGS;
	default:
		return TRAMP_ALL_REGS;
	}
}

/* ---- the dataflow ---- */

static struct effect block_effect(const struct tramp_flow *flow, const struct tramp_block *b)
{
	struct effect sum = { 0 };

	for (uint32_t i = b->op + b->nops; i-- > b->op;) {
		struct effect e = effect_of(flow, b, &flow->ops[i]);

		sum.use = e.use | (sum.use & ~e.def);
		sum.def |= e.def;
	}
	return sum;
}

/* The entry counts only if a table leads there: its address is known to others for calling it. */
static tramp_regs live_outside(const struct tramp_flow *flow)
{
	tramp_regs live = 0;

	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];

		if (b->flags & TRAMP_BLOCK_TABLE ||
		    (b->flags & TRAMP_BLOCK_EXTERNAL && !(b->flags & TRAMP_BLOCK_ENTRY)))
			live |= b->live_in;
	}
	return live;
}

static bool sweep(struct tramp_flow *flow, const struct effect *effects, bool switches)
{
	tramp_regs outside = switches ? live_outside(flow) : 0;
	bool changed = false;

	for (uint32_t i = flow->nblocks; i-- > 0;) {
		struct tramp_block *b = &flow->blocks[i];
		tramp_regs out = live_behind(flow, b, outside);
		tramp_regs in = effects[i].use | (out & ~effects[i].def);

		changed |= in != b->live_in || out != b->live_out;
		b->live_in = in;
		b->live_out = out;
	}
	return changed;
}

static void all_live(struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++)
		flow->blocks[i].live_in = flow->blocks[i].live_out = TRAMP_ALL_REGS;
}

void tramp_flow_live(struct tramp_flow *flow)
{
	struct effect *effects = tramp_flow_reserve(&flow_priv(flow)->work_room, flow->nblocks,
						    sizeof(*effects));
	bool switches = false;

	if (!effects) {
		all_live(flow);
		return;
	}
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		struct tramp_block *b = &flow->blocks[i];

		effects[i] = block_effect(flow, b);
		b->live_in = b->live_out = 0;
		switches |= b->ends == TRAMP_END_SWITCH;
	}
	while (sweep(flow, effects, switches))
		;
}

tramp_regs tramp_flow_live_at(const struct tramp_flow *flow, uint32_t block, uint32_t op)
{
	const struct tramp_block *b = &flow->blocks[block];
	tramp_regs live = b->live_out;

	for (uint32_t i = b->op + b->nops; i-- > op;) {
		struct effect e = effect_of(flow, b, &flow->ops[i]);

		live = e.use | (live & ~e.def);
	}
	return live;
}
