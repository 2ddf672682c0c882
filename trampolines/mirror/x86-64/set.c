// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which instructions are copied: what the probes need at first.
 *
 *	entry		the instructions that the jump to the probe covers
 *	ret, jmp *x	the last instructions of the block, as many as a jump covers
 *	jmp f		likewise; usually this one instruction
 *	jcc f		nothing: its displacement is changed, to lead to a probe and a jump to f
 */
#include "trampolines/mirror/x86-64/plan.h"

enum {
	WHOLE_GAP = 48,	/* so many bytes between head and tail are copied rather than jumped over */
};

/* Where head and tail touch or nearly do, the block is copied as a whole. */
static void join(struct tramp_mirror *m, uint32_t i)
{
	struct mir_block *b = &m->blocks.v[i];
	uint32_t near = b->head > b->lo ? WHOLE_GAP : 0;

	if (!mir_end_copied(b) || b->head <= b->lo)
		return;
	if (b->tail <= b->head || mir_off(m, i, b->tail) - mir_off(m, i, b->head) < near)
		mir_copy_whole(m, i);
}

void mir_copy_whole(struct tramp_mirror *m, uint32_t i)
{
	struct mir_block *b = &m->blocks.v[i];

	b->tail = b->lo;
	b->head = b->lo;
}

void mir_copy_head(struct tramp_mirror *m, uint32_t i, uint32_t bytes)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	struct mir_block *b = &m->blocks.v[i];
	uint32_t start = mir_off(m, i, b->lo);

	if (mir_whole(b))
		return;
	while (b->head < fb->nops && mir_off(m, i, b->head) - start < bytes)
		b->head++;
	/* The last instruction's fall-through edge belongs to it. */
	if (b->head == fb->nops || mir_is_call(mir_op(m, i, b->head)))
		mir_copy_whole(m, i);
	else
		join(m, i);
}

void mir_copy_tail(struct tramp_mirror *m, uint32_t i, uint32_t bytes)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	struct mir_block *b = &m->blocks.v[i];
	uint32_t k = mir_end_copied(b) ? b->tail : fb->nops;

	if (mir_whole(b))
		return;
	while (k > b->lo && (k == fb->nops || fb->end - mir_off(m, i, k) < bytes))
		k--;
	b->tail = k;
	join(m, i);
}

/*
 * To the entry, by an edge that cannot be redirected.  A jump table that holds it matters only if it may be
 * the function's own: otherwise the jump is a tail call.
 */
static bool comes_back_blindly(const struct tramp_mirror *m)
{
	uint8_t flags = mir_flow_block(m, m->flow.entry)->flags;

	if (flags & (TRAMP_BLOCK_RETURN | TRAMP_BLOCK_PAD))
		return true;
	for (uint32_t i = 0; i < m->flow.nblocks && (flags & TRAMP_BLOCK_TABLE); i++) {
		enum tramp_end ends = mir_flow_block(m, i)->ends;

		if (tramp_end_is_switch(ends))
			return true;
	}
	return false;
}

/* Its own branch to the entry must not run the probe again. */
static enum tramp_mirror_status lead_past_probe(struct tramp_mirror *m)
{
	uint32_t entry = m->flow.entry;

	if (comes_back_blindly(m))
		return TRAMP_MIRROR_ENTRY_SHORT;
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct tramp_block *fb = mir_flow_block(m, i);
		struct mir_block *b = &m->blocks.v[i];

		if (fb->target != entry && fb->next != entry)
			continue;
		if (b->flags & MIR_RIGID)
			return TRAMP_MIRROR_ENTRY_SHORT;
		if (fb->target == entry && mir_last(m, i)->disp_len == 4)
			b->flags |= MIR_RETARGETED;
		else
			mir_copy_tail(m, i, MIR_JUMP);
		if (fb->next == entry && !mir_end_copied(b))
			mir_copy_tail(m, i, MIR_JUMP);
	}
	return TRAMP_MIRROR_OK;
}

static enum tramp_mirror_status choose_entry(struct tramp_mirror *m)
{
	struct mir_block *b = &m->blocks.v[m->flow.entry];

	if (b->flags & MIR_RIGID)
		return TRAMP_MIRROR_ENTRY_SHORT;
	mir_copy_head(m, m->flow.entry, MIR_JUMP);
	return lead_past_probe(m);
}

/*
 * Where any instruction may be jumped to, one instruction has to have the room, with the padding
 * after it.
 */
static void choose_strict_tail(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	struct mir_block *b = &m->blocks.v[i];
	uint32_t k = fb->nops - 1;

	mir_find_gap(m, i);
	if (b->gap_end - mir_off(m, i, k) < MIR_JUMP) {
		while (k > b->lo && mir_op(m, i, k)->len < MIR_JUMP)
			k--;
	}
	b->tail = k;
	join(m, i);
}

static enum tramp_mirror_status choose_exit(struct tramp_mirror *m, uint32_t i)
{
	struct mir_block *b = &m->blocks.v[i];
	const struct tramp_op *last = mir_last(m, i);

	m->nexits++;
	if (b->flags & MIR_RIGID)
		return TRAMP_MIRROR_EXIT_SHORT;
	if (mir_flow_block(m, i)->ends == TRAMP_END_TAIL_JCC && last->disp_len == 4 &&
	    !mir_end_copied(b)) {
		b->flags |= MIR_RETARGETED;
		return TRAMP_MIRROR_OK;
	}
	if (m->strict)
		choose_strict_tail(m, i);
	else
		mir_copy_tail(m, i, MIR_JUMP);
	return TRAMP_MIRROR_OK;
}

static enum tramp_mirror_status choose_exits(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		enum tramp_mirror_status status = TRAMP_MIRROR_OK;

		if (mir_flow_block(m, i)->ends == TRAMP_END_UNSURE)
			return TRAMP_MIRROR_UNSURE;
		if (mir_is_exit(mir_flow_block(m, i)->ends))
			status = choose_exit(m, i);
		if (status != TRAMP_MIRROR_OK)
			return status;
	}
	return TRAMP_MIRROR_OK;
}

/* A block that is nothing but a call runs where it is, unless its accesses are recorded, or it is counted. */
static void choose_all(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		struct mir_block *b = &m->blocks.v[i];

		if (mir_wants(m, TRAMP_MIRROR_ACCESSES) || mir_wants(m, TRAMP_MIRROR_BLOCKS))
			mir_copy_whole(m, i);
		else if (!(b->flags & MIR_RIGID) && b->lo < mir_flow_block(m, i)->nops &&
		    !mir_is_call(mir_op(m, i, b->lo)))
			mir_copy_whole(m, i);
	}
}

enum tramp_mirror_status mir_choose(struct tramp_mirror *m)
{
	enum tramp_mirror_status status = TRAMP_MIRROR_OK;

	m->nexits = 0;
	if (mir_wants(m, TRAMP_MIRROR_WHOLE) || mir_wants(m, TRAMP_MIRROR_ACCESSES) || mir_wants(m, TRAMP_MIRROR_BLOCKS))
		choose_all(m);
	if (mir_wants(m, TRAMP_MIRROR_ENTRY))
		status = choose_entry(m);
	if (status == TRAMP_MIRROR_OK && mir_wants(m, TRAMP_MIRROR_EXIT))
		status = choose_exits(m);
	return status;
}
