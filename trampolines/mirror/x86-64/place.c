// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where the jumps to the copies stand.  A window may go on after its run, over padding and dead blocks:
 *
 *	jmp copy ────────┐ 5 bytes		eb slot		 2 bytes
 *	│ run │ padding │ dead block │		│ run │ ...      in 127 bytes: jmp copy
 */
#include "trampolines/mirror/x86-64/plan.h"

uint32_t mir_run_start(const struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	const struct mir_block *b = &m->blocks.v[i];

	return mir_off(m, i, run == MIR_HEAD ? b->lo : b->tail);
}

uint32_t mir_run_end(const struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	const struct mir_block *b = &m->blocks.v[i];

	if (run == MIR_HEAD)
		return mir_off(m, i, b->head);
	if (mir_is_call(mir_last(m, i)) && !(b->flags & MIR_MOVED))
		return mir_last(m, i)->off;
	return mir_flow_block(m, i)->end;
}

/* The run that holds the block's start. */
static enum mir_run first_run(const struct mir_block *b)
{
	return mir_whole(b) ? MIR_TAIL : MIR_HEAD;
}

/* Are its bytes free from its first one on, and nobody comes to it? */
static bool is_free_block(struct tramp_mirror *m, uint32_t i)
{
	const struct mir_block *b = &m->blocks.v[i];
	enum mir_run run = first_run(b);

	return mir_start_copied(b) && b->lo == 0 && !(b->flags & MIR_RIGID) &&
	       b->used[run] == mir_run_start(m, i, run) && !mir_is_live(m, i);
}

/* Bytes of the instruction itself and, if it is the last one, of the padding after it. */
static uint32_t strict_bytes(struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	uint32_t start = mir_run_start(m, i, run);
	const struct mir_block *b = &m->blocks.v[i];
	uint32_t k = run == MIR_HEAD ? b->lo : b->tail;

	if (k >= mir_flow_block(m, i)->nops || start == mir_run_end(m, i, run))
		return 0;
	mir_find_gap(m, i);
	if (k + 1 == mir_flow_block(m, i)->nops && b->gap == mir_flow_block(m, i)->end)
		return b->gap_end - start;
	return mir_op(m, i, k)->len;
}

static uint32_t at_most(uint32_t n, uint32_t want)
{
	return n < want ? n : want;
}

/* Goes over free bytes, from `start` in the run on; with `take` they are used from then on. */
static uint32_t walk(struct tramp_mirror *m, uint32_t i, enum mir_run run, uint32_t start, uint32_t want,
		     bool take, uint32_t *stop)
{
	uint32_t n = 0;

	*stop = TRAMP_NONE;
	for (;; i++, run = first_run(&m->blocks.v[i]), start = mir_run_start(m, i, run)) {
		struct mir_block *b = &m->blocks.v[i];
		uint32_t end = mir_run_end(m, i, run);
		uint32_t bytes = at_most(end - start, want - n);

		n += bytes;
		if (take)
			b->used[run] = start + bytes;
		if (n == want || end != mir_flow_block(m, i)->end)
			return n;
		mir_find_gap(m, i);
		if (b->gap != end)
			return n;
		bytes = at_most(b->gap_end - end, want - n);
		n += bytes;
		if (take)
			b->gap = end + bytes;
		if (n == want || i + 1 == m->flow.nblocks ||
		    m->flow.blocks[i + 1].start != b->gap_end)
			return n;
		if (!is_free_block(m, i + 1)) {
			*stop = i + 1;
			return n;
		}
	}
}

uint32_t mir_free_bytes(struct tramp_mirror *m, uint32_t i, enum mir_run run, uint32_t want,
			uint32_t *stop)
{
	*stop = TRAMP_NONE;
	if (m->strict)
		return at_most(strict_bytes(m, i, run), want);
	return walk(m, i, run, mir_run_start(m, i, run), want, false, stop);
}

static void note_window(struct tramp_mirror *m, const struct mir_window *w)
{
	if (!mir_reserve(&m->windows, m->windows.n + 1)) {
		m->lost = true;
		return;
	}
	m->windows.v[m->windows.n++] = *w;
	m->blocks.v[w->block].flags |= w->run == MIR_HEAD ? MIR_HEAD_WINDOW : MIR_TAIL_WINDOW;
}

static void note_short(struct tramp_mirror *m, const struct mir_window *w)
{
	if (mir_reserve(&m->shorts, m->shorts.n + 1))
		m->shorts.v[m->shorts.n++] = *w;
	else
		m->lost = true;
}

static void place_window(struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	struct mir_window w = {
		.off = mir_run_start(m, i, run), .block = i, .run = (uint8_t)run, .len = MIR_JUMP,
	};
	uint32_t stop;

	if (m->blocks.v[i].flags & MIR_BARE)
		return;
	if (m->blocks.v[i].flags & MIR_RIGID) {
		w.len = 0;
		note_short(m, &w);
		return;
	}
	if (mir_free_bytes(m, i, run, MIR_JUMP, &stop) == MIR_JUMP) {
		(void)walk(m, i, run, w.off, MIR_JUMP, true, &stop);
		note_window(m, &w);
		return;
	}
	if (mir_wants(m, TRAMP_MIRROR_LED) && i == m->flow.entry && w.off == mir_off(m, i, m->blocks.v[i].lo)) {
		w.len = 0;
		m->blocks.v[i].used[run] = mir_run_end(m, i, run);
		note_short(m, &w);
		return;
	}
	w.len = (uint8_t)mir_free_bytes(m, i, run, MIR_SHORT, &stop);
	(void)walk(m, i, run, w.off, w.len, true, &stop);
	/* Its other bytes are too few for a slot. */
	m->blocks.v[i].used[run] = mir_run_end(m, i, run);
	note_short(m, &w);
}

uint32_t mir_slot_at(uint32_t jump, uint32_t from, uint32_t end)
{
	uint32_t low = jump > MIR_SHORT_BACK ? jump - MIR_SHORT_BACK : 0;
	uint32_t at = from > low ? from : low;

	return at <= jump + MIR_SHORT_AHEAD && at < end && end - at >= MIR_JUMP ? at : TRAMP_NONE;
}

struct mir_reach mir_reach(const struct tramp_mirror *m, uint32_t i, uint32_t jump)
{
	uint32_t low = jump > MIR_SHORT_BACK ? jump - MIR_SHORT_BACK : 0;
	struct mir_reach reach = { i, i };

	while (reach.first > 0 && m->flow.blocks[reach.first].start > low)
		reach.first--;
	while (reach.last + 1 < m->flow.nblocks &&
	       m->flow.blocks[reach.last + 1].start <= jump + MIR_SHORT_AHEAD)
		reach.last++;
	return reach;
}

static bool slot_in_run(struct tramp_mirror *m, struct mir_window *w, uint32_t j, enum mir_run run)
{
	struct mir_block *b = &m->blocks.v[j];

	w->slot = mir_slot_at(w->off, b->used[run], mir_run_end(m, j, run));
	if (w->slot != TRAMP_NONE)
		b->used[run] = w->slot + MIR_JUMP;
	return w->slot != TRAMP_NONE;
}

/* One that begins in the block's tail and ends in dead blocks after it. */
static bool slot_across(struct tramp_mirror *m, struct mir_window *w, uint32_t j)
{
	uint32_t end = mir_flow_block(m, j)->end, at = m->blocks.v[j].used[MIR_TAIL], stop;

	if (mir_run_end(m, j, MIR_TAIL) != end)
		return false;
	/* mir_slot_at() asks for five bytes: as if so many were after the tail */
	at = at < end ? mir_slot_at(w->off, at, end + MIR_JUMP) : TRAMP_NONE;
	if (at >= end || walk(m, j, MIR_TAIL, at, MIR_JUMP, false, &stop) < MIR_JUMP)
		return false;
	(void)walk(m, j, MIR_TAIL, at, MIR_JUMP, true, &stop);
	w->slot = at;
	return true;
}

static bool slot_in_block(struct tramp_mirror *m, struct mir_window *w, uint32_t j)
{
	struct mir_block *b = &m->blocks.v[j];

	if (b->flags & MIR_RIGID)
		return false;
	mir_find_gap(m, j);
	w->slot = mir_slot_at(w->off, b->gap, b->gap_end);
	if (w->slot != TRAMP_NONE) {
		b->gap = w->slot + MIR_JUMP;
		return true;
	}
	if (m->strict || (b->flags & MIR_BARE))
		return false;
	return (b->head > b->lo && slot_in_run(m, w, j, MIR_HEAD)) ||
	       (mir_end_copied(b) && (slot_in_run(m, w, j, MIR_TAIL) || slot_across(m, w, j)));
}

static bool find_slot(struct tramp_mirror *m, struct mir_window *w)
{
	struct mir_reach reach = mir_reach(m, w->block, w->off);

	for (uint32_t j = w->block; j <= reach.last; j++) {
		if (slot_in_block(m, w, j))
			return true;
	}
	for (uint32_t j = w->block; j-- > reach.first;) {
		if (slot_in_block(m, w, j))
			return true;
	}
	return false;
}

static void place_slots(struct tramp_mirror *m)
{
	size_t kept = 0;

	for (size_t k = 0; k < m->shorts.n; k++) {
		struct mir_window *w = &m->shorts.v[k];

		if (w->len == MIR_SHORT && find_slot(m, w))
			note_window(m, w);
		else
			m->shorts.v[kept++] = *w;
	}
	m->shorts.n = kept;
}

static void reset(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		struct mir_block *b = &m->blocks.v[i];

		b->used[MIR_HEAD] = mir_off(m, i, b->lo);
		if (mir_end_copied(b))
			b->used[MIR_TAIL] = mir_off(m, i, b->tail);
		b->gap = mir_flow_block(m, i)->end;
		b->flags &= (uint8_t)~(MIR_LENT | MIR_HEAD_WINDOW | MIR_TAIL_WINDOW);
	}
	m->windows.n = 0;
	m->shorts.n = 0;
}

void mir_place(struct tramp_mirror *m)
{
	reset(m);
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct mir_block *b = &m->blocks.v[i];

		if (b->head > b->lo && mir_is_live(m, i))
			place_window(m, i, MIR_HEAD);
		if (mir_end_copied(b) && (!mir_whole(b) || mir_is_live(m, i)))
			place_window(m, i, MIR_TAIL);
	}
	place_slots(m);
}
