// SPDX-License-Identifier: GPL-3.0-or-later
/* One node: its entries and exits, its instructions, and what is put between them. */
#include "trampolines/memory/x86-64/emit.h"
#include "trampolines/insn/x86-64/asm.h"

enum { PUSH_IMM = 0x68, PUSH_IMM_SIZE = 5, PUSH_SLOT_SIZE = 6 };

/* ---- entries and exits ---- */

static struct mem_state state_of(const struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);

	return (struct mem_state){
		.node = n, .orig = mem_orig(m, n, 0), .reg = node->reg,
		.flags = node->parked ? RT_MEM_PARKED : 0,
	};
}

void mem_put_home_in(struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);
	struct mem_state s = {
		.node = n, .orig = mem_orig(m, n, 0), .reg = RT_MEM_NO_REG, .flags = RT_MEM_BACK,
	};
	uint32_t start = (uint32_t)m->out.len;

	mem_label(m, n, MEM_HOME);
	if (node->reg == RT_MEM_NO_REG)
		return;
	mem_state(m, &s, start);
	if (node->owner)
		mem_put_owner_check(m, n, start);
	if (node->parked)
		asm_gs(&m->out, ASM_STORE, node->reg, m->mem->env.park);
	if (mem_guesses(m, n))
		mem_put_guess(m, n);
	else
		asm_gs(&m->out, ASM_LOAD, node->reg, m->mem->env.ptr);
	s = state_of(m, n);
	mem_state(m, &s, 0);
}

/* Over all that the node writes. */
static void put_move(struct tramp_mirror *m, struct mem_state *s)
{
	const struct mem_node *node = mem_node(m, s->node);

	if (node->bytes && !(s->flags & RT_MEM_MOVED)) {
		mir_piece(m, RT_PIECE_INSN, s->orig, false); /* the copies before end here */
		asm_mem(&m->out, ASM_LEA, node->reg, node->reg, node->bytes);
	}
	s->flags |= RT_MEM_MOVED;
}

/* The pointer moves on, and goes home if it is not kept. */
static void put_out(struct tramp_mirror *m, struct mem_state *s)
{
	const struct mem_node *node = mem_node(m, s->node);

	if (node->reg == RT_MEM_NO_REG)
		return;
	put_move(m, s);
	if (!node->kept) {
		s->flags |= RT_MEM_BACK;
		mem_state(m, s, (uint32_t)m->out.len);
		asm_gs(&m->out, ASM_STORE, node->reg, m->mem->env.ptr);
		if (node->parked)
			asm_gs(&m->out, ASM_LOAD, node->reg, m->mem->env.park);
		s->reg = RT_MEM_NO_REG;
		s->flags = RT_MEM_MOVED;
	}
	mem_state(m, s, 0);
}

/* ---- instructions and what is put between them ---- */

/*
 * Nothing follows that sets upper halves of vector registers in the other encoding, and pays for
 * it.
 */
static bool is_vex(const struct tramp_mirror *m, uint32_t orig)
{
	const uint8_t *bytes = mir_bytes(m, orig);

	return bytes && (*bytes == 0xc4 || *bytes == 0xc5 || *bytes == 0x62);
}

static uint16_t extra_bytes(uint8_t what)
{
	switch (what) {
	case TRAMP_STORE_XMM: return 16;
	case TRAMP_STORE_YMM: return 32;
	case TRAMP_STORE_ZMM: return 64;
	default: return 8;
	}
}

static void put_store(struct tramp_mirror *m, struct mem_state *s, const struct mem_action *action)
{
	struct tramp_out *out = &m->out;
	uint16_t bytes = 0;

	switch (action->code) {
	case MEM_STORE8:
		mem_put_store(out, action->reg, s->reg, action->at, true);
		bytes = 8;
		break;
	case MEM_STORE4:
		mem_put_store(out, action->reg, s->reg, action->at, false);
		bytes = 4;
		break;
	default:
		if (action->what == TRAMP_STORE_TIME) {
			mem_put_time(m, s, action->at);
			return;
		}
		mem_put_extra(out, action->what, action->reg, s->reg, action->at, is_vex(m, s->orig));
		bytes = extra_bytes(action->what);
	}
	s->written = (uint16_t)(action->at + bytes);
}

static void put_header(struct tramp_mirror *m, struct mem_state *s)
{
	if (!mem_node(m, s->node)->header)
		return;
	mem_put_id(&m->out, s->reg, 0, m->req.node + s->node);
	s->written = sizeof(uint32_t);
}

/* Interrupted between stores, they are made again: from the last check on. */
static void state_group(struct tramp_mirror *m, struct mem_state s)
{
	s.flags |= RT_MEM_BACK;
	mem_state(m, &s, (uint32_t)m->out.len);
}

static bool is_after(const struct mem_action *action)
{
	return action->code == MEM_STORE_EXTRA && action->what == TRAMP_STORE_GPR_AFTER;
}

/*
 * What an instruction leaves in a register, stored after it: for the reader the instruction is not
 * over until that is done.
 */
static uint32_t put_after(struct tramp_mirror *m, struct mem_state *s, uint32_t next, uint32_t before)
{
	const struct mem_node *node = mem_node(m, s->node);
	const struct mem_action *v = m->mem->plan.actions + node->action;
	uint32_t orig = s->orig;

	s->orig = mem_orig(m, s->node, before - 1);
	state_group(m, *s);
	for (; next < node->nactions && v[next].before == before && is_after(&v[next]); next++)
		put_store(m, s, &v[next]);
	s->orig = orig;
	return next;
}

/* @next: the node's actions from there on; returns the first one that stands further on. */
static uint32_t put_actions(struct tramp_mirror *m, struct mem_state *s, uint32_t next, uint32_t before)
{
	const struct mem_node *node = mem_node(m, s->node);
	const struct mem_action *v = m->mem->plan.actions + node->action;

	if (before && next < node->nactions && v[next].before == before) {
		if (is_after(&v[next]))
			next = put_after(m, s, next, before);
		state_group(m, *s);
	}
	for (; next < node->nactions && v[next].before <= before; next++) {
		if (v[next].code == MEM_CHECK) {
			mem_put_check(m, s, v[next].flags_live);
			state_group(m, *s);
		} else {
			put_store(m, s, &v[next]);
		}
	}
	return next;
}

/* At the block's start, however it is entered. */
static void put_count(struct tramp_mirror *m, const struct mem_state *s, uint32_t iterations)
{
	const struct mem_node *node = mem_node(m, s->node);
	uint32_t weight = iterations * mem_weight(m, node->block);

	if (m->mem->env.count && node->nops && node->first == 0 && (weight || m->mem->plan.poll[node->block]))
		mem_put_count(m, s, weight);
}

/* A check before the header. */
static uint32_t put_start(struct tramp_mirror *m, struct mem_state *s, uint32_t iterations)
{
	const struct mem_node *node = mem_node(m, s->node);
	const struct mem_action *v = m->mem->plan.actions + node->action;
	uint32_t next = 0;

	put_count(m, s, iterations);
	if (node->reg == RT_MEM_NO_REG)
		return 0;
	if (node->nactions && v->code == MEM_CHECK && v->before == 0 && v->at == 0) {
		mem_put_check(m, s, v->flags_live);
		next = 1;
	}
	state_group(m, *s);
	put_header(m, s);
	return next;
}

/* An endbr64 is of no use in a copy. */
static bool is_left_out(const struct tramp_mirror *m, const struct mem_node *node, uint32_t k)
{
	return node->first + k < m->blocks.v[node->block].lo;
}

void mem_put_copy(struct tramp_mirror *m, const struct mem_state *s, uint32_t k)
{
	const struct mem_node *node = mem_node(m, s->node);
	const struct tramp_op *op = mir_op(m, node->block, node->first + k);
	struct mem_state run = *s;

	if (is_left_out(m, node, k))
		return;
	run.flags |= RT_MEM_RUN;
	mem_state(m, &run, 0);
	mir_piece(m, RT_PIECE_COPY, op->off, false);
	mir_put_as_is(m, op);
}

/* ---- the ends of nodes ---- */

static void fall_to(struct tramp_mirror *m, const struct mem_node *node, uint32_t n)
{
	if (n == TRAMP_NONE) {
		mir_put_original(m, mir_off(m, node->block, node->first + node->nops));
		return;
	}
	m->mem->fall = n;
	m->mem->fall_entry = mem_entry_of(m, n, node->kept);
}

static void put_condition(struct tramp_mirror *m, const struct mem_node *node, const struct mem_state *s)
{
	const struct tramp_block *fb = mir_flow_block(m, node->block);
	const struct tramp_op *op = mir_last(m, node->block);
	const uint8_t *bytes = mir_bytes(m, op->off);
	uint8_t cc = bytes[op->disp_at - 1] & 0x0f;
	bool stub = fb->ends == TRAMP_END_TAIL_JCC && mir_wants(m, TRAMP_MIRROR_EXIT);
	struct mem_state made = *s;

	mem_state(m, s, 0);
	made.orig = op->off + op->len;
	if (op->kind == TRAMP_OP_JCC && !stub && node->target != TRAMP_NONE) {
		mem_put_jcc(m, cc, node->target, mem_entry_of(m, node->target, node->kept));
		return;
	}
	if (op->kind == TRAMP_OP_JCC) {
		tramp_put_u8(&m->out, 0x0f);
		tramp_put_u8(&m->out, 0x80 | cc);
	} else {	/* loop 1f; jmp 2f; 1: jmp target; 2: */
		tramp_put_bytes(&m->out, bytes, op->disp_at);
		tramp_put_u8(&m->out, 2);
		mem_state_at(m, &made, (uint32_t)m->out.len);
		tramp_put_bytes(&m->out, "\xeb\x05\xe9", 3);
	}
	if (stub)
		mir_put_stub_label(m, node->block);
	else if (node->target != TRAMP_NONE)
		mem_put_label(m, node->target, mem_entry_of(m, node->target, node->kept));
	else
		tramp_put_rel32(&m->out, mir_moved(m, fb->target_addr), 0);
}

/* RT_CALL, push $return or push slot(%rip), then a jump: after the push the call has been made. */
static void put_moved_call(struct tramp_mirror *m, const struct tramp_op *op, const struct mem_state *s)
{
	struct mem_state made = *s;
	uint32_t push = (uint32_t)(m->out.len + RT_CALL_SIZE);

	mir_put_moved_call(m, op);
	if (m->out.status != TRAMP_OK)
		return;
	made.orig = op->off + op->len;
	mem_state_at(m, &made, push + (m->out.buf[push] == PUSH_IMM ? PUSH_IMM_SIZE : PUSH_SLOT_SIZE));
}

static void put_call(struct tramp_mirror *m, const struct mem_node *node, const struct mem_state *s)
{
	const struct tramp_op *last = mir_last(m, node->block);

	if (m->blocks.v[node->block].flags & MIR_MOVED)
		put_moved_call(m, last, s);
	else
		mir_put_original(m, last->off);
}

static void put_tail_call(struct tramp_mirror *m, uint32_t block, uint32_t orig, tramp_regs live)
{
	mir_put_exit_probe(m, block, orig, live);
	mir_put_jump_out(m, block, orig);
}

/* The last instruction, before which the pointer has been brought to where it belongs. */
static void put_transfer(struct tramp_mirror *m, const struct mem_node *node, const struct mem_state *s)
{
	const struct tramp_block *fb = mir_flow_block(m, node->block);
	const struct tramp_op *op = mir_op(m, node->block, node->first + node->nops - 1);

	switch (op->kind) {
	case TRAMP_OP_CALL:
	case TRAMP_OP_CALL_IND:
		put_call(m, node, s);
		break;
	case TRAMP_OP_JCC:
	case TRAMP_OP_LOOP:
		put_condition(m, node, s);
		fall_to(m, node, node->next);
		break;
	case TRAMP_OP_JMP:
		if (fb->ends == TRAMP_END_TAIL)
			put_tail_call(m, node->block, op->off, mir_live_at_end(m, node->block));
		else
			fall_to(m, node, node->target);
		break;
	default:
		if (node->last && fb->ends != TRAMP_END_TAIL_FALL)
			mir_put_exit_probe(m, node->block, op->off, mir_live_at_end(m, node->block));
		mem_put_copy(m, s, node->nops - 1);
	}
}

/* What follows a last instruction that control falls through. */
static void put_way_on(struct tramp_mirror *m, const struct mem_node *node)
{
	const struct tramp_block *fb = mir_flow_block(m, node->block);

	if (!node->last || fb->ends == TRAMP_END_FALL)
		fall_to(m, node, node->next);
	else if (fb->ends == TRAMP_END_TAIL_FALL)
		put_tail_call(m, node->block, fb->end, fb->live_out);
	else if (fb->ends == TRAMP_END_STOP && mir_last(m, node->block)->kind != TRAMP_OP_STOP)
		mir_put_original(m, fb->end);
}

static bool goes_on_by_itself(uint8_t kind)
{
	return kind != TRAMP_OP_CALL && kind != TRAMP_OP_CALL_IND && kind != TRAMP_OP_JCC &&
	       kind != TRAMP_OP_LOOP && kind != TRAMP_OP_JMP;
}

static void put_edge(struct tramp_mirror *m, const struct mem_node *node, struct mem_state *s, uint32_t next)
{
	put_actions(m, s, next, 0);
	put_out(m, s);
	fall_to(m, node, node->next);
}

/*
 * A comparison and the conditional jump right after it are one operation of the processor.  So the pointer moves
 * before both, where nothing is stored any more, and stays in its register.
 */
static bool moves_early(const struct mem_node *node, uint8_t kind, uint32_t k, uint32_t next)
{
	return kind == TRAMP_OP_JCC && node->leaves && node->kept && node->bytes && k + 2 == node->nops &&
	       next == node->nactions;
}

static void put_body(struct tramp_mirror *m, const struct mem_node *node, struct mem_state *s, uint32_t next)
{
	uint32_t last = node->nops - 1;
	uint8_t kind = mir_op(m, node->block, node->first + last)->kind;

	for (uint32_t k = 0; k < node->nops; k++) {
		s->orig = mem_orig(m, s->node, k);
		if (moves_early(node, kind, k, next))
			put_move(m, s);
		next = put_actions(m, s, next, k);
		if (k < last || !node->leaves)
			mem_put_copy(m, s, k);
	}
	if (!node->leaves) {
		s->orig = mem_orig(m, s->node, node->nops);
		put_actions(m, s, next, node->nops);
	}
	put_out(m, s);
	mem_state(m, s, 0);
	if (node->leaves)
		put_transfer(m, node, s);
	if (goes_on_by_itself(kind))
		put_way_on(m, node);
}

/* The node from its kept label on. */
void mem_put_rest(struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);
	struct mem_state s = state_of(m, n);
	uint32_t next;

	mem_label(m, n, MEM_KEPT);
	m->mem->fall = TRAMP_NONE;
	next = put_start(m, &s, mem_put_unrolled(m, n, s));
	if (node->nops)
		put_body(m, node, &s, next);
	else
		put_edge(m, node, &s, next);
}
