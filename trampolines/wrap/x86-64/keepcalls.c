// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/wrap/x86-64/keepcalls.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum {
	OPS_MAX = 1 << 16,	/* instructions of a function */
	TREE_MAX = 256,		/* functions that one function calls, in all */
	PROLOGUE_MAX = 64,	/* instructions */
	CANARY_OFFSET = 0x28,
};

bool tramp_keep_open(struct keep_calls *k, const struct tramp_code *code)
{
	*k = (struct keep_calls){ .code = code };
	k->bodies = calloc(code->facts->nfns + 1, sizeof(struct keep_body *));
	k->queue = calloc(TREE_MAX, sizeof(*k->queue));
	return k->bodies && k->queue;
}

void tramp_keep_close(struct keep_calls *k)
{
	for (size_t i = 0; k->bodies && i < k->code->facts->nfns; i++) {
		if (!k->bodies[i])
			continue;
		free(k->bodies[i]->ops);
		free(k->bodies[i]->blocks);
		free(k->bodies[i]);
	}
	tramp_flow_free(&k->flow);
	free(k->bodies);
	free(k->queue);
	free(k->arities);
}

static struct keep_body *body_of(struct keep_calls *k, uint32_t fn)
{
	if (!k->bodies[fn]) {
		k->bodies[fn] = calloc(1, sizeof(struct keep_body));
		if (!k->bodies[fn]) {
			k->no_memory = true;
			return NULL;
		}
		k->bodies[fn]->fn = fn;
	}
	return k->bodies[fn];
}

struct keep_body *tramp_keep_body(struct keep_calls *k, uint64_t addr)
{
	uint32_t fn = tramp_flow_is_code(k->code, addr) ? tramp_code_function(k->code, addr) : TRAMP_NONE;

	return fn == TRAMP_NONE ? NULL : body_of(k, fn);
}

/* ---- one function ---- */

bool tramp_keep_insn(struct keep_calls *k, const struct keep_op *op, struct flow_insn *insn,
		     const uint8_t **bytes)
{
	size_t left;

	*bytes = tramp_code_at(k->code, k->code->base + op->off, &left);
	return *bytes && tramp_flow_decode(flow_priv(&k->flow)->decoder, *bytes, left, insn);
}

static bool is_variadic(const struct flow_insn *insn, const uint8_t *bytes)
{
	return insn->len == 2 && bytes[0] == 0x84 && bytes[1] == 0xc0;	/* test %al,%al */
}

static bool is_store(const struct flow_insn *insn)
{
	return insn->kind == TRAMP_OP_PLAIN && insn->memory && !insn->rip &&
	       (insn->base == TRAMP_RSP || insn->base == TRAMP_RBP) &&
	       !(insn->def & (TRAMP_GPRS | TRAMP_VECTORS));
}

static uint8_t flags_of(const struct flow_insn *insn, const uint8_t *bytes)
{
	int64_t disp = tramp_flow_field(bytes, insn->disp_at, insn->disp_len);

	return (insn->thread && disp == CANARY_OFFSET ? KEEP_OP_CANARY : 0) |
	       (is_variadic(insn, bytes) ? KEEP_OP_VARIADIC : 0) |
	       (insn->shape == FLOW_PUSH && insn->reg != TRAMP_NO_REG ? KEEP_OP_PUSH : 0) |
	       (is_store(insn) ? KEEP_OP_STORE : 0);
}

static void copy_op(struct keep_calls *k, const struct tramp_op *from, struct keep_op *op)
{
	struct flow_insn insn;
	const uint8_t *bytes;
	uint64_t to;

	*op = (struct keep_op){ .off = from->off, .to = TRAMP_NONE, .len = from->len, .kind = from->kind };
	if (!tramp_keep_insn(k, op, &insn, &bytes))
		return;
	op->flags = flags_of(&insn, bytes);
	op->def = insn.def & KEEP_ALL;
	op->use = insn.use & ~insn.idle & KEEP_ALL;
	if (op->kind == TRAMP_OP_SYSCALL)	/* the others are guessed */
		op->use &= TRAMP_REG(TRAMP_RAX);
	if (op->kind != TRAMP_OP_CALL)
		return;
	to = tramp_flow_target(bytes, k->code->base + op->off, &insn);
	if (!flow_offset(k->code, to, &op->to))
		op->to = TRAMP_NONE;
}

/* `inside` is true for targets of jump tables, and places that anything may lead to. */
static void copy_block(const struct tramp_block *from, struct keep_block *b)
{
	*b = (struct keep_block){
		.op = from->op, .nops = from->nops, .next = from->next, .target = from->target,
		.target_addr = from->target_addr, .ends = from->ends,
		.inside = from->flags & TRAMP_BLOCK_TABLE ||
			  (from->flags & TRAMP_BLOCK_EXTERNAL && !(from->flags & TRAMP_BLOCK_ENTRY)),
	};
}

static bool copy_flow(struct keep_calls *k, struct keep_body *body)
{
	const struct tramp_flow *flow = &k->flow;

	body->ops = calloc(flow->nops + 1, sizeof(*body->ops));
	body->blocks = calloc(flow->nblocks + 1, sizeof(*body->blocks));
	if (!body->ops || !body->blocks)
		return false;
	body->nops = flow->nops;
	body->nblocks = flow->nblocks;
	body->entry = flow->entry;
	for (uint32_t i = 0; i < flow->nops; i++) {
		copy_op(k, &flow->ops[i], &body->ops[i]);
		body->touched |= body->ops[i].def;
	}
	for (uint32_t i = 0; i < flow->nblocks; i++)
		copy_block(&flow->blocks[i], &body->blocks[i]);
	return true;
}

/*
 * Reads that mean nothing.  In a prologue, which lasts to the first branch for certain, push of any register is the
 * shortest way to move the stack pointer by 8.  A function with a variable number of arguments saves all the registers
 * that could hold some.
 */
static void drop_idle_reads(struct keep_body *body)
{
	uint32_t first = body->blocks[body->entry].op, end = first + PROLOGUE_MAX;
	bool prologue = true;

	end = end < body->nops ? end : body->nops;
	for (uint32_t i = first; i < end && !tramp_op_calls(body->ops[i].kind); i++)
		body->variadic |= body->ops[i].flags & KEEP_OP_VARIADIC;
	for (uint32_t i = first; i < end && !tramp_op_calls(body->ops[i].kind); i++) {
		struct keep_op *op = &body->ops[i];

		if ((op->flags & KEEP_OP_PUSH && prologue) || (op->flags & KEEP_OP_STORE && body->variadic))
			op->use = 0;
		prologue &= op->kind == TRAMP_OP_PLAIN || op->kind == TRAMP_OP_RIP;
	}
}

static bool leaves_known_code(const struct keep_calls *k, const struct keep_body *body,
			      const struct keep_block *b)
{
	switch (b->ends) {
	case TRAMP_END_TAIL_IND:
		return true;
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_JCC:
	case TRAMP_END_TAIL_FALL:
		return !tramp_flow_is_code(k->code, b->target_addr) ||
		       tramp_code_function(k->code, b->target_addr) == TRAMP_NONE;
	default:
		return tramp_keep_last(body, b)->kind == TRAMP_OP_CALL_IND;
	}
}

bool tramp_keep_build(struct keep_calls *k, struct keep_body *body)
{
	if (body->built)
		return !body->failed;
	body->built = body->failed = true;
	if (tramp_flow_build(&k->flow, k->code, body->fn) != TRAMP_CODE_OK) {
		k->no_memory = true;
		return false;
	}
	if (k->flow.nops > OPS_MAX || k->flow.entry == TRAMP_NONE)
		return false;
	if (!copy_flow(k, body)) {
		k->no_memory = true;
		return false;
	}
	drop_idle_reads(body);
	body->open |= k->flow.flags & TRAMP_FLOW_BAD_CODE;
	for (uint32_t i = 0; i < body->nblocks; i++)
		body->open |= leaves_known_code(k, body, &body->blocks[i]);
	/* what a jump table leads to that was not found: it may be where results come from */
	body->unsure = k->flow.flags & TRAMP_FLOW_UNSURE;
	if (body->unsure)
		body->touched |= TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX) | FLOW_VECTORS(3);
	body->failed = false;
	return true;
}

uint32_t tramp_keep_op_at(const struct keep_body *body, uint32_t off)
{
	uint32_t at = (uint32_t)search_first(i, body->nops, body->ops[i].off >= off);

	return at < body->nops && body->ops[at].off == off ? at : TRAMP_NONE;
}

struct keep_block *tramp_keep_block_of(const struct keep_body *body, uint32_t i)
{
	return &body->blocks[search_first(k, body->nblocks, body->blocks[k].op > i) - 1];
}

/* ---- call trees ---- */

struct tree {
	size_t n;
	bool open;
	bool cut;
	tramp_regs touched;
};

static void add_callee(struct keep_calls *k, struct tree *tree, uint64_t addr)
{
	struct keep_body *body = tramp_keep_body(k, addr);

	if (!body) {
		tree->open = true;
	} else if (body->mark != k->last_mark) {
		body->mark = k->last_mark;
		if (tree->n < TREE_MAX)
			k->queue[tree->n++] = body->fn;
		else
			tree->cut = true;
	}
}

static void add_callees(struct keep_calls *k, struct tree *tree, const struct keep_body *body)
{
	for (uint32_t i = 0; i < body->nblocks && !tree->open; i++) {
		const struct keep_block *b = &body->blocks[i];
		const struct keep_op *last = tramp_keep_last(body, b);

		if (b->ends == TRAMP_END_TAIL || b->ends == TRAMP_END_TAIL_JCC ||
		    b->ends == TRAMP_END_TAIL_FALL)
			add_callee(k, tree, b->target_addr);
		else if (last->kind == TRAMP_OP_CALL && last->to == TRAMP_NONE)
			tree->open = true;
		else if (last->kind == TRAMP_OP_CALL)
			add_callee(k, tree, flow_address(k->code, last->to));
	}
}

/* Most functions call something unknown soon: no need to look at their flow. */
static bool is_open(const struct keep_calls *k, uint32_t fn)
{
	uint16_t bits = k->code->bits[fn];

	for (uint32_t i = k->code->first_part[fn]; i != TRAMP_NONE; i = k->code->next_part[i])
		bits |= k->code->bits[i];
	return bits & FLOW_FN_OPEN;
}

static void add_function(struct keep_calls *k, struct tree *tree, struct keep_body *body)
{
	if (body->reach == KEEP_DONE) {
		tree->open |= body->reaches_open;
		tree->cut |= body->cut;
		tree->touched |= body->clobbers;
		return;
	}
	if (is_open(k, body->fn)) {
		tree->open = true;
		return;
	}
	if (!tramp_keep_build(k, body)) {
		tree->cut = true;
		return;
	}
	tree->open |= body->open;
	tree->cut |= body->unsure;
	tree->touched |= body->touched;
	add_callees(k, tree, body);
}

void tramp_keep_reach(struct keep_calls *k, struct keep_body *body)
{
	struct tree tree = { .n = 1 };

	if (body->reach == KEEP_DONE)
		return;
	body->mark = ++k->last_mark;
	k->queue[0] = body->fn;
	for (size_t i = 0; i < tree.n && !tree.open && !k->no_memory; i++)
		add_function(k, &tree, k->bodies[k->queue[i]]);
	body->reach = KEEP_DONE;
	body->reaches_open = tree.open;
	body->clobbers = tree.open ? KEEP_ALL : tree.touched;
	body->cut = tree.cut;
}
