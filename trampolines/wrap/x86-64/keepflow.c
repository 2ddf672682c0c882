// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Backward liveness, with what a compiler can have meant at calls to code that is not known.
 *
 * Such a call reads its arguments, but nobody says how many. Registers that hold something on
 * purpose are those written since the last call that clobbered them, and those in which the
 * function's own arguments came: the *defined* ones. Of the defined ones, a call gets those that
 * are first in the order of arguments, up to one that is not defined. Return values likewise, but
 * there arguments of the function itself do not count.
 *
 * The set `defined` uses the lower part of a register for the one meaning, its upper part for the
 * other.
 */
#include "trampolines/wrap/x86-64/keepflow.h"

#include <stdlib.h>

#include "trampolines/wrap/x86-64/keeparity.h"

enum {
	OPS_MAX = 1 << 16,
	SWEEPS_MAX = 200,
	DEPTH_MAX = 4,		/* calls followed into each other */
	ALIGNMENT = 16,
	AT_ENTRY = 8,		/* rsp modulo 16 there */
};

/* In `defined`: xmm0 may hold a result. */
#define MAYBE_RESULT (1ull << 61)

static const uint8_t syscall_order[KEEP_GPR_ARGS] = {
	KEEP_DI, KEEP_SI, KEEP_DX, KEEP_10, KEEP_8, KEEP_9
};

void tramp_keep_region_free(struct keep_region *region)
{
	if (!region)
		return;
	free(region->jumps);
	free(region->use);
	free(region->def);
	free(region->live);
	free(region->through);
	free(region->defined);
	free(region->heights);
	free(region);
}

static size_t part_of(const struct keep_region *region, size_t i)
{
	size_t part = 0;

	while (part + 1 < region->nparts && region->base[part + 1] <= i)
		part++;
	return part;
}

const struct keep_op *tramp_keep_op(const struct keep_code *code, const struct keep_region *region,
				    size_t i)
{
	size_t part = part_of(region, i);

	return &code->bodies[region->parts[part]].ops[i - region->base[part]];
}

/* The op behind it, or -1. */
static int64_t next_of(const struct keep_region *region, size_t i)
{
	size_t part = part_of(region, i);

	return i + 1 < region->base[part + 1] ? (int64_t)i + 1 : -1;
}

static bool is_jump(const struct keep_op *op)
{
	return op->flow == KEEP_JMP || op->flow == KEEP_JCC;
}

static bool has_part(const struct keep_region *region, size_t index)
{
	for (size_t i = 0; i < region->nparts; i++) {
		if (region->parts[i] == index)
			return true;
	}
	return false;
}

static void add_part(struct keep_code *code, struct keep_region *region, size_t index)
{
	struct keep_body *body = &code->bodies[index];

	if (has_part(region, index))
		return;
	if (region->nparts == KEEP_PARTS_MAX || !tramp_keep_decode(code, body) ||
	    (region->nparts && region->nops + body->nops > OPS_MAX))
		return;		/* a jump out of the region then */
	region->parts[region->nparts++] = index;
	region->nops += body->nops;
	region->base[region->nparts] = region->nops;
}

static void add_parts(struct keep_code *code, struct keep_region *region)
{
	for (size_t part = 0; part < region->nparts; part++) {
		const struct keep_body *body = &code->bodies[region->parts[part]];

		for (size_t i = 0; i < body->nops; i++) {
			const struct keep_op *op = &body->ops[i];
			size_t to;

			if (!is_jump(op) || op->target - body->addr < body->size)
				continue;
			to = tramp_keep_target(code, op->target);
			if (to != KEEP_NOWHERE)
				add_part(code, region, to);
		}
	}
}

static int32_t find_op(const struct keep_code *code, const struct keep_region *region,
		       uint64_t addr)
{
	for (size_t part = 0; part < region->nparts; part++) {
		const struct keep_body *body = &code->bodies[region->parts[part]];
		size_t i = tramp_keep_op_at(body, addr);

		if (i != KEEP_NOWHERE && body->addr + body->ops[i].at == addr)
			return (int32_t)(region->base[part] + i);
	}
	return -1;
}

static bool allocate(struct keep_region *region)
{
	size_t n = region->nops;

	region->jumps = calloc(n, sizeof(*region->jumps));
	region->use = calloc(n, sizeof(*region->use));
	region->def = calloc(n, sizeof(*region->def));
	region->live = calloc(n, sizeof(*region->live));
	region->through = calloc(n, sizeof(*region->through));
	region->defined = calloc(n, sizeof(*region->defined));
	return region->jumps && region->use && region->def && region->live && region->through &&
	       region->defined;
}

/* An outside call's arguments are added later, when it is known what is defined. */
static void note_call(struct keep_code *code, struct keep_region *region, size_t i, size_t callee)
{
	struct keep_body *body = callee == KEEP_NOWHERE ? NULL : &code->bodies[callee];
	const struct keep_region *inner;

	region->def[i] = KEEP_ALL;
	if (!body)
		return;
	tramp_keep_reach(code, body);
	region->def[i] = body->clobbers;
	/* Of a variable number of arguments, the callee's prologue saves all that there could be. */
	if (!tramp_keep_decode(code, body) || body->variadic)
		return;
	inner = tramp_keep_flow(code, body);
	if (inner && !inner->incomplete) {
		region->use[i] |= inner->live[0] & tramp_keep_arity(code, body->addr);
		region->jumps[i] = 0;		/* mark: arguments known */
	}
}

static void note_ops(struct keep_code *code, struct keep_region *region)
{
	for (size_t i = 0; i < region->nops; i++) {
		const struct keep_op *op = tramp_keep_op(code, region, i);

		region->use[i] = op->use;
		region->def[i] = op->def;
		region->jumps[i] = -1;
		if (is_jump(op))
			region->jumps[i] = find_op(code, region, op->target);
		else if (op->flow == KEEP_CALL)
			note_call(code, region, i, tramp_keep_target(code, op->target));
		else if (op->flow == KEEP_CALL_OUT)
			region->def[i] = KEEP_ALL;
	}
}

/* A failed check of the stack protector reads no registers; what follows is a call without end. */
static bool leads_to_failure(const struct keep_code *code, const struct keep_region *region,
			     size_t from, int64_t to)
{
	const struct keep_op *op;

	if (from == 0 || to < 0 || !tramp_keep_op(code, region, from - 1)->canary)
		return false;
	for (int skipped = 0; skipped < 4; skipped++) {
		op = tramp_keep_op(code, region, (size_t)to);
		if (op->flow == KEEP_CALL || op->flow == KEEP_CALL_OUT)
			return true;
		to = next_of(region, (size_t)to);
		if (op->flow != KEEP_NEXT || op->touched || op->use || op->stack || to < 0)
			return false;
	}
	return false;
}

/* Where an op goes on: at most behind itself and at a jump's target; tables apart. */
static int successors(const struct keep_code *code, const struct keep_region *region, size_t i,
		      size_t to[2])
{
	const struct keep_op *op = tramp_keep_op(code, region, i);
	int64_t next = next_of(region, i), jump = is_jump(op) ? region->jumps[i] : -1;
	int n = 0;

	switch (op->flow) {
	case KEEP_NEXT:
	case KEEP_CALL:
	case KEEP_CALL_OUT:
	case KEEP_SYSCALL:
	case KEEP_BAD:
		break;
	case KEEP_JCC:
		if (leads_to_failure(code, region, i, next))
			next = -1;
		else if (leads_to_failure(code, region, i, jump))
			jump = -1;
		break;
	default:
		next = -1;
	}
	if (next >= 0)
		to[n++] = (size_t)next;
	if (jump >= 0)
		to[n++] = (size_t)jump;
	return n;
}

/*
 * The function's own arguments. Vectors only where its callers are known: the few functions that
 * hand one on untouched are not worth taking all others for such.
 */
static keep_regs defined_at_entry(struct keep_code *code, const struct keep_body *body)
{
	keep_regs arity = tramp_keep_arity(code, body->addr), regs = 0;

	for (int i = 0; i < KEEP_GPR_ARGS; i++)
		regs |= KEEP_LOW(tramp_keep_call_order[i]);
	for (int i = 0; arity != KEEP_ALL && i < KEEP_XMM_ARGS; i++)
		regs |= KEEP_XMM(i);
	return regs & arity;
}

/* Registers of which a part is in the set: all their parts. */
static keep_regs whole(keep_regs regs)
{
	keep_regs gprs = (regs | regs >> 9 | regs >> 18) & 0x1ff;
	keep_regs vectors = (regs >> 27 | regs >> 43) & 0xffff;

	return gprs | gprs << 9 | gprs << 18 | vectors << 27 | vectors << 43 |
	       (regs & (KEEP_HIVEC | KEEP_MASKS));
}

keep_regs tramp_keep_defined(const struct keep_region *region, size_t i)
{
	keep_regs defined = region->defined[i];
	keep_regs vectors = KEEP_XMM(0) | KEEP_XMM(1);

	return whole(defined & KEEP_ALL) | (defined & MAYBE_RESULT ? whole(vectors) : 0);
}

/*
 * Behind a call, its results. A call that is not known leaves something in rax nearly always, but
 * seldom in xmm0: that counts only where an instruction reads it.
 */
static keep_regs defined_by_call(const struct keep_region *region, size_t i)
{
	keep_regs in = region->defined[i], touched = region->def[i];
	keep_regs results = KEEP_HIGH(KEEP_AX) | KEEP_HIGH(KEEP_DX);

	if (touched == KEEP_ALL)
		return results | MAYBE_RESULT;
	if (touched & KEEP_XMM(0))
		in &= ~MAYBE_RESULT;
	results |= KEEP_XMM(0) | KEEP_UPPER(0) | KEEP_XMM(1) | KEEP_UPPER(1);
	return (in & ~whole(touched)) | (results & whole(touched));
}

static keep_regs defined_behind(const struct keep_region *region, const struct keep_op *op,
				size_t i)
{
	if (op->flow == KEEP_CALL || op->flow == KEEP_CALL_OUT)
		return defined_by_call(region, i);
	return region->defined[i] | whole(op->touched);
}

/* Add to the sets in front of what follows op i; true if one grew. */
static bool push_defined(const struct keep_code *code, struct keep_region *region, size_t i)
{
	const struct keep_op *op = tramp_keep_op(code, region, i);
	keep_regs out = defined_behind(region, op, i);
	bool grew = false;
	size_t to[2];
	int n = successors(code, region, i, to);

	for (int k = 0; k < n; k++) {
		grew |= (out & ~region->defined[to[k]]) != 0;
		region->defined[to[k]] |= out;
	}
	return grew;
}

static keep_regs over_tables(const struct keep_code *code, const struct keep_region *region,
			     const keep_regs *sets, bool from_leaders)
{
	keep_regs regs = 0;

	for (size_t i = 0; i < region->nops; i++) {
		const struct keep_op *op = tramp_keep_op(code, region, i);

		if (from_leaders ? op->leader : op->flow == KEEP_JMP_TABLE)
			regs |= sets[i];
	}
	return regs;
}

static bool push_tables(const struct keep_code *code, struct keep_region *region)
{
	keep_regs out = over_tables(code, region, region->defined, false);
	bool grew = false;

	for (size_t i = 0; out && i < region->nops; i++) {
		if (!tramp_keep_op(code, region, i)->leader)
			continue;
		grew |= (out & ~region->defined[i]) != 0;
		region->defined[i] |= out;
	}
	return grew;
}

static void find_defined(struct keep_code *code, struct keep_region *region)
{
	bool grew = true;

	region->defined[0] = defined_at_entry(code, &code->bodies[region->parts[0]]);
	for (int sweep = 0; grew; sweep++) {
		if (sweep == SWEEPS_MAX) {
			region->incomplete = true;
			return;
		}
		grew = false;
		for (size_t i = 0; i < region->nops; i++)
			grew |= push_defined(code, region, i);
		grew |= push_tables(code, region);
	}
}

/* The second registers of pairs, rdx and xmm1, are much more often left from something else. */
static keep_regs results(keep_regs defined)
{
	return (defined & KEEP_HIGH(KEEP_AX) ? KEEP_GPR(KEEP_AX) : 0) |
	       (defined & KEEP_UPPER(0) ? KEEP_XMM(0) : 0);
}

/* A call or jump to code that is not known, or that could not be followed. */
static keep_regs guessed_arguments(struct keep_code *code, const struct keep_region *region,
				   const struct keep_op *op, size_t i)
{
	keep_regs regs = tramp_keep_arguments(region->defined[i], tramp_keep_call_order,
					      KEEP_XMM_ARGS);

	return op->target ? regs & tramp_keep_arity(code, op->target) : regs;
}

/* What the op may read, going by what is defined. */
static keep_regs guessed_use(struct keep_code *code, const struct keep_region *region,
			     const struct keep_op *op, size_t i)
{
	switch (op->flow) {
	case KEEP_CALL:
	case KEEP_JMP:
	case KEEP_JCC:
		if (region->jumps[i] >= 0)
			return 0;
		return guessed_arguments(code, region, op, i);
	case KEEP_CALL_OUT:
	case KEEP_JMP_OUT:
		return guessed_arguments(code, region, op, i);
	case KEEP_SYSCALL:
		return tramp_keep_arguments(region->defined[i], syscall_order, 0);
	case KEEP_RET:
		return results(region->defined[i]);
	default:
		return 0;
	}
}

static bool pull(const struct keep_code *code, struct keep_region *region, size_t i,
		 keep_regs live_tables, keep_regs through_tables)
{
	const struct keep_op *op = tramp_keep_op(code, region, i);
	bool table = op->flow == KEEP_JMP_TABLE;
	keep_regs live = table ? live_tables : 0, through = table ? through_tables : 0;
	size_t to[2];
	int n = successors(code, region, i, to);

	for (int k = 0; k < n; k++) {
		live |= region->live[to[k]];
		through |= region->through[to[k]];
	}
	if (op->flow == KEEP_RET || (is_jump(op) && region->jumps[i] < 0))
		through |= KEEP_ALL;
	live = region->use[i] | (live & ~region->def[i]);
	through &= ~(region->def[i] | op->touched);
	if (live == region->live[i] && through == region->through[i])
		return false;
	region->live[i] = live;
	region->through[i] = through;
	return true;
}

static void find_live(struct keep_code *code, struct keep_region *region)
{
	bool grew = true;

	for (size_t i = 0; i < region->nops; i++)
		region->use[i] |= guessed_use(code, region, tramp_keep_op(code, region, i), i);
	for (int sweep = 0; grew; sweep++) {
		keep_regs live = over_tables(code, region, region->live, true);
		keep_regs through = over_tables(code, region, region->through, true);

		if (sweep == SWEEPS_MAX) {
			region->incomplete = true;
			return;
		}
		grew = false;
		for (size_t i = region->nops; i-- > 0;)
			grew |= pull(code, region, i, live, through);
	}
}

static struct keep_region *make_region(struct keep_code *code, struct keep_body *body)
{
	struct keep_region *region;

	if (!tramp_keep_decode(code, body))
		return NULL;
	region = calloc(1, sizeof(*region));
	if (!region) {
		code->no_memory = true;
		return NULL;
	}
	add_part(code, region, (size_t)(body - code->bodies));
	add_parts(code, region);
	if (region->nops == 0 || !allocate(region)) {
		code->no_memory |= region->nops != 0;
		tramp_keep_region_free(region);
		return NULL;
	}
	note_ops(code, region);
	find_defined(code, region);
	find_live(code, region);
	return region;
}

const struct keep_region *tramp_keep_flow(struct keep_code *code, struct keep_body *body)
{
	if (body->flow == KEEP_DONE)
		return body->region;
	if (body->flow == KEEP_BUSY || code->depth >= DEPTH_MAX)
		return NULL;
	body->flow = KEEP_BUSY;
	code->depth++;
	body->region = make_region(code, body);
	code->depth--;
	body->flow = KEEP_DONE;
	return body->region;
}

static struct keep_height height_behind(const struct keep_op *op, struct keep_height h)
{
	switch (op->stack) {
	case KEEP_STACK_MOVE:
		h.depth = (int32_t)((uint32_t)h.depth - (uint32_t)op->amount);
		h.mod = (int8_t)((h.mod + (op->amount & 15)) & 15);
		break;
	case KEEP_STACK_ALIGN:
		h.mod = 0;
		h.certain = true;
		break;
	case KEEP_STACK_TO_RBP:
		h.has_rbp = true;
		h.rbp = (int32_t)((uint32_t)h.depth - (uint32_t)op->amount);
		h.rbp_mod = (int8_t)((h.mod + (op->amount & 15)) & 15);
		h.rbp_certain = h.certain;
		break;
	case KEEP_STACK_FROM_RBP:
		if (!h.has_rbp)
			break;
		h.depth = (int32_t)((uint32_t)h.rbp - (uint32_t)op->amount);
		h.mod = (int8_t)((h.rbp_mod + (op->amount & 15)) & 15);
		h.certain = h.rbp_certain;
		break;
	case KEEP_STACK_POP_RBP:
		h.depth = (int32_t)((uint32_t)h.depth - 8);
		h.mod = (h.mod + 8) & 15;
		h.has_rbp = false;
		break;
	case KEEP_STACK_NO_RBP:
		h.has_rbp = false;
		break;
	default:
		break;
	}
	return h;
}

static void reach_height(struct keep_region *region, size_t i, struct keep_height h,
			 size_t *stack, size_t *n)
{
	if (region->heights[i].seen)
		return;
	h.seen = true;
	region->heights[i] = h;
	stack[(*n)++] = i;
}

static void walk_heights(const struct keep_code *code, struct keep_region *region, size_t *stack)
{
	struct keep_height entry = { .mod = AT_ENTRY };
	size_t n = 0;

	reach_height(region, 0, entry, stack, &n);
	while (n) {
		size_t i = stack[--n], to[2];
		const struct keep_op *op = tramp_keep_op(code, region, i);
		struct keep_height h = height_behind(op, region->heights[i]);
		int count = successors(code, region, i, to);

		for (int k = 0; k < count; k++)
			reach_height(region, to[k], h, stack, &n);
		if (op->flow != KEEP_JMP_TABLE)
			continue;
		for (size_t k = 0; k < region->nops; k++) {
			if (tramp_keep_op(code, region, k)->leader)
				reach_height(region, k, h, stack, &n);
		}
	}
}

bool tramp_keep_heights(struct keep_code *code, struct keep_region *region)
{
	size_t *stack;

	if (region->heights)
		return true;
	stack = calloc(region->nops, sizeof(*stack));
	region->heights = calloc(region->nops, sizeof(*region->heights));
	if (stack && region->heights)
		walk_heights(code, region, stack);
	else
		code->no_memory = true;
	free(stack);
	return !code->no_memory;
}
