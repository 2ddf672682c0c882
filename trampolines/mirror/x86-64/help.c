// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What to do about a run that is reached but has no room for a jump, cheapest first:
 *
 *	lead the branches that come here to the copy (only where nobody else comes)
 *	copy some more of a block nearby: what its window leaves over is room for a slot
 *	make the block after it dead: copy it, and those who lead there
 *	make the call that follows in the copy
 *	make the block itself dead
 *	make dead whatever is nearby: slots may reach from one dead block into the next
 *
 * All of them only add to what is copied, so there is an end to it.
 */
#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/mirror/x86-64/plan.h"

enum {
	SMALL = 32,		/* bytes: a dead block that is copied as a whole */
};

/* How dear a lender is. */
enum { LEND_HEAD, LEND_TAIL, LEND_COLD, LEND_NEW, LEND_CALL, LEND_NOT };

static bool has_syscall(const struct tramp_mirror *m, uint32_t i, uint32_t from, uint32_t bytes)
{
	uint32_t start = mir_off(m, i, from);

	for (uint32_t k = from; mir_off(m, i, k) - start < bytes; k++) {
		if (mir_op(m, i, k)->kind == TRAMP_OP_SYSCALL)
			return true;
	}
	return false;
}

/* Where the call at its end begins, if there is one; else its end. */
static uint32_t copyable_end(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_op *last = mir_last(m, i);

	return mir_is_call(last) ? last->off : mir_flow_block(m, i)->end;
}

static bool head_can_lend(const struct tramp_mirror *m, uint32_t i, uint32_t jump, uint32_t *bytes)
{
	const struct mir_block *b = &m->blocks.v[i];
	uint32_t start = mir_off(m, i, b->lo);
	uint32_t end = mir_end_copied(b) ? mir_off(m, i, b->tail) : copyable_end(m, i);
	uint32_t from = b->head > b->lo ? b->used[MIR_HEAD] : start + MIR_JUMP;
	uint32_t at = mir_slot_at(jump, from, end);

	if (end <= start || at == TRAMP_NONE)
		return false;
	*bytes = at + MIR_JUMP - start;
	return !has_syscall(m, i, b->lo, *bytes);
}

/* One that begins at least 5 bytes further up, so that what was its window is free. */
static bool tail_can_lend(const struct tramp_mirror *m, uint32_t i, uint32_t jump, uint32_t *bytes)
{
	const struct mir_block *b = &m->blocks.v[i];
	uint32_t low = mir_off(m, i, b->head), start = mir_off(m, i, b->tail);
	uint32_t k = b->tail, from;

	if (start < low + MIR_JUMP)
		return false;
	while (start - mir_off(m, i, k) < MIR_JUMP)
		k--;
	from = mir_off(m, i, k);
	*bytes = mir_flow_block(m, i)->end - from;
	return mir_slot_at(jump, from + MIR_JUMP, start + MIR_JUMP) != TRAMP_NONE &&
	       !has_syscall(m, i, k, start - from);
}

static bool can_move_call(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_op *last = mir_last(m, i);
	struct tramp_decoded insn;

	return !m->strict && !(m->blocks.v[i].flags & (MIR_MOVED | MIR_RIGID | MIR_BARE)) &&
	       mir_is_call(last) &&
	       tramp_decode(mir_bytes(m, last->off), last->len, &insn) && !insn.unmovable;
}

/* With the bytes of its call. */
static bool call_can_lend(const struct tramp_mirror *m, uint32_t i, uint32_t jump)
{
	const struct mir_block *b = &m->blocks.v[i];
	uint32_t start = mir_off(m, i, b->lo);
	uint32_t from = mir_whole(b) ? b->used[MIR_TAIL] : start + MIR_JUMP;

	/* from < start: it was made whole in this round, and may have room when all is placed anew */
	return from >= start && can_move_call(m, i) &&
	       mir_slot_at(jump, from, mir_flow_block(m, i)->end) != TRAMP_NONE &&
	       !has_syscall(m, i, b->lo, mir_flow_block(m, i)->end - start);
}

static int plain_lender(const struct tramp_mirror *m, uint32_t i, uint32_t jump, uint32_t *bytes)
{
	const struct mir_block *b = &m->blocks.v[i];
	enum tramp_end ends = mir_flow_block(m, i)->ends;

	if ((b->flags & (MIR_RIGID | MIR_LENT)) || mir_whole(b))
		return LEND_NOT;
	if (b->head > b->lo)
		return head_can_lend(m, i, jump, bytes) ? LEND_HEAD : LEND_NOT;
	if (mir_end_copied(b))
		return tail_can_lend(m, i, jump, bytes) ? LEND_TAIL : LEND_NOT;
	if (b->lo >= mir_flow_block(m, i)->nops || !head_can_lend(m, i, jump, bytes))
		return LEND_NOT;
	return ends == TRAMP_END_STOP || ends == TRAMP_END_NORETURN || mir_is_exit(ends) ? LEND_COLD :
											     LEND_NEW;
}

static int lender(const struct tramp_mirror *m, uint32_t i, uint32_t jump, bool calls, uint32_t *bytes)
{
	int rank = plain_lender(m, i, jump, bytes);

	if (rank != LEND_NOT || !calls || (m->blocks.v[i].flags & (MIR_RIGID | MIR_LENT)))
		return rank;
	return call_can_lend(m, i, jump) ? LEND_CALL : LEND_NOT;
}

/* A block that only far branches come to can be dead, and then all of it is free. */
static bool lend_dead(struct tramp_mirror *m, uint32_t i, uint32_t jump)
{
	struct mir_block *b = &m->blocks.v[i];
	uint32_t start = mir_flow_block(m, i)->start, end = copyable_end(m, i);
	bool with_call = false;

	if ((b->flags & MIR_RIGID) || b->lo || mir_start_copied(b) || mir_end_copied(b))
		return false;
	if (mir_slot_at(jump, start, end) == TRAMP_NONE && can_move_call(m, i)) {
		with_call = true;
		end = mir_flow_block(m, i)->end;
	}
	if (mir_slot_at(jump, start, end) == TRAMP_NONE || has_syscall(m, i, 0, end - start) ||
	    !mir_retarget(m, i))
		return false;
	mir_copy_whole(m, i);
	b->flags |= with_call ? MIR_MOVED : 0;
	return true;
}

/* With `calls` also the bytes of one that the copy makes. */
static bool lend(struct tramp_mirror *m, const struct mir_window *lack, bool calls)
{
	struct mir_reach reach = mir_reach(m, lack->block, lack->off);
	uint32_t best = 0, best_bytes = 0;
	int best_rank = LEND_NOT;

	if (lack->len < MIR_SHORT || m->strict)
		return false;
	for (uint32_t j = reach.first; j <= reach.last; j++) {
		uint32_t bytes = 0;
		int rank = lender(m, j, lack->off, calls, &bytes);

		if (j == lack->block || rank >= best_rank)
			continue;
		best_rank = rank;
		best = j;
		best_bytes = bytes;
	}
	for (uint32_t j = reach.first; j <= reach.last && best_rank == LEND_NOT; j++) {
		if (j != lack->block && lend_dead(m, j, lack->off))
			return true;
	}
	if (best_rank == LEND_NOT)
		return false;
	m->blocks.v[best].flags |= MIR_LENT;
	if (best_rank == LEND_CALL) {
		mir_copy_whole(m, best);
		m->blocks.v[best].flags |= MIR_MOVED;
	} else if (best_rank == LEND_TAIL) {
		mir_copy_tail(m, best, best_bytes);
	} else {
		mir_copy_head(m, best, best_bytes);
	}
	return true;
}

/* The block after the run is copied, and nobody comes to it in the original any more. */
static bool free_behind(struct tramp_mirror *m, uint32_t next)
{
	const struct tramp_block *fb;
	struct mir_block *b;

	if (next == TRAMP_NONE)
		return false;
	fb = mir_flow_block(m, next);
	b = &m->blocks.v[next];
	if ((b->flags & MIR_RIGID) || b->lo || mir_is_call(mir_op(m, next, 0)) || !mir_close(m, next))
		return false;
	if (fb->end - fb->start <= SMALL)
		mir_copy_whole(m, next);
	else
		mir_copy_head(m, next, MIR_JUMP);
	return true;
}

static bool move_call(struct tramp_mirror *m, const struct mir_window *lack)
{
	if (lack->run != MIR_TAIL || !can_move_call(m, lack->block))
		return false;
	m->blocks.v[lack->block].flags |= MIR_MOVED;
	return true;
}

static bool can_be_dead(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	const struct mir_block *b = &m->blocks.v[i];

	return !(b->flags & (MIR_RIGID | MIR_BARE)) && !b->lo &&
	       (mir_whole(b) || !has_syscall(m, i, 0, fb->end - fb->start));
}

/* The blocks around it are copied, and nobody comes to them in the original any more. */
static bool free_nearby(struct tramp_mirror *m, const struct mir_window *lack)
{
	struct mir_reach reach = mir_reach(m, lack->block, lack->off);
	bool changed = false;

	if (lack->len < MIR_SHORT || m->strict)
		return false;
	for (uint32_t j = reach.first; j <= reach.last; j++) {
		if (j == lack->block || !can_be_dead(m, j) || !mir_is_live(m, j) || !mir_close(m, j))
			continue;
		mir_copy_whole(m, j);
		changed = true;
	}
	return changed;
}

enum {
	TRY_RETARGET, TRY_LEND, TRY_BEHIND, TRY_LEND_MORE, TRY_CALL, TRY_BEHIND_MORE, TRY_CLOSE, TRY_NEARBY,
	TRY_END
};

static bool try(struct tramp_mirror *m, const struct mir_window *lack, int what)
{
	bool at_start = lack->off == mir_off(m, lack->block, m->blocks.v[lack->block].lo);
	uint32_t stop;

	switch (what) {
	case TRY_RETARGET:
		return at_start && mir_retarget(m, lack->block);
	case TRY_LEND:
	case TRY_LEND_MORE:
		return lend(m, lack, what == TRY_LEND_MORE);
	case TRY_BEHIND:
	case TRY_BEHIND_MORE:
		(void)mir_free_bytes(m, lack->block, lack->run, MIR_JUMP, &stop);
		return free_behind(m, stop);
	case TRY_CALL:
		return move_call(m, lack);
	case TRY_CLOSE:
		return at_start && mir_close(m, lack->block);
	default:
		return free_nearby(m, lack);
	}
}

bool mir_help(struct tramp_mirror *m, const struct mir_window *lack)
{
	struct mir_block *b = &m->blocks.v[lack->block];

	while (b->tries < TRY_END) {
		if (try(m, lack, b->tries++))
			return true;
	}
	return false;
}
