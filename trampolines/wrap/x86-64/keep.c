// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What is relied on of a function: at each place that calls it, what is read after the call, and,
 * for what stays untouched up to the caller's return, what is relied on of the caller.
 */
#include "trampolines/wrap/keep.h"

#include <stdlib.h>
#include <string.h>

#include "trampolines/wrap/x86-64/keepcalls.h"

enum {
	CALLERS_DEEP = 32,	/* callers of callers followed */
	RETURN_ADDRESS = 8,
};

static void rely(struct keep_calls *k, struct keep_body *body, unsigned int depth);

static void give_up(struct keep_body *body)
{
	body->relied = ~body->clobbers & KEEP_ALL;
	body->misaligned = true;
	body->incomplete = true;
}

static void add_callers_callers(struct keep_calls *k, struct keep_body *body, struct keep_body *caller,
				tramp_regs through, bool alignment, unsigned int depth)
{
	tramp_keep_reach(k, caller);
	if (caller->reaches_open || caller == body)
		return;
	if (!alignment && (through & ~caller->clobbers) == 0)
		return;
	rely(k, caller, depth + 1);
	body->relied |= caller->relied & through;
	body->misaligned |= caller->misaligned && alignment;
	body->incomplete |= caller->incomplete;
}

/* Call number i of `caller` goes to `body`. */
static void add_call(struct keep_calls *k, struct keep_body *body, struct keep_body *caller, uint32_t i,
		     unsigned int depth)
{
	const struct keep_block *b = tramp_keep_block_of(caller, i);
	const struct keep_block *next = b->next == TRAMP_NONE ? NULL : &caller->blocks[b->next];
	struct flow_level rsp;
	bool alignment = true;

	k->depth = 0;
	if (!tramp_keep_live(k, caller) || caller->endless || !tramp_keep_stacks(k, caller)) {
		give_up(body);
		return;
	}
	if (b->reached) {
		rsp = tramp_keep_stack_at(k, caller, i).rsp;
		body->misaligned |= rsp.low != 0;
		alignment = !rsp.aligned;
	} else {
		/* a landing pad has the stack of a call that throws; what an unknown jump leads to may have any */
		body->misaligned |= caller->unsure;
	}
	if (next)
		body->relied |= next->live & tramp_keep_defined(caller, i);
	add_callers_callers(k, body, caller, next ? next->through : 0, alignment, depth);
}

static void look_at_site(struct keep_calls *k, struct keep_body *body, const struct tramp_site *site,
			 unsigned int depth)
{
	struct keep_body *caller = tramp_keep_body(k, k->code->base + site->from);
	uint32_t i;

	if (!caller || !tramp_keep_build(k, caller)) {
		give_up(body);
		return;
	}
	i = tramp_keep_op_at(caller, site->from);
	if (i == TRAMP_NONE) {	/* nothing that is known leads there */
		if (caller->unsure)
			give_up(body);
		return;
	}
	if (caller->ops[i].kind == TRAMP_OP_CALL && caller->ops[i].to == site->to)
		add_call(k, body, caller, i, depth);
	else if (caller != body)
		add_callers_callers(k, body, caller, KEEP_ALL, true, depth);
}

/* In a cycle of callers, what is known so far; the rest is added where the cycle was entered. */
static void rely(struct keep_calls *k, struct keep_body *body, unsigned int depth)
{
	const struct tramp_site *sites;
	size_t n;

	tramp_keep_reach(k, body);
	if (body->rely != KEEP_NEW || body->reaches_open)
		return;
	body->rely = KEEP_BUSY;
	n = tramp_code_sites(k->code, k->code->facts->fns[body->fn].addr, &sites);
	if (depth > CALLERS_DEEP)
		give_up(body);
	else
		for (size_t i = 0; i < n && !k->no_memory; i++)
			look_at_site(k, body, &sites[i], depth);
	body->incomplete |= body->cut && (body->relied & ~body->clobbers) != 0;
	body->relied &= ~body->clobbers;
	body->rely = KEEP_DONE;
}

/* ---- stack arguments ---- */

static void note_argument(struct tramp_keep *keep, int64_t offset)
{
	if (offset < RETURN_ADDRESS)
		return;
	keep->stack_args = true;
	if (offset >= RETURN_ADDRESS + TRAMP_KEEP_WORDS * 8)
		keep->far_stack_args = true;
}

static void note_operand(struct tramp_keep *keep, const struct flow_insn *insn, const uint8_t *bytes,
			 const struct flow_stack *stack)
{
	const struct flow_level *base = insn->base == TRAMP_RSP ? &stack->rsp : &stack->rbp;
	bool moves = insn->shape == FLOW_LEA && insn->reg == TRAMP_RSP;

	if (!insn->memory || insn->rip || moves ||
	    (insn->base != TRAMP_RSP && (insn->base != TRAMP_RBP || !stack->has_rbp)))
		return;
	if (base->height == FLOW_HEIGHT_UNKNOWN) {
		/* below an array, or aligned: arguments are reached by rbp there */
		keep->stack_args |= base == &stack->rbp;
		return;
	}
	note_argument(keep, tramp_flow_field(bytes, insn->disp_at, insn->disp_len) - base->height);
}

static void note_stack_args(struct keep_calls *k, struct keep_body *body, struct tramp_keep *keep)
{
	struct flow_insn insn;
	const uint8_t *bytes;

	if (!tramp_keep_build(k, body) || !tramp_keep_stacks(k, body)) {
		keep->stack_args = true;
		return;
	}
	for (uint32_t i = 0; i < body->nblocks; i++) {
		const struct keep_block *b = &body->blocks[i];
		struct flow_stack stack = b->stack;

		for (uint32_t op = b->op; b->reached && op < b->op + b->nops; op++) {
			if (!tramp_keep_insn(k, &body->ops[op], &insn, &bytes))
				continue;
			note_operand(keep, &insn, bytes, &stack);
			tramp_flow_stack(&stack, &insn, bytes);
		}
	}
}

/* ---- */

static void translate(const struct keep_body *body, struct tramp_keep *keep)
{
	keep->gpr = body->relied & TRAMP_GPRS;
	keep->xmm = (body->relied & TRAMP_XMMS) >> TRAMP_XMM;
	keep->wide = (body->relied & TRAMP_VECTORS & ~TRAMP_XMMS) != 0;
	keep->align = body->misaligned;
	keep->incomplete = body->incomplete;
}

/* Nothing is known of its callers. */
static void keep_everything(struct tramp_keep *keep)
{
	*keep = (struct tramp_keep){
		.gpr = KEEP_ALL & TRAMP_GPRS, .xmm = 0xffff, .wide = true, .align = true,
		.stack_args = true, .incomplete = true,
	};
}

static void analyze(struct keep_calls *k, uint64_t target, struct tramp_keep *keep)
{
	struct keep_body *body = tramp_keep_body(k, target);

	if (!body || k->code->facts->fns[body->fn].addr != target) {
		keep_everything(keep);
		return;
	}
	rely(k, body, 0);
	translate(body, keep);
	if (tramp_keep_needed(keep))
		note_stack_args(k, body, keep);
}

bool tramp_keep_analyze(const struct tramp_code *code, const uint64_t *targets, size_t ntargets,
			struct tramp_keep *keeps)
{
	struct keep_calls k;
	bool ok = tramp_keep_open(&k, code);

	memset(keeps, 0, ntargets * sizeof(*keeps));
	for (size_t i = 0; ok && i < ntargets; i++) {
		analyze(&k, targets[i], &keeps[i]);
		ok = !k.no_memory;
	}
	tramp_keep_close(&k);
	return ok;
}

bool tramp_keep_possible(const struct tramp_keep *keep, const char **reason)
{
	*reason = NULL;
	if (keep->wide)
		*reason = "its callers keep wide vectors or mask registers over the call";
	else if (keep->gpr & TRAMP_KEEP_R11)
		*reason = "its callers keep a value in r11 over the call";
	else if (tramp_keep_needed(keep) && keep->far_stack_args)
		*reason = "its callers rely on its registers, and it has many stack arguments";
	return !*reason;
}
