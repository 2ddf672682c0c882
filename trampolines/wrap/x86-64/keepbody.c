// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/wrap/x86-64/keepbody.h"

#include <stdlib.h>
#include <string.h>

#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/wrap/x86-64/keepflow.h"

enum {
	BODY_MAX = 1 << 20,	/* bytes */
	TREE_MAX = 256,		/* functions that one function calls, in all */
	OVERLAPS_MAX = 8,
	PROLOGUE_MAX = 64,	/* instructions */
	OPS_PER_BYTE = 2,	/* decoded at most, whatever overlaps */
	OPS_FREE = 4096,
};

static int by_address(const void *left, const void *right)
{
	const struct keep_body *a = left, *b = right;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->size > b->size ? -1 : a->size < b->size;	/* the longest first */
}

static void add_body(struct keep_code *code, uint64_t addr, uint64_t size)
{
	uint64_t room = code->object->len - (addr - code->object->addr);

	if (addr - code->object->addr >= code->object->len)
		return;
	code->bodies[code->nbodies++] = (struct keep_body){
		.addr = addr, .size = size < room ? size : room, .size_guessed = size == 0,
	};
}

static void drop_doubles(struct keep_code *code)
{
	size_t kept = 0;

	for (size_t i = 0; i < code->nbodies; i++) {
		if (kept == 0 || code->bodies[kept - 1].addr != code->bodies[i].addr)
			code->bodies[kept++] = code->bodies[i];
	}
	code->nbodies = kept;
}

static void guess_sizes(struct keep_code *code)
{
	uint64_t end = code->object->addr + code->object->len;

	for (size_t i = code->nbodies; i-- > 0; end = code->bodies[i].addr) {
		if (code->bodies[i].size_guessed)
			code->bodies[i].size = end - code->bodies[i].addr;
	}
}

bool tramp_keep_open(struct keep_code *code, const struct tramp_object *object,
		     const uint64_t *targets, size_t ntargets)
{
	*code = (struct keep_code){
		.object = object, .budget = object->len * OPS_PER_BYTE + OPS_FREE,
	};
	code->bodies = calloc(object->nfunctions + ntargets + 1, sizeof(*code->bodies));
	code->queue = calloc(TREE_MAX, sizeof(*code->queue));
	if (!code->bodies || !code->queue)
		return false;
	for (size_t i = 0; i < object->nfunctions; i++)
		add_body(code, object->functions[i].addr, object->functions[i].size);
	for (size_t i = 0; i < ntargets; i++)
		add_body(code, targets[i], 0);
	qsort(code->bodies, code->nbodies, sizeof(*code->bodies), by_address);
	drop_doubles(code);
	guess_sizes(code);
	return true;
}

void tramp_keep_close(struct keep_code *code)
{
	for (size_t i = 0; code->bodies && i < code->nbodies; i++) {
		tramp_keep_region_free(code->bodies[i].region);
		free(code->bodies[i].ops);
	}
	if (code->has_sites)
		tramp_keep_sites_free(&code->sites);
	free(code->bodies);
	free(code->queue);
	free(code->arities);
}

size_t tramp_keep_enclosing(const struct keep_code *code, uint64_t addr)
{
	size_t low = 0, high = code->nbodies;

	while (low < high) {	/* the first body behind it */
		size_t mid = low + (high - low) / 2;

		if (code->bodies[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t back = 1; back <= low && back <= OVERLAPS_MAX; back++) {
		const struct keep_body *body = &code->bodies[low - back];

		if (addr - body->addr < body->size || addr == body->addr)
			return low - back;
	}
	return KEEP_NOWHERE;
}

size_t tramp_keep_target(const struct keep_code *code, uint64_t addr)
{
	if (addr - code->object->addr >= code->object->len || tramp_keep_is_plt(code->object, addr))
		return KEEP_NOWHERE;
	return tramp_keep_enclosing(code, addr);
}

static bool leaves_known_code(const struct keep_code *code, const struct keep_body *body,
			      const struct tramp_decoded *insn, uint64_t end)
{
	uint64_t target = end + (uint64_t)(int64_t)insn->rel;

	switch (insn->flow) {
	case FLOW_CALL_IND:
		return true;
	case FLOW_JMP_IND:
		return insn->rip_relative;
	case FLOW_CALL:
	case FLOW_JMP:
	case FLOW_JCC:
		return target - body->addr >= body->size &&
		       tramp_keep_target(code, target) == KEEP_NOWHERE;
	default:
		return false;
	}
}

/* Most functions call something unknown soon: no need to look at their operands. */
static bool scan_open(const struct keep_code *code, const struct keep_body *body)
{
	const uint8_t *bytes = code->object->code + (body->addr - code->object->addr);
	struct tramp_decoded insn;

	if (body->size_guessed)
		return false;
	for (size_t at = 0; at < body->size; at += insn.length) {
		if (!tramp_decode(bytes + at, body->size - at, &insn) ||
		    leaves_known_code(code, body, &insn, body->addr + at + insn.length))
			return true;
	}
	return false;
}

/* Without a size, a function ends behind a jump or return that no branch passes over. */
static bool ends_guessed(const struct keep_op *op, size_t end, size_t *furthest, size_t limit,
			 uint64_t addr)
{
	if (op->flow == KEEP_JCC || op->flow == KEEP_JMP) {
		uint64_t to = op->target - addr;

		if (to > *furthest && to < limit)
			*furthest = (size_t)to;
	}
	if (op->flow != KEEP_JMP && op->flow != KEEP_RET && op->flow != KEEP_STOP &&
	    op->flow != KEEP_JMP_OUT)
		return false;
	return *furthest < end;
}

static bool grow(struct keep_body *body, size_t *room)
{
	void *ops;

	*room = *room ? *room * 2 : body->size / 4 + 8;
	ops = reallocarray(body->ops, *room, sizeof(*body->ops));
	if (!ops)
		return false;
	body->ops = ops;
	return true;
}

static bool decode_all(struct keep_code *code, struct keep_body *body)
{
	const uint8_t *bytes = code->object->code + (body->addr - code->object->addr);
	size_t room = 0, furthest = 0, size = body->size;
	uint32_t tables = 0;

	for (size_t at = 0; at < size;) {
		struct keep_op *op;

		if (body->nops == room && !grow(body, &room)) {
			code->no_memory = true;
			return false;
		}
		if (code->budget == 0)
			return false;
		code->budget--;
		op = &body->ops[body->nops++];
		tramp_keep_insn(bytes + at, size - at, body->addr + at, &tables, op);
		op->at = (uint32_t)at;
		at += op->length;
		if (body->size_guessed && ends_guessed(op, at, &furthest, size, body->addr))
			body->size = size = at;
	}
	return true;
}

static bool is_store(const struct keep_op *op)
{
	return op->flow == KEEP_NEXT && !op->touched && op->base != KEEP_BASE_OTHER;
}

/*
 * Reads that mean nothing. In a prologue, which lasts to the first branch for certain, push of any
 * register is the shortest way to move the stack pointer by 8. A function with a variable number
 * of arguments saves all the registers that could hold some.
 */
static void drop_idle_reads(struct keep_body *body)
{
	bool prologue = true;

	for (size_t i = 0; i < body->nops && i < PROLOGUE_MAX; i++) {
		struct keep_op *op = &body->ops[i];

		if ((op->push && prologue) || (is_store(op) && body->variadic))
			op->use = 0;
		prologue &= op->flow == KEEP_NEXT;
		if (op->flow == KEEP_CALL || op->flow == KEEP_CALL_OUT)
			return;
	}
}

static void look_over(struct keep_body *body)
{
	bool before_call = true;

	for (size_t i = 0; i < body->nops; i++) {
		const struct keep_op *op = &body->ops[i];

		body->touched |= op->touched;
		if (op->variadic && before_call && i < PROLOGUE_MAX)
			body->variadic = true;
		before_call &= op->flow != KEEP_CALL && op->flow != KEEP_CALL_OUT;
	}
	drop_idle_reads(body);
}

static bool never_goes_on(const struct keep_op *op)
{
	return op->flow == KEEP_JMP || op->flow == KEEP_JMP_TABLE || op->flow == KEEP_JMP_OUT ||
	       op->flow == KEEP_RET || op->flow == KEEP_STOP;
}

/*
 * Where a jump through a table may lead: to what is reached in no other way. A case that another
 * one falls through to, or that is jumped to, is reached through these, too.
 */
static void note_leaders(struct keep_body *body)
{
	bool gap = false;

	for (size_t i = 0; i < body->nops; i++) {
		struct keep_op *op = &body->ops[i];

		if (gap && (op->touched || op->use || op->stack || op->flow != KEEP_NEXT)) {
			op->leader = true;
			gap = false;
		}
		gap |= never_goes_on(op);
	}
	for (size_t i = 0; i < body->nops; i++) {
		const struct keep_op *op = &body->ops[i];
		size_t to = KEEP_NOWHERE;

		if (op->flow == KEEP_JMP || op->flow == KEEP_JCC)
			to = tramp_keep_op_at(body, op->target);
		while (to != KEEP_NOWHERE && to < body->nops && !body->ops[to].leader &&
		       body->ops[to].flow == KEEP_NEXT && !body->ops[to].touched)
			to++;	/* a nop, or nothing that matters */
		if (to != KEEP_NOWHERE && to < body->nops)
			body->ops[to].leader = false;
	}
}

bool tramp_keep_decode(struct keep_code *code, struct keep_body *body)
{
	if (body->decoded)
		return body->nops != 0;
	body->decoded = true;
	if (body->size > BODY_MAX || !decode_all(code, body)) {
		body->nops = 0;
		return false;
	}
	look_over(body);
	note_leaders(body);
	return body->nops != 0;
}

size_t tramp_keep_op_at(const struct keep_body *body, uint64_t addr)
{
	size_t low = 0, high = body->nops;

	if (addr - body->addr >= body->size)
		return KEEP_NOWHERE;
	while (low < high) {	/* the first one behind it */
		size_t mid = low + (high - low) / 2;

		if (body->ops[mid].at <= addr - body->addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : KEEP_NOWHERE;
}

/* All functions' callers at once, when it is first seen that some matter. */
bool tramp_keep_have_sites(struct keep_code *code)
{
	uint64_t *addrs;

	if (code->has_sites)
		return !code->no_memory;
	addrs = calloc(code->nbodies + 1, sizeof(*addrs));
	if (!addrs) {
		code->no_memory = true;
		return false;
	}
	for (size_t i = 0; i < code->nbodies; i++)
		addrs[i] = code->bodies[i].addr;
	code->has_sites = true;
	if (!tramp_keep_sites_find(&code->sites, code->object, addrs, code->nbodies))
		code->no_memory = true;
	free(addrs);
	return !code->no_memory;
}

struct tree {
	size_t n;
	bool open;
	bool cut;
	keep_regs touched;
};

static void add_callee(struct keep_code *code, struct tree *tree, uint64_t target)
{
	size_t index = tramp_keep_target(code, target);

	if (index == KEEP_NOWHERE) {
		tree->open = true;
	} else if (code->bodies[index].mark != code->last_mark) {
		code->bodies[index].mark = code->last_mark;
		if (tree->n < TREE_MAX)
			code->queue[tree->n++] = index;
		else
			tree->cut = true;
	}
}

static void add_calls(struct keep_code *code, struct tree *tree, const struct keep_body *body)
{
	for (size_t i = 0; i < body->nops && !tree->open; i++) {
		const struct keep_op *op = &body->ops[i];

		switch (op->flow) {
		case KEEP_CALL:
			add_callee(code, tree, op->target);
			break;
		case KEEP_JMP:
		case KEEP_JCC:
			if (op->target - body->addr >= body->size)
				add_callee(code, tree, op->target);
			break;
		case KEEP_CALL_OUT:
		case KEEP_JMP_OUT:
		case KEEP_BAD:
			tree->open = true;
			break;
		default:
			break;
		}
	}
}

static void add_function(struct keep_code *code, struct tree *tree, struct keep_body *body)
{
	if (body->reach == KEEP_DONE) {
		tree->open |= body->reaches_open;
		tree->cut |= body->cut;
		tree->touched |= body->clobbers;
		return;
	}
	if (body->scan != KEEP_DONE) {
		body->open = scan_open(code, body);
		body->scan = KEEP_DONE;
	}
	if (body->open) {
		tree->open = true;
		return;
	}
	if (!tramp_keep_decode(code, body)) {
		tree->cut = true;
		return;
	}
	tree->touched |= body->touched;
	add_calls(code, tree, body);
}

void tramp_keep_reach(struct keep_code *code, struct keep_body *body)
{
	struct tree tree = { .n = 1 };

	if (body->reach == KEEP_DONE)
		return;
	body->mark = ++code->last_mark;
	code->queue[0] = (size_t)(body - code->bodies);
	for (size_t i = 0; i < tree.n && !tree.open; i++)
		add_function(code, &tree, &code->bodies[code->queue[i]]);
	body->reach = KEEP_DONE;
	body->reaches_open = tree.open;
	body->clobbers = tree.open ? KEEP_ALL : tree.touched;
	body->cut = tree.cut;
}
