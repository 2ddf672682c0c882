// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The copies of a function that records memory: nodes instead of blocks, in the order of the blocks.
 *
 * A node follows the one that falls into it.  Where that comes with the pointer in its register, the way in from
 * home stands behind all other code; a node without instructions stands in front of where it leads, or where
 * somebody falls into it, or behind all others.
 */
#include <stdlib.h>
#include <string.h>

#include "trampolines/x86-64/mememit.h"
#include "trampolines/x86-64/probeasm.h"

enum {
	JUMP_OUT_MAX = 24,	/* what a last instruction becomes */
	MOVED_CALL_MAX = 48,
	HOME_MAX = 24 + 5,	/* park, load, and a jump if it stands alone */
	OWNER_MAX = 80,
	SLOW_MAX = 96,
	NODE_MAX = 12 + 8 + 18, /* header; lea; home */
	CHECK_MAX = 72,
	STORE_MAX = 24,
};

void tramp_mirror_memory(struct tramp_mirror *m, const struct tramp_mem_env *env, uint64_t load_addr)
{
	if (!m->mem)
		m->mem = calloc(1, sizeof(*m->mem));
	if (!m->mem)
		return;
	m->mem->env = *env;
	m->mem->load_addr = load_addr;
}

void tramp_mirror_description(const struct tramp_mirror *m, struct tramp_mem_description *d)
{
	const struct mem_plan *plan;

	memset(d, 0, sizeof(*d));
	if (!m->planned || !mir_wants(m, TRAMP_MIRROR_ACCESSES))
		return;
	plan = &m->mem->plan;
	*d = (struct tramp_mem_description){
		.nodes = plan->md, .nnodes = plan->nnodes, .ops = plan->ops, .nops = plan->nops,
	};
}

void mir_mem_free(struct tramp_mirror *m)
{
	if (!m->mem)
		return;
	mem_plan_free(&m->mem->plan);
	free(m->mem->places.v);
	free(m->mem->fixups.v);
	free(m->mem->slows.v);
	free(m->mem->pieces.v);
	free(m->mem);
}

const struct rt_mem_piece *mir_mem_pieces(const struct tramp_mirror *m, size_t *n)
{
	*n = m->mem->pieces.n;
	return m->mem->pieces.v;
}

enum tramp_mirror_status mir_mem_plan(struct tramp_mirror *m)
{
	if (!m->mem)
		return TRAMP_MIRROR_MEMORY;
	/* Instructions that are jumped to in the middle of blocks would be missed. */
	if (m->strict)
		return TRAMP_MIRROR_UNSURE;
	tramp_flow_live(&m->flow);
	if (tramp_flow_loops(&m->flow) != TRAMP_CODE_OK)
		return TRAMP_MIRROR_MEMORY;
	return mem_plan(&m->mem->plan, &m->mem->env, &m->flow, m->mem->load_addr);
}

static bool records(const struct tramp_mirror *m, const struct mem_node *node)
{
	const struct md_op *ops = m->mem->plan.ops + node->op;

	for (uint32_t i = 0; i < node->nmdops; i++) {
		if (ops[i].code >= MD_ACCESS && ops[i].code <= MD_PACKED)
			return true;
	}
	return false;
}

/* The nodes of block i's body are [body[i], body_end()). */
static uint32_t body_end(const struct tramp_mirror *m, uint32_t i)
{
	uint32_t n = m->mem->plan.body[i];

	while (!mem_node(m, n)->last)
		n++;
	return n + 1;
}

bool mir_mem_bare(const struct tramp_mirror *m, uint32_t i)
{
	for (uint32_t n = m->mem->plan.body[i]; n < body_end(m, i); n++) {
		if (records(m, mem_node(m, n)))
			return false;
	}
	return true;
}

static size_t room_of(const struct tramp_mirror *m, const struct mem_node *node)
{
	const struct mem_action *v = m->mem->plan.actions + node->action;
	size_t room = NODE_MAX + 2 * HOME_MAX + (node->owner ? OWNER_MAX + SLOW_MAX : 0);

	for (uint32_t i = 0; i < node->nactions; i++)
		room += v[i].code == MEM_CHECK ? CHECK_MAX + SLOW_MAX : STORE_MAX;
	return room;
}

size_t mir_mem_room(const struct tramp_mirror *m)
{
	size_t room = 0;

	for (size_t n = 0; n < m->mem->plan.nnodes; n++)
		room += room_of(m, mem_node(m, (uint32_t)n)) + JUMP_OUT_MAX;
	return room;
}

/* ---- labels ---- */

static struct mem_place *place(struct tramp_mirror *m, uint32_t n)
{
	return &m->mem->places.v[n];
}

/* A node that needs no pointer is the same either way. */
static enum mem_way way_into(const struct tramp_mirror *m, uint32_t n, bool kept)
{
	return kept && mem_node(m, n)->reg != RT_MEM_NO_REG ? MEM_KEPT : MEM_HOME;
}

static void label(struct tramp_mirror *m, uint32_t n, enum mem_way way)
{
	place(m, n)->at[way] = (uint32_t)m->out.len;
}

/* 4 bytes. */
static void put_node_label(struct tramp_mirror *m, uint32_t n, enum mem_way way)
{
	struct mir_mem *mem = m->mem;
	struct mem_fixup f = { .at = (uint32_t)m->out.len, .node = n, .way = (uint8_t)way };

	place(m, n)->wanted[way] = true;
	if (mir_reserve(&mem->fixups, mem->fixups.n + 1))
		mem->fixups.v[mem->fixups.n++] = f;
	else
		m->lost = true;
	tramp_put_u32(&m->out, 0);
}

static bool reaches_short(const struct tramp_mirror *m, uint32_t at)
{
	return at != TRAMP_NONE && m->out.len + 2 - at <= 128;
}

static void put_jump(struct tramp_mirror *m, uint32_t n, enum mem_way way)
{
	uint32_t at = place(m, n)->at[way];

	if (reaches_short(m, at)) {
		tramp_put_u8(&m->out, 0xeb);
		tramp_put_u8(&m->out, (uint8_t)(at - (m->out.len + 1)));
		return;
	}
	tramp_put_u8(&m->out, 0xe9);
	put_node_label(m, n, way);
}

static void put_jcc(struct tramp_mirror *m, uint8_t cc, uint32_t n, enum mem_way way)
{
	uint32_t at = place(m, n)->at[way];

	if (reaches_short(m, at)) {
		tramp_put_u8(&m->out, 0x70 | cc);
		tramp_put_u8(&m->out, (uint8_t)(at - (m->out.len + 1)));
		return;
	}
	tramp_put_u8(&m->out, 0x0f);
	tramp_put_u8(&m->out, 0x80 | cc);
	put_node_label(m, n, way);
}

static void fix_nodes(struct tramp_mirror *m)
{
	for (size_t k = 0; k < m->mem->fixups.n && m->out.status == TRAMP_OK; k++) {
		const struct mem_fixup *f = &m->mem->fixups.v[k];
		uint32_t rel = place(m, f->node)->at[f->way] - (f->at + 4);

		memcpy(m->out.buf + f->at, &rel, sizeof(rel));
	}
}

/* ---- the ways in and out ---- */

static struct mem_state state_of(const struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);

	return (struct mem_state){
		.node = n, .orig = mem_orig(m, n, 0), .reg = node->reg,
		.flags = node->parked ? RT_MEM_PARKED : 0,
	};
}

static void put_home_in(struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);
	struct mem_state s = {
		.node = n, .orig = mem_orig(m, n, 0), .reg = RT_MEM_NO_REG, .flags = RT_MEM_BACK,
	};
	uint32_t start = (uint32_t)m->out.len;

	label(m, n, MEM_HOME);
	if (node->reg == RT_MEM_NO_REG)
		return;
	mem_state(m, &s, start);
	if (node->owner)
		mem_put_owner_check(m, n, start);
	if (node->parked)
		asm_gs(&m->out, ASM_STORE, node->reg, m->mem->env.park);
	asm_gs(&m->out, ASM_LOAD, node->reg, m->mem->env.ptr);
	s = state_of(m, n);
	mem_state(m, &s, 0);
}

/* The pointer moves on, and goes home if it is not kept. */
static void put_out(struct tramp_mirror *m, struct mem_state *s)
{
	const struct mem_node *node = mem_node(m, s->node);

	if (node->reg == RT_MEM_NO_REG)
		return;
	if (node->bytes)
		asm_mem(&m->out, ASM_LEA, node->reg, node->reg, node->bytes);
	s->flags |= RT_MEM_MOVED;
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

/* Nothing follows that sets upper halves of vector registers in the other encoding, and pays for it. */
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

static bool is_behind(const struct mem_action *action)
{
	return action->code == MEM_STORE_EXTRA && action->what == TRAMP_STORE_GPR_AFTER;
}

/*
 * What an instruction leaves in a register, stored behind it: for the reader the instruction is not over until that
 * is done.
 */
static uint32_t put_behind(struct tramp_mirror *m, struct mem_state *s, uint32_t next, uint32_t before)
{
	const struct mem_node *node = mem_node(m, s->node);
	const struct mem_action *v = m->mem->plan.actions + node->action;
	uint32_t orig = s->orig;

	s->orig = mem_orig(m, s->node, before - 1);
	state_group(m, *s);
	for (; next < node->nactions && v[next].before == before && is_behind(&v[next]); next++)
		put_store(m, s, &v[next]);
	s->orig = orig;
	return next;
}

/* @next: the node's actions from there on; returns the first one that stands further behind. */
static uint32_t put_actions(struct tramp_mirror *m, struct mem_state *s, uint32_t next, uint32_t before)
{
	const struct mem_node *node = mem_node(m, s->node);
	const struct mem_action *v = m->mem->plan.actions + node->action;

	if (before && next < node->nactions && v[next].before == before) {
		if (is_behind(&v[next]))
			next = put_behind(m, s, next, before);
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

/* A check in front of the header. */
static uint32_t put_start(struct tramp_mirror *m, struct mem_state *s)
{
	const struct mem_node *node = mem_node(m, s->node);
	const struct mem_action *v = m->mem->plan.actions + node->action;
	uint32_t next = 0;

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

static void put_copy(struct tramp_mirror *m, const struct mem_state *s, uint32_t k)
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
	m->mem->fall_way = way_into(m, n, node->kept);
}

static void put_condition(struct tramp_mirror *m, const struct mem_node *node, const struct mem_state *s)
{
	const struct tramp_block *fb = mir_flow_block(m, node->block);
	const struct tramp_op *op = mir_last(m, node->block);
	const uint8_t *bytes = mir_bytes(m, op->off);
	uint8_t cc = bytes[op->disp_at - 1] & 0x0f;
	bool stub = fb->ends == TRAMP_END_TAIL_JCC && mir_wants(m, TRAMP_MIRROR_EXIT);

	mem_state(m, s, 0);
	if (op->kind == TRAMP_OP_JCC && !stub && node->target != TRAMP_NONE) {
		put_jcc(m, cc, node->target, way_into(m, node->target, node->kept));
		return;
	}
	if (op->kind == TRAMP_OP_JCC) {
		tramp_put_u8(&m->out, 0x0f);
		tramp_put_u8(&m->out, 0x80 | cc);
	} else {	/* loop 1f; jmp 2f; 1: jmp target; 2: */
		tramp_put_bytes(&m->out, bytes, op->disp_at);
		tramp_put_bytes(&m->out, "\x02\xeb\x05\xe9", 4);
	}
	if (stub)
		mir_put_stub_label(m, node->block);
	else if (node->target != TRAMP_NONE)
		put_node_label(m, node->target, way_into(m, node->target, node->kept));
	else
		tramp_put_rel32(&m->out, mir_moved(m, fb->target_addr), 0);
}

static void put_call(struct tramp_mirror *m, const struct mem_node *node)
{
	const struct tramp_op *last = mir_last(m, node->block);

	if (m->blocks.v[node->block].flags & MIR_MOVED)
		mir_put_moved_call(m, last);
	else
		mir_put_original(m, last->off);
}

static void put_tail_call(struct tramp_mirror *m, uint32_t block, uint32_t orig, tramp_regs live)
{
	mir_put_exit_probe(m, block, orig, live);
	mir_put_jump_out(m, block, orig);
}

/* The last instruction, in front of which the pointer has been brought to where it belongs. */
static void put_transfer(struct tramp_mirror *m, const struct mem_node *node, const struct mem_state *s)
{
	const struct tramp_block *fb = mir_flow_block(m, node->block);
	const struct tramp_op *op = mir_op(m, node->block, node->first + node->nops - 1);

	switch (op->kind) {
	case TRAMP_OP_CALL:
	case TRAMP_OP_CALL_IND:
		put_call(m, node);
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
		put_copy(m, s, node->nops - 1);
	}
}

/* What follows a last instruction that goes on behind itself. */
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

static void put_body(struct tramp_mirror *m, const struct mem_node *node, struct mem_state *s, uint32_t next)
{
	uint32_t last = node->nops - 1;
	uint8_t kind = mir_op(m, node->block, node->first + last)->kind;

	for (uint32_t k = 0; k < node->nops; k++) {
		s->orig = mem_orig(m, s->node, k);
		next = put_actions(m, s, next, k);
		if (k < last || !node->leaves)
			put_copy(m, s, k);
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
static void put_rest(struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);
	struct mem_state s = state_of(m, n);
	uint32_t next;

	label(m, n, MEM_KEPT);
	m->mem->fall = TRAMP_NONE;
	next = put_start(m, &s);
	if (node->nops)
		put_body(m, node, &s, next);
	else
		put_edge(m, node, &s, next);
}

/* ---- the order of nodes ---- */

static bool is_entered(const struct tramp_mirror *m, uint32_t n)
{
	const struct mir_block *b = &m->blocks.v[mem_node(m, n)->block];

	return m->mem->plan.entry[mem_node(m, n)->block] == n &&
	       (b->flags & (MIR_HEAD_WINDOW | MIR_TAIL_WINDOW | MIR_RETARGETED));
}

static void put_node(struct tramp_mirror *m, uint32_t n)
{
	bool falls = m->mem->fall == n;

	if (falls ? m->mem->fall_way == MEM_HOME :
		    place(m, n)->wanted[MEM_HOME] || is_entered(m, n) ||
			    mem_node(m, n)->reg == RT_MEM_NO_REG)
		put_home_in(m, n);
	put_rest(m, n);
}

static bool is_emitted(struct tramp_mirror *m, uint32_t n)
{
	return place(m, n)->at[MEM_KEPT] != TRAMP_NONE;
}

/* What falls through to something else than @next (which may be TRAMP_NONE) is led there. */
static void settle(struct tramp_mirror *m, uint32_t next)
{
	struct mir_mem *mem = m->mem;

	while (mem->fall != TRAMP_NONE && mem->fall != next) {
		uint32_t n = mem->fall;

		if (mem_node(m, n)->nops == 0 && !is_emitted(m, n)) {
			put_node(m, n);
			continue;
		}
		put_jump(m, n, mem->fall_way);
		mem->fall = TRAMP_NONE;
	}
}

static void put_entry_probe(struct tramp_mirror *m, uint32_t i)
{
	uint32_t n = m->mem->plan.body[i];
	struct mem_state s = { .node = n, .orig = mem_orig(m, n, 0), .reg = RT_MEM_NO_REG };

	mem_state(m, &s, 0);
	mir_put_entry_probe(m, i);
}

static void put_block(struct tramp_mirror *m, uint32_t i)
{
	const struct mem_plan *plan = &m->mem->plan;
	uint32_t first = plan->body[i], end = body_end(m, i), entry = plan->entry[i];

	settle(m, first);
	if (i == m->flow.entry)
		put_entry_probe(m, i);
	if (m->mem->fall == TRAMP_NONE && entry != TRAMP_NONE && is_entered(m, entry) &&
	    !is_emitted(m, entry) && entry != first) {
		put_node(m, entry);
		settle(m, first);
	}
	for (uint32_t n = first; n < end; n++) {
		settle(m, n);
		put_node(m, n);
	}
}

/* What nobody fell into, and the ways in from home of those who were fallen into. */
static bool put_rest_of_nodes(struct tramp_mirror *m)
{
	bool any = false;

	for (uint32_t n = 0; n < m->mem->plan.nnodes; n++) {
		const struct mem_place *p = place(m, n);

		if (!p->wanted[MEM_HOME] && !p->wanted[MEM_KEPT] && !is_entered(m, n))
			continue;
		if (!is_emitted(m, n)) {
			put_node(m, n);
			settle(m, TRAMP_NONE);
			any = true;
		}
		if (p->at[MEM_HOME] == TRAMP_NONE && (p->wanted[MEM_HOME] || is_entered(m, n))) {
			put_home_in(m, n);
			put_jump(m, n, MEM_KEPT);
			any = true;
		}
	}
	return any;
}

static bool begin(struct tramp_mirror *m)
{
	struct mir_mem *mem = m->mem;

	mem->fixups.n = 0;
	mem->slows.n = 0;
	mem->pieces.n = 0;
	mem->fall = TRAMP_NONE;
	mem->in_slow = false;
	if (!mir_reserve(&mem->places, mem->plan.nnodes))
		return false;
	for (size_t n = 0; n < mem->plan.nnodes; n++)
		mem->places.v[n] = (struct mem_place){ .at = { TRAMP_NONE, TRAMP_NONE } };
	return true;
}

/* Where the original's windows lead. */
static void note_copies(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		uint32_t entry = m->mem->plan.entry[i];

		if (entry != TRAMP_NONE)
			m->blocks.v[i].copy_at = place(m, entry)->at[MEM_HOME];
		m->blocks.v[i].tail_at = m->blocks.v[i].copy_at;
	}
	if (!mir_wants(m, TRAMP_MIRROR_ENTRY))
		m->entry_at = m->blocks.v[m->flow.entry].copy_at;
}

static void put_stubs(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks && mir_wants(m, TRAMP_MIRROR_EXIT); i++) {
		struct mem_state s = { .reg = RT_MEM_NO_REG, .flags = RT_MEM_MOVED };

		if (mir_flow_block(m, i)->ends != TRAMP_END_TAIL_JCC)
			continue;
		s.node = body_end(m, i) - 1;
		s.written = mem_node(m, s.node)->bytes;
		s.orig = mir_last(m, i)->off;
		mem_state(m, &s, 0);
		mir_put_stub(m, i);
	}
}

void mir_mem_emit_blocks(struct tramp_mirror *m)
{
	uint32_t n = m->flow.nblocks, entry = m->flow.entry;

	m->fixups.n = 0;
	if (!begin(m)) {
		m->lost = true;
		return;
	}
	for (uint32_t k = 0; k < n; k++)
		put_block(m, k < n - entry ? entry + k : k - (n - entry));
	settle(m, TRAMP_NONE);
	while (m->out.status == TRAMP_OK && !m->lost && put_rest_of_nodes(m))
		;
	put_stubs(m);
	mir_fix_labels(m);
	fix_nodes(m);
	note_copies(m);
}
