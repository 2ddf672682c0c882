// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A function's blocks: mark what can be reached, list the instructions, cut them into blocks.
 */
#include "trampolines/flow/private.h"

#include <stdlib.h>
#include <string.h>

/* ---- the pieces ---- */

enum { PADDING_MAX = 63 };

/* Bytes between a function and the next one, if these are few. */
static uint32_t find_padding(const struct tramp_code *code, uint32_t i, size_t left)
{
	const struct tramp_fn *fn = &code->facts->fns[i];
	uint64_t gap = i + 1 < code->facts->nfns ? fn[1].addr - (fn->addr + fn->size) : 0;

	return fn->size <= left && gap <= left - fn->size && gap <= PADDING_MAX ? (uint32_t)gap : 0;
}

static bool add_range(struct flow_priv *p, const struct tramp_code *code, uint32_t i)
{
	const struct tramp_fn *fn = &code->facts->fns[i];
	const struct tramp_bytes *b = tramp_flow_bytes(code, fn->addr);
	struct flow_range *ranges, range = { .addr = fn->addr };
	size_t at;

	if (!b || !b->code)
		return true;
	range.bytes = b->bytes + (fn->addr - b->addr);
	range.left = b->len - (size_t)(fn->addr - b->addr);
	range.len = (uint32_t)(fn->size < range.left ? fn->size : range.left);
	range.padding = find_padding(code, i, range.left);
	ranges = tramp_flow_reserve(&p->range_room, p->nranges + 1, sizeof(*ranges));
	if (!ranges)
		return false;
	for (at = p->nranges++; at > 0 && ranges[at - 1].addr > range.addr; at--)
		ranges[at] = ranges[at - 1];
	ranges[at] = range;
	p->ranges = ranges;
	return true;
}

static bool find_ranges(struct tramp_flow *flow)
{
	const struct tramp_code *code = flow->code;
	struct flow_priv *p = flow_priv(flow);

	p->nranges = 0;
	p->nbytes = 0;
	if (!add_range(p, code, flow->fn))
		return false;
	for (uint32_t i = code->first_part[flow->fn]; i != TRAMP_NONE; i = code->next_part[i]) {
		if (!add_range(p, code, i))
			return false;
	}
	for (size_t i = 0; i < p->nranges; i++) {
		p->ranges[i].first = p->nbytes;
		p->nbytes += p->ranges[i].len + p->ranges[i].padding;
	}
	p->marks = tramp_flow_reserve(&p->mark_room, p->nbytes, 1);
	p->stack = tramp_flow_reserve(&p->stack_room, p->nbytes, sizeof(*p->stack));
	if (!p->marks || !p->stack)
		return false;
	memset(p->marks, 0, p->nbytes);
	return true;
}

/* ---- what can be reached ---- */

static uint8_t *mark_of(struct flow_priv *p, uint64_t addr)
{
	const struct flow_range *r = tramp_flow_range(p, addr);

	return r ? &p->marks[r->first + (addr - r->addr)] : NULL;
}

/* Each place is put on the stack once at most. */
static void reach(struct tramp_flow *flow, uint64_t addr)
{
	struct flow_priv *p = flow_priv(flow);
	uint8_t *mark = mark_of(p, addr);

	if (!mark || *mark & FLOW_MARK_LEADER)
		return;
	*mark |= FLOW_MARK_LEADER;
	if (!(*mark & FLOW_MARK_OP))
		p->stack[p->nstack++] = (uint32_t)(addr - flow->code->base);
}

static bool is_noreturn(const struct tramp_flow *flow, uint64_t addr, const uint8_t *bytes,
			const struct flow_insn *insn)
{
	if (insn->kind != TRAMP_OP_CALL && !insn->rip)
		return false;
	return tramp_flow_noreturn(flow->code, tramp_flow_target(bytes, addr, insn));
}

static bool is_call(uint8_t kind)
{
	return kind == TRAMP_OP_CALL || kind == TRAMP_OP_CALL_IND;
}

/* After one instruction; false: control goes nowhere from it. */
static bool step(struct tramp_flow *flow, uint64_t addr, const uint8_t *bytes,
		 const struct flow_insn *insn)
{
	if (tramp_op_jumps(insn->kind))
		reach(flow, tramp_flow_target(bytes, addr, insn));
	if (!tramp_op_goes_on(insn->kind) ||
	    (is_call(insn->kind) && is_noreturn(flow, addr, bytes, insn)))
		return false;
	if (tramp_op_jumps(insn->kind) || is_call(insn->kind))
		reach(flow, addr + insn->len);
	return true;
}

/* Hand-written functions fall into the next one, through nops if it is aligned: these are taken in. */
static void take_padding(struct flow_priv *p, struct flow_range *r)
{
	uint32_t end = r->len + r->padding;
	struct flow_insn insn;

	for (uint32_t at = r->len; at < end; at += insn.len) {
		if (!tramp_flow_decode(p->decoder, r->bytes + at, end - at, &insn) ||
		    insn.kind != TRAMP_OP_PLAIN || insn.use || insn.def)
			return;
	}
	r->len = end;
	r->padding = 0;
}

static void decode_from(struct tramp_flow *flow, uint64_t addr)
{
	struct flow_priv *p = flow_priv(flow);
	struct flow_range *r = tramp_flow_range(p, addr);
	struct flow_insn insn = { .kind = TRAMP_OP_CALL };

	while (r && addr - r->addr < r->len) {
		size_t at = (size_t)(addr - r->addr);
		bool behind_call = is_call(insn.kind);

		if (p->marks[r->first + at] & FLOW_MARK_OP)
			return;
		if (!tramp_flow_decode(p->decoder, r->bytes + at, r->left - at, &insn)) {
			if (!behind_call)
				flow->flags |= TRAMP_FLOW_BAD_CODE;
			return;
		}
		p->marks[r->first + at] |= FLOW_MARK_OP;
		p->jumps |= insn.kind == TRAMP_OP_JMP_IND && !insn.rip;
		if (!step(flow, addr, r->bytes + at, &insn))
			return;
		addr += insn.len;
		if (addr == r->addr + r->len && insn.kind == TRAMP_OP_TRAP)
			return;
		if (addr == r->addr + r->len && r->padding && !is_call(insn.kind)) {
			take_padding(p, r);
			if (tramp_op_jumps(insn.kind))
				reach(flow, addr);	/* was nowhere before */
		}
	}
	reach(flow, addr);	/* a part may follow directly */
}

static void decode_reached(struct tramp_flow *flow)
{
	struct flow_priv *p = flow_priv(flow);

	while (p->nstack)
		decode_from(flow, flow->code->base + p->stack[--p->nstack]);
}

/* Is it something else as well than a jump table's target? */
static bool for_sure(const struct tramp_code *code, uint64_t at)
{
	return flow_bit(code->external, at) || flow_bit(code->pad, at) || !flow_bit(code->table, at);
}

static void reach_external(struct tramp_flow *flow, bool tables)
{
	const struct tramp_code *code = flow->code;
	struct flow_priv *p = flow_priv(flow);

	for (size_t i = 0; i < p->nranges; i++) {
		uint64_t at = p->ranges[i].addr - code->base, end = at + p->ranges[i].len;

		for (; (at = tramp_flow_next_external(code, at, end)) < end; at++) {
			if (tables || for_sure(code, at))
				reach(flow, code->base + at);
		}
	}
}

/*
 * What was read as a jump table, for a function without an indirect jump after all, may as well be numbers, and
 * where they seem to lead may be data.
 */
static void decode_all(struct tramp_flow *flow)
{
	struct flow_priv *p = flow_priv(flow);

	p->nstack = 0;
	p->jumps = false;
	reach(flow, flow->code->facts->fns[flow->fn].addr);
	reach_external(flow, false);
	decode_reached(flow);
	if (p->jumps)
		reach_external(flow, true);
	decode_reached(flow);
}

/* ---- instructions ---- */

static size_t count_marks(const struct flow_priv *p, uint8_t mark)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->nbytes; i++)
		n += (p->marks[i] & mark) == mark;
	return n;
}

static struct tramp_op make_op(uint32_t off, const struct flow_insn *insn)
{
	return (struct tramp_op){
		.off = off, .len = insn->len, .kind = insn->kind, .disp_at = insn->rel_at,
		.disp_len = insn->rel_len, .use = insn->use, .def = insn->def,
	};
}

/* Does another instruction start inside of it? Then the next one in the list is not the next one to run. */
static bool is_overlapped(const uint8_t *mark, uint32_t len, uint32_t left)
{
	for (uint32_t i = 1; i < len && i < left; i++) {
		if (mark[i] & FLOW_MARK_OP)
			return true;
	}
	return false;
}

static bool on_stack(const struct flow_insn *insn)
{
	return insn->memory && insn->index == TRAMP_NO_REG &&
	       (insn->base == TRAMP_RSP || insn->base == TRAMP_RBP);
}

/*
 * Registers that are put on the stack and come back from there may hold the caller's value again in the
 * end: some functions save what the ABI lets them destroy.
 */
static void note_saves(struct flow_priv *p, const struct flow_insn *insn)
{
	if (insn->reg == TRAMP_NO_REG)
		return;
	if (insn->shape == FLOW_PUSH || (insn->shape == FLOW_STORE && on_stack(insn)))
		p->saved |= TRAMP_REG(insn->reg);
	if (insn->shape == FLOW_POP || (insn->shape == FLOW_LOAD && on_stack(insn)))
		p->loaded |= TRAMP_REG(insn->reg);
}

static void list_range(struct tramp_flow *flow, const struct flow_range *r)
{
	struct flow_priv *p = flow_priv(flow);
	uint32_t off = (uint32_t)(r->addr - flow->code->base);
	uint8_t *marks = p->marks + r->first;
	struct flow_insn insn;

	for (uint32_t i = 0; i < r->len; i++) {
		if (!(marks[i] & FLOW_MARK_OP) ||
		    !tramp_flow_decode(p->decoder, r->bytes + i, r->left - i, &insn))
			continue;
		if (is_overlapped(marks + i, insn.len, r->len - i)) {
			flow->flags |= TRAMP_FLOW_OVERLAP;
			if (i + insn.len < r->len)
				marks[i + insn.len] |= FLOW_MARK_LEADER;
		}
		note_saves(p, &insn);
		flow->ops[flow->nops++] = make_op(off + i, &insn);
	}
}

static bool list_ops(struct tramp_flow *flow)
{
	struct flow_priv *p = flow_priv(flow);

	flow->nops = 0;
	p->saved = p->loaded = 0;
	flow->ops = tramp_flow_reserve(&p->op_room, count_marks(p, FLOW_MARK_OP), sizeof(*flow->ops));
	if (!flow->ops)
		return false;
	for (size_t i = 0; i < p->nranges; i++)
		list_range(flow, &p->ranges[i]);
	return true;
}

/* ---- blocks ---- */

static bool begins_block(struct tramp_flow *flow, uint32_t op)
{
	const struct tramp_op *before = &flow->ops[op - 1], *this = &flow->ops[op];

	if (op == 0 || before->off + before->len != this->off || !tramp_op_goes_on(before->kind) ||
	    is_call(before->kind))
		return true;
	return *mark_of(flow_priv(flow), flow_addr(flow, this->off)) & FLOW_MARK_LEADER;
}

static uint8_t block_flags(const struct tramp_flow *flow, uint32_t start)
{
	const struct tramp_code *code = flow->code;
	uint64_t addr = code->base + start;
	uint8_t flags = 0;

	if (addr == code->facts->fns[flow->fn].addr)
		flags |= TRAMP_BLOCK_ENTRY;
	if (flow_is_external(code, start))
		flags |= TRAMP_BLOCK_EXTERNAL;
	if (flow_bit(code->table, start))
		flags |= TRAMP_BLOCK_TABLE;
	if (flow_bit(code->pad, start))
		flags |= TRAMP_BLOCK_PAD;
	return flags;
}

static bool cut_blocks(struct tramp_flow *flow)
{
	struct flow_priv *p = flow_priv(flow);
	struct tramp_block *b = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < flow->nops; i++)
		n += begins_block(flow, i);
	flow->nblocks = 0;
	flow->entry = TRAMP_NONE;
	flow->blocks = tramp_flow_reserve(&p->block_room, n, sizeof(*b));
	if (!flow->blocks)
		return false;
	for (uint32_t i = 0; i < flow->nops; i++) {
		if (begins_block(flow, i)) {
			b = &flow->blocks[flow->nblocks++];
			*b = (struct tramp_block){
				.start = flow->ops[i].off, .op = i, .flags = block_flags(flow, flow->ops[i].off),
				.target = TRAMP_NONE, .next = TRAMP_NONE, .idom = TRAMP_NONE,
				.loop = TRAMP_NONE,
			};
			if (b->flags & TRAMP_BLOCK_ENTRY)
				flow->entry = flow->nblocks - 1;
		}
		b->nops++;
		b->end = flow->ops[i].off + flow->ops[i].len;
	}
	return true;
}

/* ---- */

static struct flow_priv *get_priv(struct tramp_flow *flow)
{
	struct flow_priv *p = flow->priv;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->decoder = tramp_flow_decoder_new();
	if (!p->decoder) {
		free(p);
		return NULL;
	}
	flow->priv = p;
	return p;
}

bool tramp_flow_share(struct tramp_flow *flow, struct tramp_flow *with)
{
	struct flow_priv *p = flow->priv ? flow->priv : calloc(1, sizeof(*p));

	flow->priv = p;
	if (!p || !get_priv(with))
		return false;
	if (!p->borrowed)
		free(p->decoder);
	p->decoder = flow_priv(with)->decoder;
	p->borrowed = true;
	return true;
}

enum tramp_code_status tramp_flow_build(struct tramp_flow *flow, const struct tramp_code *code,
					uint32_t fn)
{
	flow->code = code;
	flow->fn = code->owner[fn];
	flow->flags = 0;
	flow->nblocks = flow->nops = flow->nloops = 0;
	if (!get_priv(flow) || !find_ranges(flow))
		return TRAMP_CODE_MEMORY;
	decode_all(flow);
	if (!list_ops(flow) || !cut_blocks(flow))
		return TRAMP_CODE_MEMORY;
	tramp_flow_ends(flow);
	return tramp_flow_jumps(flow) ? TRAMP_CODE_OK : TRAMP_CODE_MEMORY;
}

void tramp_flow_free(struct tramp_flow *flow)
{
	struct flow_priv *p = flow->priv;

	if (p) {
		if (!p->borrowed)
			free(p->decoder);
		free(p->range_room.items);
		free(p->mark_room.items);
		free(p->stack_room.items);
		free(p->op_room.items);
		free(p->block_room.items);
		free(p->loop_room.items);
		free(p->work_room.items);
		free(p->work2_room.items);
		free(p);
	}
	memset(flow, 0, sizeof(*flow));
}
