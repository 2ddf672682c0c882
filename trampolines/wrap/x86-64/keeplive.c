// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Liveness of what a compiler can have meant, for callers of functions that get a keeper: over the blocks of
 * trampolines/flow/flow.h, with less than the processor reads.
 *
 * A call to code that is not known reads its arguments, but nobody says how many.  Registers that hold something on
 * purpose are those written since the last call that clobbered them, and those in which the function's own arguments
 * came: the *defined* ones.  Of the defined ones, a call gets those that are first in the order of arguments, up to
 * one that is not defined.  Return values likewise, but there arguments of the function itself do not count: so there
 * are two sets, `args` and `results`.
 */
#include <stdlib.h>
#include <string.h>

#include "trampolines/wrap/x86-64/keepcalls.h"

enum {
	SWEEPS_MAX = 200,
	DEPTH_MAX = 4,		/* calls followed into each other */
	CANARY_NOPS = 4,	/* instructions before a failed check's call */
};

/* In `results`: xmm0 may hold one. */
#define MAYBE_RESULT TRAMP_REG(TRAMP_RSP)

/* Bits of both parts of each vector of which one is in the set. */
static tramp_regs whole(tramp_regs regs)
{
	tramp_regs numbers = (regs >> TRAMP_XMM | regs >> TRAMP_UPPER) & 0xffff;

	return regs | FLOW_VECTORS(numbers);
}

struct defined {
	tramp_regs args, results;
};

/* ---- what is defined ---- */

/*
 * The function's own arguments.  Vectors only where its callers are known: the few functions that hand one on
 * untouched are not worth taking all others for such.
 */
static tramp_regs defined_at_entry(struct keep_calls *k, const struct keep_body *body)
{
	tramp_regs arity = tramp_keep_arity(k, k->code->facts->fns[body->fn].addr);
	tramp_regs regs = FLOW_REGS6(TRAMP_RDI, TRAMP_RSI, TRAMP_RDX, TRAMP_RCX, TRAMP_R8, TRAMP_R9);

	if (arity != KEEP_ALL)
		regs |= UINT64_C(0xff) << TRAMP_XMM;
	return regs & arity;
}

/*
 * After a call, its results.  A call that is not known leaves something in rax nearly always, but seldom in xmm0:
 * that counts only where an instruction reads it.
 */
static struct defined after_call(struct defined d, tramp_regs clobbers)
{
	tramp_regs results = TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX);

	if (clobbers == KEEP_ALL)
		return (struct defined){ .results = results | MAYBE_RESULT };
	clobbers = whole(clobbers);
	if (clobbers & TRAMP_REG(TRAMP_XMM))
		d.results &= ~MAYBE_RESULT;
	results |= FLOW_VECTORS(3);
	return (struct defined){
		.args = d.args & ~clobbers,
		.results = (d.results & ~clobbers) | (results & clobbers),
	};
}

static struct defined after(struct defined d, const struct keep_op *op)
{
	tramp_regs written = whole(op->def);

	if (tramp_op_calls(op->kind))
		return after_call(d, op->def);
	return (struct defined){ .args = d.args | written, .results = d.results | written };
}

static struct defined before_op(const struct keep_body *body, const struct keep_block *b, uint32_t op)
{
	struct defined d = { .args = b->args, .results = b->results };

	for (uint32_t i = b->op; i < op; i++)
		d = after(d, &body->ops[i]);
	return d;
}

tramp_regs tramp_keep_defined(const struct keep_body *body, uint32_t i)
{
	struct defined d = before_op(body, tramp_keep_block_of(body, i), i);

	return (whole(d.args | d.results) & KEEP_ALL) | (d.results & MAYBE_RESULT ? FLOW_VECTORS(3) : 0);
}

/* ---- successors ---- */

/* A failed check of the stack protector reads no registers: what follows is a call without end. */
static bool leads_to_failure(const struct keep_body *body, uint32_t block)
{
	const struct keep_block *b = block == TRAMP_NONE ? NULL : &body->blocks[block];

	if (!b || b->nops > CANARY_NOPS || !tramp_op_calls(tramp_keep_last(body, b)->kind))
		return false;
	for (uint32_t i = b->op; i < b->op + b->nops - 1; i++) {
		if (body->ops[i].use || body->ops[i].def)
			return false;
	}
	return true;
}

/* Blocks that control goes to, TRAMP_NONE for none; indirect jumps apart. */
static void successors(const struct keep_body *body, const struct keep_block *b, uint32_t to[2])
{
	bool checks = b->nops > 1 && b->ends == TRAMP_END_JCC &&
		      body->ops[b->op + b->nops - 2].flags & KEEP_OP_CANARY;

	to[0] = b->next;
	to[1] = b->target;
	if (checks && leads_to_failure(body, to[0]))
		to[0] = TRAMP_NONE;
	else if (checks && leads_to_failure(body, to[1]))
		to[1] = TRAMP_NONE;
}

static bool goes_anywhere(const struct keep_block *b)
{
	return b->ends == TRAMP_END_SWITCH || b->ends == TRAMP_END_UNSURE;
}

/* ---- forwards ---- */

static bool add_defined(struct keep_block *to, struct defined d)
{
	bool grew = (d.args & ~to->args) || (d.results & ~to->results);

	to->args |= d.args;
	to->results |= d.results;
	return grew;
}

static bool push_block(struct keep_body *body, const struct keep_block *b, struct defined *anywhere)
{
	struct defined out = before_op(body, b, b->op + b->nops);
	bool grew = false;
	uint32_t to[2];

	successors(body, b, to);
	for (int i = 0; i < 2; i++) {
		if (to[i] != TRAMP_NONE)
			grew |= add_defined(&body->blocks[to[i]], out);
	}
	if (goes_anywhere(b)) {
		anywhere->args |= out.args;
		anywhere->results |= out.results;
	}
	return grew;
}

static void find_defined(struct keep_calls *k, struct keep_body *body)
{
	bool grew = true;

	body->blocks[body->entry].args = defined_at_entry(k, body);
	for (int sweep = 0; grew; sweep++) {
		struct defined anywhere = { 0 };

		if (sweep == SWEEPS_MAX) {
			body->endless = true;
			return;
		}
		grew = false;
		for (uint32_t i = 0; i < body->nblocks; i++)
			grew |= push_block(body, &body->blocks[i], &anywhere);
		for (uint32_t i = 0; i < body->nblocks; i++) {
			if (body->blocks[i].inside)
				grew |= add_defined(&body->blocks[i], anywhere);
		}
	}
}

/* ---- what instructions read, going by what is defined ---- */

/* What a callee reads, if that is known. */
static bool known_use(struct keep_calls *k, uint64_t addr, tramp_regs *use)
{
	struct keep_body *callee = tramp_keep_body(k, addr);

	/* Of a variable number of arguments, the prologue saves all that there could be. */
	if (!callee || !tramp_keep_build(k, callee) || callee->variadic ||
	    !tramp_keep_live(k, callee) || callee->endless)
		return false;
	*use = callee->blocks[callee->entry].live & tramp_keep_arity(k, addr);
	return true;
}

/* An outside call's arguments are added later, when it is known what is defined. */
static void note_call(struct keep_calls *k, struct keep_op *op)
{
	struct keep_body *callee = op->to == TRAMP_NONE ? NULL : tramp_keep_body(k, flow_address(k->code, op->to));
	tramp_regs use;

	op->def = KEEP_ALL;
	if (!callee)
		return;
	tramp_keep_reach(k, callee);
	op->def = callee->clobbers;
	if (!known_use(k, flow_address(k->code, op->to), &use))
		return;
	op->use |= use;
	op->flags |= KEEP_OP_ARGUMENTS;
}

/* The second registers of pairs, rdx and xmm1, are much more often left from something else. */
static tramp_regs returned(struct defined d)
{
	return d.results & (TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_XMM));
}

static tramp_regs guessed_arguments(struct keep_calls *k, struct defined d, uint64_t addr)
{
	tramp_regs regs = tramp_keep_arguments(d.args, true);

	return addr ? regs & tramp_keep_arity(k, addr) : regs;
}

/* At an instruction that is no jump. */
static tramp_regs guessed_use(struct keep_calls *k, const struct keep_op *op, struct defined d)
{
	switch (op->kind) {
	case TRAMP_OP_CALL:
		if (op->flags & KEEP_OP_ARGUMENTS)
			return 0;
		return guessed_arguments(k, d, op->to == TRAMP_NONE ? 0 : flow_address(k->code, op->to));
	case TRAMP_OP_CALL_IND:
		return guessed_arguments(k, d, 0);
	case TRAMP_OP_SYSCALL:
		return tramp_keep_arguments(d.args, false);
	case TRAMP_OP_RET:
		return returned(d);
	default:
		return 0;
	}
}

/* What follows reads where the function is left by a jump, and may return. */
static tramp_regs used_by_tail(struct keep_calls *k, const struct keep_block *b, struct defined d)
{
	struct keep_body *callee = tramp_keep_body(k, b->target_addr);
	tramp_regs use;

	if (b->ends == TRAMP_END_TAIL_IND || !callee || !known_use(k, b->target_addr, &use))
		return guessed_arguments(k, d, b->ends == TRAMP_END_TAIL_IND ? 0 : b->target_addr);
	tramp_keep_reach(k, callee);
	return use | (returned(d) & ~callee->clobbers);
}

static bool is_tail(const struct keep_block *b)
{
	return b->ends == TRAMP_END_TAIL || b->ends == TRAMP_END_TAIL_JCC ||
	       b->ends == TRAMP_END_TAIL_FALL || b->ends == TRAMP_END_TAIL_IND;
}

static void find_uses(struct keep_calls *k, struct keep_body *body)
{
	for (uint32_t i = 0; i < body->nblocks; i++) {
		const struct keep_block *b = &body->blocks[i];
		struct defined d = { .args = b->args, .results = b->results };

		for (uint32_t at = b->op; at < b->op + b->nops; at++) {
			struct keep_op *op = &body->ops[at];

			op->use |= guessed_use(k, op, d);
			if (at + 1 == b->op + b->nops && is_tail(b))
				op->use |= used_by_tail(k, b, d);
			d = after(d, op);
		}
	}
}

/* ---- backwards ---- */

struct sets {
	tramp_regs live, through;
};

static struct sets after_block(const struct keep_body *body, const struct keep_block *b,
				struct sets anywhere)
{
	struct sets out = { 0 };
	uint32_t to[2];

	if (b->ends == TRAMP_END_UNSURE)
		return (struct sets){ KEEP_ALL, KEEP_ALL };
	if (b->ends == TRAMP_END_SWITCH)
		return anywhere;
	successors(body, b, to);
	for (int i = 0; i < 2; i++) {
		if (to[i] == TRAMP_NONE)
			continue;
		out.live |= body->blocks[to[i]].live;
		out.through |= body->blocks[to[i]].through;
	}
	if (b->ends == TRAMP_END_RET || is_tail(b))
		out.through |= KEEP_ALL;
	return out;
}

static bool pull_block(struct keep_body *body, struct keep_block *b, struct sets anywhere)
{
	struct sets s = after_block(body, b, anywhere);
	bool grew;

	for (uint32_t i = b->op + b->nops; i-- > b->op;) {
		s.live = body->ops[i].use | (s.live & ~body->ops[i].def);
		s.through &= ~body->ops[i].def;
	}
	grew = s.live != b->live || s.through != b->through;
	b->live = s.live;
	b->through = s.through;
	return grew;
}

static void find_live(struct keep_body *body)
{
	bool grew = true;

	for (int sweep = 0; grew; sweep++) {
		struct sets anywhere = { 0 };

		if (sweep == SWEEPS_MAX) {
			body->endless = true;
			return;
		}
		for (uint32_t i = 0; i < body->nblocks; i++) {
			if (!body->blocks[i].inside)
				continue;
			anywhere.live |= body->blocks[i].live;
			anywhere.through |= body->blocks[i].through;
		}
		grew = false;
		for (uint32_t i = body->nblocks; i-- > 0;)
			grew |= pull_block(body, &body->blocks[i], anywhere);
	}
}

bool tramp_keep_live(struct keep_calls *k, struct keep_body *body)
{
	if (body->live == KEEP_DONE)
		return !body->failed;
	if (body->live == KEEP_BUSY || k->depth >= DEPTH_MAX || !tramp_keep_build(k, body))
		return false;
	body->live = KEEP_BUSY;
	k->depth++;
	for (uint32_t i = 0; i < body->nops; i++) {
		if (tramp_op_calls(body->ops[i].kind))
			note_call(k, &body->ops[i]);
	}
	find_defined(k, body);
	find_uses(k, body);
	find_live(body);
	k->depth--;
	body->live = KEEP_DONE;
	return true;
}

/* ---- the stack ---- */

static struct flow_stack stack_after(struct keep_calls *k, const struct keep_body *body, uint32_t from,
				      uint32_t end, struct flow_stack stack)
{
	struct flow_insn insn;
	const uint8_t *bytes;

	for (uint32_t i = from; i < end; i++) {
		if (tramp_keep_insn(k, &body->ops[i], &insn, &bytes))
			tramp_flow_stack(&stack, &insn, bytes);
	}
	return stack;
}

static void reach(struct keep_body *body, uint32_t i, struct flow_stack stack, uint32_t *todo, size_t *n)
{
	if (i == TRAMP_NONE || body->blocks[i].reached)
		return;
	body->blocks[i].reached = true;
	body->blocks[i].stack = stack;
	todo[(*n)++] = i;
}

bool tramp_keep_stacks(struct keep_calls *k, struct keep_body *body)
{
	uint32_t *todo = body->has_stacks ? NULL : calloc(body->nblocks, sizeof(*todo)), to[2];
	size_t n = 0;

	if (body->has_stacks)
		return true;
	if (!todo) {
		k->no_memory = true;
		return false;
	}
	reach(body, body->entry, FLOW_STACK_AT_ENTRY, todo, &n);
	while (n) {
		const struct keep_block *b = &body->blocks[todo[--n]];
		struct flow_stack stack = stack_after(k, body, b->op, b->op + b->nops, b->stack);

		successors(body, b, to);
		reach(body, to[0], stack, todo, &n);
		reach(body, to[1], stack, todo, &n);
		for (uint32_t i = 0; goes_anywhere(b) && i < body->nblocks; i++) {
			if (body->blocks[i].inside)
				reach(body, i, stack, todo, &n);
		}
	}
	body->has_stacks = true;
	free(todo);
	return true;
}

struct flow_stack tramp_keep_stack_at(struct keep_calls *k, const struct keep_body *body, uint32_t i)
{
	const struct keep_block *b = tramp_keep_block_of(body, i);

	return stack_after(k, body, b->op, i, b->stack);
}
