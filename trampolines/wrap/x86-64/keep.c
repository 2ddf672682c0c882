// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What is relied on of a function: at each place that calls it, what is read behind the call, and,
 * for what stays untouched up to the caller's return, what is relied on of the caller.
 */
#include "trampolines/wrap/keep.h"

#include <stdlib.h>
#include <string.h>

#include "trampolines/wrap/x86-64/keepbody.h"
#include "trampolines/wrap/x86-64/keepflow.h"

enum {
	CALLERS_DEEP = 32,	/* callers of callers followed */
	SHORT_REACH = 128,
	RETURN_ADDRESS = 8,
};

static void rely(struct keep_code *code, struct keep_body *body, unsigned int depth);

static void give_up(struct keep_body *body)
{
	body->relied = ~body->clobbers & KEEP_ALL;
	body->misaligned = true;
	body->incomplete = true;
}

static void add_callers_callers(struct keep_code *code, struct keep_body *body,
				struct keep_body *caller, keep_regs through, bool alignment,
				unsigned int depth)
{
	tramp_keep_reach(code, caller);
	if (caller->reaches_open || caller == body)
		return;
	if (!alignment && (through & ~caller->clobbers) == 0)
		return;
	rely(code, caller, depth + 1);
	body->relied |= caller->relied & through;
	body->misaligned |= caller->misaligned && alignment;
	body->incomplete |= caller->incomplete;
}

/* The call or jump with index i in `caller` goes to `body`. */
static void add_site(struct keep_code *code, struct keep_body *body, struct keep_body *caller,
		     size_t i, unsigned int depth)
{
	struct keep_region *region;

	if (caller->ops[i].flow != KEEP_CALL) {
		add_callers_callers(code, body, caller, KEEP_ALL, true, depth);
		return;
	}
	code->depth = 0;
	tramp_keep_flow(code, caller);
	region = caller->region;
	if (!region || region->incomplete || !tramp_keep_heights(code, region)) {
		give_up(body);
		return;
	}
	body->misaligned |= region->heights[i].seen && region->heights[i].mod != 0;
	if (i + 1 < caller->nops)
		body->relied |= region->live[i + 1] & tramp_keep_defined(region, i);
	add_callers_callers(code, body, caller, i + 1 < caller->nops ? region->through[i + 1] : 0,
			    region->heights[i].seen && !region->heights[i].certain, depth);
}

/* The bytes at `from` may be a branch to `body`. */
static void look_at_site(struct keep_code *code, struct keep_body *body, uint64_t from,
			 unsigned int depth)
{
	size_t index = tramp_keep_enclosing(code, from), i;
	struct keep_body *caller;

	if (index == KEEP_NOWHERE) {
		give_up(body);
		return;
	}
	caller = &code->bodies[index];
	if (!tramp_keep_decode(code, caller)) {
		give_up(body);
		return;
	}
	i = tramp_keep_op_at(caller, from);
	if (i == KEEP_NOWHERE || caller->ops[i].target != body->addr)
		return;
	if (caller == body && caller->ops[i].flow != KEEP_CALL)
		return;		/* a loop */
	add_site(code, body, caller, i, depth);
}

static bool is_short_jump(uint8_t opcode)
{
	return (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb;
}

/* Neighbours can jump there with 8 bits of displacement. */
static void look_nearby(struct keep_code *code, struct keep_body *body, unsigned int depth)
{
	const struct tramp_object *object = code->object;
	size_t at = (size_t)(body->addr - object->addr);
	size_t last = at + SHORT_REACH < object->len ? at + SHORT_REACH : object->len;
	size_t own = at + (size_t)body->size;

	for (size_t i = at > SHORT_REACH + 2 ? at - SHORT_REACH - 2 : 0; i + 1 < last; i++) {
		if (i >= at && i < own)
			continue;
		if (is_short_jump(object->code[i]) &&
		    i + 2 + (size_t)(ptrdiff_t)(int8_t)object->code[i + 1] == at)
			look_at_site(code, body, object->addr + i, depth);
	}
}

static void look_at_sites(struct keep_code *code, struct keep_body *body, unsigned int depth)
{
	const struct keep_sites *sites = &code->sites;

	for (size_t i = tramp_keep_sites_first(sites, body->addr);
	     i < sites->n && sites->sites[i].to == body->addr && !code->no_memory; i++)
		look_at_site(code, body, sites->sites[i].from, depth);
	look_nearby(code, body, depth);
}

/* In a cycle of callers, what is known so far; the rest is added where the cycle was entered. */
static void rely(struct keep_code *code, struct keep_body *body, unsigned int depth)
{
	tramp_keep_reach(code, body);
	if (body->rely != KEEP_NEW || body->reaches_open)
		return;
	body->rely = KEEP_BUSY;
	if (depth > CALLERS_DEEP)
		give_up(body);
	else if (tramp_keep_have_sites(code))
		look_at_sites(code, body, depth);
	body->incomplete |= body->cut && (body->relied & ~body->clobbers) != 0;
	body->relied &= ~body->clobbers;
	body->rely = KEEP_DONE;
}

static void note_argument(struct tramp_keep *keep, int64_t offset)
{
	if (offset < RETURN_ADDRESS)
		return;
	keep->stack_args = true;
	if (offset >= RETURN_ADDRESS + TRAMP_KEEP_WORDS * 8)
		keep->far_stack_args = true;
}

static void note_stack_args(struct keep_code *code, struct keep_body *body,
			    struct tramp_keep *keep)
{
	struct keep_region *region;

	code->depth = 0;
	tramp_keep_flow(code, body);
	region = body->region;
	if (!region || region->incomplete || !tramp_keep_heights(code, region)) {
		keep->stack_args = true;
		return;
	}
	for (size_t i = 0; i < region->nops; i++) {
		const struct keep_op *op = tramp_keep_op(code, region, i);
		const struct keep_height *h = &region->heights[i];

		if (!h->seen || op->flow == KEEP_RET)
			continue;
		if (op->base == KEEP_BASE_RSP)
			note_argument(keep, (int64_t)op->disp - h->depth);
		else if (op->base == KEEP_BASE_RBP && h->has_rbp)
			note_argument(keep, (int64_t)op->disp - h->rbp);
	}
}

static void translate(const struct keep_body *body, struct tramp_keep *keep)
{
	static const uint8_t numbers[KEEP_NGPR] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };

	for (int i = 0; i < KEEP_NGPR; i++) {
		if (body->relied & KEEP_GPR(i))
			keep->gpr |= 1u << numbers[i];
	}
	for (int i = 0; i < 16; i++) {
		if (body->relied & KEEP_XMM(i))
			keep->xmm |= 1u << i;
	}
	keep->wide = (body->relied & (KEEP_UPPERS | KEEP_HIVEC | KEEP_MASKS)) != 0;
	keep->align = body->misaligned;
	keep->incomplete = body->incomplete;
}

static void analyze(struct keep_code *code, uint64_t target, struct tramp_keep *keep)
{
	size_t index = tramp_keep_enclosing(code, target);
	struct keep_body *body;

	if (index == KEEP_NOWHERE || code->bodies[index].addr != target)
		return;
	body = &code->bodies[index];
	rely(code, body, 0);
	translate(body, keep);
	if (tramp_keep_needed(keep))
		note_stack_args(code, body, keep);
}

bool tramp_keep_analyze(const struct tramp_object *object, const uint64_t *targets,
			size_t ntargets, struct tramp_keep *keeps)
{
	struct keep_code code;
	bool ok = tramp_keep_open(&code, object, targets, ntargets);

	memset(keeps, 0, ntargets * sizeof(*keeps));
	for (size_t i = 0; ok && i < ntargets; i++) {
		analyze(&code, targets[i], &keeps[i]);
		ok = !code.no_memory;
	}
	tramp_keep_close(&code);
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
