// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What indirect jumps are: within the function, out of it, or unknown.
 *
 * Two things distinguish them.  No pointer to a function comes from an addition, nor from a table that leads
 * into the function itself; and a jump out of the function has the stack as it was at the entry.  So both are
 * followed from block to block: the height of the stack, and which registers hold such sums.
 */
#include "trampolines/flow/private.h"

#include <string.h>

#define UNKNOWN FLOW_HEIGHT_UNKNOWN

struct state {
	struct flow_stack stack;
	uint16_t sums;		/* registers that hold a sum or a table's entry, on all paths ... */
	uint16_t maybe;		/* ... or on some */
	bool seen;
};

static int32_t frame_of(const struct state *s)
{
	return s->stack.has_rbp ? s->stack.rbp.height : UNKNOWN;
}

/* ---- one instruction ---- */

static bool is_own(const struct tramp_flow *flow, uint64_t addr)
{
	return flow_in_code(flow->code, addr) && flow_bit(flow->code->table, addr - flow->code->base) &&
	       tramp_code_function(flow->code, addr) == flow->fn;
}

/* A table of addresses: does it lead into the function? */
static bool is_own_table(const struct tramp_flow *flow, const struct flow_insn *insn,
			 const uint8_t *bytes)
{
	uint64_t table = (uint64_t)tramp_flow_field(bytes, insn->disp_at, insn->disp_len);
	const uint8_t *entry;
	size_t left;

	if (insn->base != TRAMP_NO_REG || insn->scale < 4 || insn->disp_len != 4)
		return false;
	entry = tramp_code_at(flow->code, table, &left);
	return entry && left >= insn->scale &&
	       is_own(flow, (uint64_t)tramp_flow_field(entry, 0, insn->scale));
}

/* From the stack comes what was put there before: a sum, maybe. */
static bool is_spilled(const struct flow_insn *insn)
{
	return insn->base == TRAMP_RSP || insn->base == TRAMP_RBP;
}

static void follow_sums(const struct tramp_flow *flow, struct state *s, const struct flow_insn *insn,
			const uint8_t *bytes)
{
	uint16_t written = (uint16_t)(insn->def & TRAMP_GPRS), from;

	s->sums &= (uint16_t)~written;
	s->maybe &= (uint16_t)~written;
	switch (insn->shape) {
	case FLOW_ADD:
		s->sums |= (uint16_t)TRAMP_REG(insn->reg);
		s->maybe |= (uint16_t)TRAMP_REG(insn->reg);
		break;
	case FLOW_LEA:
		if (insn->base == TRAMP_NO_REG || insn->index == TRAMP_NO_REG)
			break;
		s->sums |= (uint16_t)TRAMP_REG(insn->reg);
		s->maybe |= (uint16_t)TRAMP_REG(insn->reg);
		break;
	case FLOW_MOV:
		from = (uint16_t)TRAMP_REG(insn->base);
		s->sums |= s->sums & from ? written : 0;
		s->maybe |= s->maybe & from ? written : 0;
		break;
	case FLOW_LOAD:
		if (is_own_table(flow, insn, bytes))
			s->sums |= written;
		if (is_own_table(flow, insn, bytes) || is_spilled(insn))
			s->maybe |= written;
		break;
	default:
		break;
	}
}

/* ---- all blocks ---- */

static struct state behind(const struct tramp_flow *flow, uint32_t block, const struct state *before)
{
	const struct tramp_block *b = &flow->blocks[block];
	struct state s = *before;
	struct flow_insn insn;
	const uint8_t *bytes;

	for (uint32_t i = b->op; i < b->op + b->nops; i++) {
		if (!tramp_flow_insn_at(flow, flow->ops[i].off, &insn, &bytes))
			break;
		tramp_flow_stack(&s.stack, &insn, bytes);
		if (flow->ops[i].kind != TRAMP_OP_JMP_IND)
			follow_sums(flow, &s, &insn, bytes);
	}
	return s;
}

static bool meet(struct state *into, const struct state *s)
{
	struct state was = *into;

	if (!was.seen) {
		*into = *s;
		return true;
	}
	if (into->stack.rsp.height != s->stack.rsp.height)
		into->stack.rsp.height = UNKNOWN;
	if (frame_of(into) != frame_of(s))
		into->stack.has_rbp = false;
	into->sums &= s->sums;
	into->maybe |= s->maybe;
	return into->stack.rsp.height != was.stack.rsp.height || frame_of(into) != frame_of(&was) ||
	       into->sums != was.sums ||
	       into->maybe != was.maybe;
}

/* What jumps to the entry leaves the function, as a tail call does: with the stack that each caller has there. */
static bool is_entered_indirectly(const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];

	return i != flow->entry && b->flags & TRAMP_BLOCK_EXTERNAL && !(b->flags & TRAMP_BLOCK_PAD);
}

/* ---- the jumps ---- */

/* Places that a jump within the function could lead to, other than targets of tables of distances. */
static bool has_labels(const struct tramp_flow *flow)
{
	const struct tramp_facts *facts = flow->code->facts;

	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];

		if (b->flags & TRAMP_BLOCK_ENTRY || !(b->flags & TRAMP_BLOCK_EXTERNAL))
			continue;
		if (flow_bit(flow->code->external, b->start) ||
		    tramp_flow_listed(facts->taken, facts->ntaken, flow_addr(flow, b->start)))
			return true;
	}
	return false;
}

/*
 * The stack's height is not known after alloca(); but as long as rbp points into the frame, control does not leave, for
 * who called it wants its own back.
 */
static enum tramp_end by_stack(const struct tramp_flow *flow, const struct state *s, bool labels)
{
	bool tables = flow->code->bits[flow->fn] & FLOW_FN_TABLES;

	if (!s->seen || (s->stack.rsp.height == UNKNOWN && frame_of(s) == UNKNOWN))
		return TRAMP_END_UNSURE;
	if (s->stack.rsp.height == 0)
		return labels ? TRAMP_END_UNSURE : TRAMP_END_TAIL_IND;
	return labels || tables ? TRAMP_END_SWITCH : TRAMP_END_UNSURE;
}

static enum tramp_end classify(const struct tramp_flow *flow, uint32_t block,
			       const struct state *before, bool labels)
{
	bool tables = flow->code->bits[flow->fn] & FLOW_FN_TABLES;
	const struct tramp_op *op = flow_last_op(flow, &flow->blocks[block]);
	struct state s = behind(flow, block, before);
	struct flow_insn insn;
	const uint8_t *bytes;

	if (!tramp_flow_insn_at(flow, op->off, &insn, &bytes))
		return TRAMP_END_UNSURE;
	if (insn.memory && is_own_table(flow, &insn, bytes))
		return TRAMP_END_SWITCH;
	if (insn.memory || insn.reg == TRAMP_NO_REG)
		return by_stack(flow, &s, labels);
	if (s.seen && s.sums & TRAMP_REG(insn.reg))
		return tables ? TRAMP_END_SWITCH : TRAMP_END_UNSURE;
	if (s.maybe & TRAMP_REG(insn.reg) && s.stack.rsp.height == 0)
		return tables ? TRAMP_END_UNSURE : by_stack(flow, &s, labels);
	return by_stack(flow, &s, labels);
}

/* ---- all blocks, from one to the other ---- */

/* @inside: what indirect jumps may bring to any place that they could lead to. */
static bool follow_block(struct tramp_flow *flow, struct state *states, struct state *inside, bool labels,
			 uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	struct state out;
	bool changed = false;

	if (inside->seen && is_entered_indirectly(flow, i))
		changed |= meet(&states[i], inside);
	if (!states[i].seen)
		return changed;
	out = behind(flow, i, &states[i]);
	if (b->target != TRAMP_NONE)
		changed |= meet(&states[b->target], &out);
	if (b->next != TRAMP_NONE)
		changed |= meet(&states[b->next], &out);
	if (b->ends == TRAMP_END_UNSURE && classify(flow, i, &states[i], labels) != TRAMP_END_TAIL_IND)
		changed |= meet(inside, &out);
	return changed;
}

/* A jump that leaves the function, as far as is known yet, brings nothing to a place in it. */
static void follow_all(struct tramp_flow *flow, struct state *states, bool labels)
{
	struct state inside = { 0 };
	bool changed = true;

	memset(states, 0, flow->nblocks * sizeof(*states));
	if (flow->entry != TRAMP_NONE)
		states[flow->entry] = (struct state){ .stack = FLOW_STACK_AT_ENTRY, .seen = true };
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < flow->nblocks; i++)
			changed |= follow_block(flow, states, &inside, labels, i);
	}
}

/* Jumps through the GOT leave the function; false: there are others. */
static bool only_got(struct tramp_flow *flow)
{
	bool only = true;

	for (uint32_t i = 0; i < flow->nblocks; i++) {
		if (flow->blocks[i].ends != TRAMP_END_UNSURE)
			continue;
		if (flow_last_op(flow, &flow->blocks[i])->disp_len)
			flow->blocks[i].ends = TRAMP_END_TAIL_IND;
		else
			only = false;
	}
	return only;
}

bool tramp_flow_jumps(struct tramp_flow *flow)
{
	struct flow_priv *p = flow_priv(flow);
	struct state *states;
	bool labels;

	if (only_got(flow))
		return true;
	states = tramp_flow_reserve(&p->work_room, flow->nblocks, sizeof(*states));
	if (!states)
		return false;
	labels = has_labels(flow);
	follow_all(flow, states, labels);
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		struct tramp_block *b = &flow->blocks[i];

		if (b->ends != TRAMP_END_UNSURE)
			continue;
		b->ends = (uint8_t)classify(flow, i, &states[i], labels);
		if (b->ends == TRAMP_END_UNSURE)
			flow->flags |= TRAMP_FLOW_UNSURE;
	}
	return true;
}
