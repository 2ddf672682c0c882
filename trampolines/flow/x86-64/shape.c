// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What code that is entered at one place comes to.  The blocks of a function hold all places in its bytes that control may come
 * to; here those count that it gets to from its entry, with the stack as it is on the first way there.
 */
#include "trampolines/flow/private.h"

#include <string.h>

#define ENTRY_ALIGN 16

struct visit {
	struct flow_stack stack;
	bool seen;
};

struct walk {
	const struct tramp_flow *flow;
	struct tramp_shape *shape;
	struct visit *visits;	/* by block */
	uint32_t *todo;
	uint32_t ntodo;
	uint64_t lo, hi;	/* the function's own bytes, without its parts */
	bool switches;		/* jumps through tables were met */
};

static void go_to(struct walk *w, uint32_t block, const struct flow_stack *stack)
{
	if (block == TRAMP_NONE || w->visits[block].seen)
		return;
	w->visits[block] = (struct visit){ .stack = *stack, .seen = true };
	w->todo[w->ntodo++] = block;
}

static void leave(struct walk *w, const struct tramp_block *b, const struct flow_stack *stack)
{
	struct tramp_shape *shape = w->shape;

	if (shape->nleaves == TRAMP_SHAPE_LEAVES) {
		shape->flags |= TRAMP_SHAPE_CUT;
		return;
	}
	shape->leaves[shape->nleaves++] = (struct tramp_leave){
		.from = flow_addr(w->flow, flow_last_op(w->flow, b)->off),
		.to = b->target_addr,
		.ends = b->ends,
		.flat = stack->rsp.height == 0,
		.deep = stack->rsp.height != 0 && stack->rsp.height != FLOW_HEIGHT_UNKNOWN,
	};
}

/* What compilers pad with, after a call that does not return. */
static bool is_padding(const struct tramp_flow *flow, const struct tramp_block *b)
{
	for (uint32_t i = b->op; i < b->op + b->nops; i++) {
		const struct tramp_op *op = &flow->ops[i];

		if ((op->kind != TRAMP_OP_PLAIN && op->kind != TRAMP_OP_TRAP) || op->use || op->def)
			return false;
	}
	return true;
}

static bool is_endbr64(const struct walk *w, uint64_t addr)
{
	size_t left;
	const uint8_t *p = tramp_code_at(w->flow->code, addr, &left);

	return p && tramp_endbr64_size(p, left);
}

/* Aligned, and beginning with endbr64 or by putting something on the stack. */
static bool is_like_entry(const struct walk *w, const struct tramp_block *b)
{
	struct flow_stack stack = FLOW_STACK_AT_ENTRY;
	struct flow_insn insn;
	const uint8_t *bytes;

	if (flow_addr(w->flow, b->start) % ENTRY_ALIGN || !tramp_flow_insn_at(w->flow, b->start, &insn, &bytes))
		return false;
	tramp_flow_stack(&stack, &insn, bytes);
	return tramp_endbr64_size(bytes, insn.len) || stack.rsp.height > 0;
}

/* Its address is written down somewhere, and it is aligned as functions are. */
static bool is_held(const struct walk *w, uint64_t addr)
{
	uint64_t at = addr - w->flow->code->base;

	return addr % ENTRY_ALIGN == 0 && addr < w->hi && (is_endbr64(w, addr) || flow_bit(w->flow->code->external, at)) &&
	       !flow_bit(w->flow->code->table, at);
}

/*
 * A call returns, says the flow of a function whose end is not known.  If there is nothing but padding after it up to the
 * end, or up to what is likely another function, it does not.
 */
static bool is_over(const struct walk *w, uint32_t next)
{
	const struct tramp_block *b = &w->flow->blocks[next];
	uint64_t end = flow_addr(w->flow, b->end);

	if (!is_padding(w->flow, b))
		return is_like_entry(w, b) && is_held(w, flow_addr(w->flow, b->start));
	return end >= w->hi || is_held(w, end);
}

static bool has_tables(const struct walk *w)
{
	for (uint32_t i = 0; i < w->flow->nblocks; i++)
		if (w->flow->blocks[i].flags & TRAMP_BLOCK_TABLE)
			return true;
	return false;
}

/* Into bytes that are no instruction. */
static bool runs_on(const struct tramp_flow *flow, const struct tramp_block *b)
{
	uint8_t kind = flow_last_op(flow, b)->kind;

	return kind != TRAMP_OP_STOP && kind != TRAMP_OP_TRAP;
}

/* What a call of the next instruction puts on the stack stays there. */
static void note_position(const struct walk *w, const struct tramp_block *b, struct flow_stack *stack)
{
	if (b->ends == TRAMP_END_CALL && b->target_addr == flow_addr(w->flow, b->end) && stack->rsp.height != FLOW_HEIGHT_UNKNOWN)
		stack->rsp.height += (int32_t)sizeof(uint64_t);
}

/*
 * Compilers put a block where its only predecessor jumps to it.  Such a jump, with the stack as at the entry, to what begins as functions do
 * leads to another function, if it is nearer than this one is supposed to end.
 */
static bool is_tail_call(const struct walk *w, const struct tramp_block *b, const struct flow_stack *stack)
{
	const struct tramp_block *to = b->target == TRAMP_NONE ? NULL : &w->flow->blocks[b->target];
	uint32_t n = 0;

	if (!to || stack->rsp.height || to->start < b->end || to->flags & (TRAMP_BLOCK_ENTRY | TRAMP_BLOCK_EXTERNAL) || !is_like_entry(w, to))
		return false;
	for (uint32_t i = 0; i < w->flow->nblocks; i++)
		n += (w->flow->blocks[i].target == b->target) + (w->flow->blocks[i].next == b->target);
	return n == 1;
}

static void leave_within(struct walk *w, const struct tramp_block *b, const struct flow_stack *stack)
{
	struct tramp_block tail = *b;

	tail.ends = TRAMP_END_TAIL;
	tail.target_addr = flow_addr(w->flow, w->flow->blocks[b->target].start);
	leave(w, &tail, stack);
}

/* Where control goes after a block. */
static void go_on(struct walk *w, const struct tramp_block *b, const struct flow_stack *stack)
{
	switch (b->ends) {
	case TRAMP_END_JMP:
		if (!is_tail_call(w, b, stack))
			break;
		leave_within(w, b, stack);
		return;
	case TRAMP_END_RET:
		w->shape->flags |= TRAMP_SHAPE_RETURNS;
		if (stack->rsp.height < 0)
			w->shape->flags |= TRAMP_SHAPE_UNBALANCED;
		return;
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_JCC:
	case TRAMP_END_TAIL_FALL:
	case TRAMP_END_NORETURN:
		leave(w, b, stack);
		break;
	case TRAMP_END_CALL:
		leave(w, b, stack);
		if (b->next != TRAMP_NONE && is_over(w, b->next))
			return;
		break;
	case TRAMP_END_UNSURE: /* with nothing on the stack, and no table, most likely a call of what a pointer says */
		if (stack->rsp.height == 0 && !has_tables(w)) {
			w->shape->flags |= TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_SWITCHES;
			break;
		}
		w->shape->flags |= TRAMP_SHAPE_UNSURE;
		w->switches = true;
		break;
	case TRAMP_END_SWITCH:
		w->switches = true;
		break;
	case TRAMP_END_TAIL_IND: /* with something on the stack, through anything but the GOT, it is none */
		w->shape->flags |= flow_last_op(w->flow, b)->disp_len || stack->rsp.height == 0 ? TRAMP_SHAPE_RETURNS :
												   TRAMP_SHAPE_UNSURE | TRAMP_SHAPE_SWITCHES;
		break;
	case TRAMP_END_STOP:
		w->shape->flags |= runs_on(w->flow, b) ? TRAMP_SHAPE_BAD : 0;
		break;
	default:
		break;
	}
	go_to(w, b->target, stack);
	go_to(w, b->next, stack);
}

#define KEPT (TRAMP_REG(TRAMP_RBX) | TRAMP_REG(TRAMP_RBP) | TRAMP_REG(TRAMP_R12) | TRAMP_REG(TRAMP_R13) | \
	      TRAMP_REG(TRAMP_R14) | TRAMP_REG(TRAMP_R15))

/* Functions put the registers of their callers away, and look at no flags of theirs. */
static bool reads_of_caller(const struct flow_insn *insn, tramp_regs written)
{
	tramp_regs read = insn->use & ~insn->idle & ~written;

	if (insn->kind == TRAMP_OP_CALL || insn->kind == TRAMP_OP_CALL_IND || insn->kind == TRAMP_OP_SYSCALL)
		return false;
	if (read & TRAMP_STATUS)
		return insn->shape != FLOW_PUSHF;
	if (insn->shape == FLOW_PUSH || insn->shape == FLOW_MOV || insn->shape == FLOW_LEAVE)
		return false;
	if (insn->shape == FLOW_STORE)
		return insn->base != TRAMP_NO_REG && (TRAMP_REG(insn->base) & read & KEPT);
	return read & KEPT;
}

/* Arguments that do not fit into registers are there, and what a function has put there before some place within it. */
static bool is_above(const struct flow_stack *stack, const struct flow_insn *insn, const uint8_t *bytes)
{
	return insn->memory && insn->base == TRAMP_RSP && insn->shape != FLOW_PUSH && insn->shape != FLOW_POP &&
	       stack->rsp.height != FLOW_HEIGHT_UNKNOWN &&
	       tramp_flow_field(bytes, insn->disp_at, insn->disp_len) > stack->rsp.height;
}

static void mark_reached(const struct walk *w, const struct tramp_block *b)
{
	for (uint32_t at = b->start; w->shape->reached && at < b->end; at++)
		flow_set_bit(w->shape->reached, at);
}

static void walk_block(struct walk *w, uint32_t i)
{
	const struct tramp_block *b = &w->flow->blocks[i];
	uint64_t end = flow_addr(w->flow, b->end);
	struct flow_stack stack = w->visits[i].stack;
	tramp_regs written = i == w->flow->entry ? 0 : TRAMP_ALL_REGS;
	struct flow_insn insn;
	const uint8_t *bytes;

	mark_reached(w, b);
	if (flow_addr(w->flow, b->start) >= w->lo && end <= w->hi && end > w->shape->end)
		w->shape->end = end;
	for (uint32_t k = b->op; k < b->op + b->nops; k++) {
		bool first = i == w->flow->entry && k == b->op;

		if (!tramp_flow_insn_at(w->flow, w->flow->ops[k].off, &insn, &bytes))
			return;
		if (i == w->flow->entry && is_above(&stack, &insn, bytes))
			w->shape->flags |= TRAMP_SHAPE_ABOVE;
		if (insn.kind != TRAMP_OP_RET) /* what it takes is not of the function */
			tramp_flow_stack(&stack, &insn, bytes);
		if (first && (tramp_endbr64_size(bytes, insn.len) || stack.rsp.height > 0))
			w->shape->flags |= TRAMP_SHAPE_PROLOGUE;
		if (written != TRAMP_ALL_REGS && reads_of_caller(&insn, written))
			w->shape->flags |= TRAMP_SHAPE_READS;
		written |= insn.def;
	}
	note_position(w, b, &stack);
	go_on(w, b, &stack);
}

/*
 * An indirect jump may lead to its tables' targets; one that is not understood, or in code that can be anywhere, where tables of
 * addresses are the dynamic linker's to fill, to what else is known of outside of the function, too.  But since its end is only supposed, tables may have been read too far, and what looks like a function is one.  The stack
 * is not known there.
 */
static void walk_tables(struct walk *w)
{
	const struct flow_stack unknown = { .rsp = { .height = FLOW_HEIGHT_UNKNOWN } };
	bool labels = w->shape->flags & TRAMP_SHAPE_UNSURE || !w->flow->code->absolute;

	for (uint32_t i = 0; i < w->flow->nblocks; i++) {
		const struct tramp_block *b = &w->flow->blocks[i];

		if (b->flags & (TRAMP_BLOCK_TABLE | (labels ? TRAMP_BLOCK_EXTERNAL : 0)) && !is_like_entry(w, b))
			go_to(w, i, &unknown);
	}
	w->switches = false;
	w->shape->flags |= TRAMP_SHAPE_SWITCHES;
}

bool tramp_flow_shape(const struct tramp_flow *flow, struct tramp_shape *shape)
{
	struct flow_priv *p = flow_priv(flow);
	const struct tramp_fn *fn = &flow->code->facts->fns[flow->fn];
	struct walk w = { .flow = flow, .shape = shape, .lo = fn->addr, .hi = fn->addr + fn->size };

	shape->end = fn->addr;
	shape->flags = 0;
	shape->nleaves = 0;
	w.visits = tramp_flow_reserve(&p->work_room, flow->nblocks, sizeof(*w.visits));
	w.todo = tramp_flow_reserve(&p->work2_room, flow->nblocks, sizeof(*w.todo));
	if (!w.visits || !w.todo)
		return false;
	memset(w.visits, 0, flow->nblocks * sizeof(*w.visits));
	go_to(&w, flow->entry, &FLOW_STACK_AT_ENTRY);
	while (w.ntodo) {
		walk_block(&w, w.todo[--w.ntodo]);
		if (!w.ntodo && w.switches)
			walk_tables(&w);
	}
	return true;
}
