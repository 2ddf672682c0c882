// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The copies of a function that records memory: nodes instead of blocks, in the order of the
 * blocks.
 *
 * A node follows the one that falls into it.  Where that comes with the pointer in its register,
 * the home entry stands after all other code; a node without instructions stands before the node that it leads
 * to, or where a node falls into it, or after all others.
 */
#include <stdlib.h>
#include <string.h>

#include "trampolines/memory/x86-64/emit.h"

/* Bytes, at most. */
enum {
	HEADER_MAX = 9,
	HOME_IN_MAX = 18 + 5,	/* park, load, and a jump if it stands alone */
	GUESS_MAX = 6 + 14,	/* a jump, and the load out of line */
	HOME_OUT_MAX = 8 + 18,
	JUMPS_MAX = 24,		/* what a last instruction becomes, besides itself; to the next node */
	STORE_MAX = 10,
	EXTRA_MAX = 24,
	CHECK_MAX = 15,
	SLOW_MAX = 52,
	OWNER_MAX = 24,
	SAVE_MAX = 56,		/* rax and flags put aside and back ... */
	UNDO_MAX = 26,		/* ... also in the slow path */
	LEAVE_MAX = 18,
	COUNT_MAX = 13 + 6,
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
	mem_planner_free(m->own_planner);
	if (!m->mem)
		return;
	mem_plan_free(&m->mem->plan);
	free(m->mem->places.v);
	free(m->mem->plain.v);
	free(m->mem->plain_op.v);
	free(m->mem->exits.v);
	free(m->mem->polls.v);
	free(m->mem->outs.v);
	free(m->mem->fixups.v);
	free(m->mem->slows.v);
	free(m->mem->misses.v);
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
	if (!*m->planner)
		*m->planner = mem_planner_new();
	if (!*m->planner)
		return TRAMP_MIRROR_MEMORY;
	return mem_plan(*m->planner, &m->mem->plan, &m->mem->env, &m->flow, m->mem->load_addr);
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

/* Where control comes back to, nobody asks any more whose pool it is. */
bool mir_mem_bare(const struct tramp_mirror *m, uint32_t i)
{
	if (mem_node(m, m->mem->plan.body[i])->owner && !mir_is_exit(mir_flow_block(m, i)->ends))
		return false;
	for (uint32_t n = m->mem->plan.body[i]; n < body_end(m, i); n++) {
		if (records(m, mem_node(m, n)))
			return false;
	}
	return true;
}

static size_t action_room(const struct mem_action *a)
{
	switch (a->code) {
	case MEM_CHECK:
		return CHECK_MAX + SLOW_MAX + LEAVE_MAX + (a->flags_live ? SAVE_MAX + UNDO_MAX : 0);
	case MEM_STORE_EXTRA:
		return EXTRA_MAX;
	default:
		return STORE_MAX;
	}
}

static size_t node_room(const struct tramp_mirror *m, const struct mem_node *node)
{
	const struct mem_action *v = m->mem->plan.actions + node->action;
	size_t room = JUMPS_MAX + (m->mem->env.count ? COUNT_MAX + SLOW_MAX + LEAVE_MAX : 0);

	if (node->reg != RT_MEM_NO_REG)
		room += HEADER_MAX + HOME_IN_MAX + GUESS_MAX + HOME_OUT_MAX;
	if (node->owner)
		room += OWNER_MAX + SLOW_MAX + SAVE_MAX + UNDO_MAX;
	for (uint32_t i = 0; i < node->nactions; i++)
		room += action_room(&v[i]);
	return room;
}

size_t mir_mem_room(const struct tramp_mirror *m)
{
	size_t room = 0;

	for (size_t n = 0; n < m->mem->plan.nnodes; n++)
		room += node_room(m, mem_node(m, (uint32_t)n));
	for (uint32_t i = 0; i < m->flow.nblocks && m->mem->env.count; i++)
		room += mem_unroll_room(m, i);
	if (m->mem->env.sampled)
		room += mem_plain_room(m);
	return room;
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

	if (falls ? m->mem->fall_entry == MEM_HOME :
		    mem_place(m, n)->wanted[MEM_HOME] || is_entered(m, n) ||
			    mem_node(m, n)->reg == RT_MEM_NO_REG)
		mem_put_home_in(m, n);
	mem_put_rest(m, n);
}

static bool is_emitted(struct tramp_mirror *m, uint32_t n)
{
	return mem_place(m, n)->at[MEM_KEPT] != TRAMP_NONE;
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
		mem_put_jump(m, n, mem->fall_entry);
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
	if (i == m->flow.entry && !m->mem->env.sampled)
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

/* Nodes that no other falls into, and home entries of those that others fall into. */
static bool put_rest_of_nodes(struct tramp_mirror *m)
{
	bool any = false;

	for (uint32_t n = 0; n < m->mem->plan.nnodes; n++) {
		const struct mem_place *p = mem_place(m, n);

		if (!p->wanted[MEM_HOME] && !p->wanted[MEM_KEPT] && !is_entered(m, n))
			continue;
		if (!is_emitted(m, n)) {
			put_node(m, n);
			settle(m, TRAMP_NONE);
			any = true;
		}
		if (p->at[MEM_HOME] == TRAMP_NONE && (p->wanted[MEM_HOME] || is_entered(m, n))) {
			mem_put_home_in(m, n);
			mem_put_jump(m, n, MEM_KEPT);
			any = true;
		}
	}
	return any;
}

static void put_all_nodes(struct tramp_mirror *m)
{
	while (m->out.status == TRAMP_OK && !m->lost && put_rest_of_nodes(m))
		;
}

static bool begin(struct tramp_mirror *m)
{
	struct mir_mem *mem = m->mem;

	mem->fixups.n = 0;
	mem->slows.n = 0;
	mem->misses.n = 0;
	mem->pieces.n = 0;
	mem->outs.n = 0;
	mem->fall = TRAMP_NONE;
	mem->in_slow = false;
	if (!mir_reserve(&mem->places, mem->plan.nnodes) || !mem_plain_begin(m))
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

		if (entry != TRAMP_NONE && !m->mem->plan.polled[i])
			m->blocks.v[i].copy_at = m->mem->env.sampled ? m->mem->plain.v[i].gate :
								       mem_place(m, entry)->at[MEM_HOME];
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
	put_all_nodes(m);
	mem_put_exits(m);
	put_stubs(m);
	mir_fix_labels(m);
	if (m->mem->env.sampled) {
		mem_put_plain(m);
		put_all_nodes(m);
	}
	mem_fix_labels(m);
	note_copies(m);
}
