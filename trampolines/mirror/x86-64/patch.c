// SPDX-License-Identifier: GPL-3.0-or-later
/* What is written over the original: windows, slots, displacements of branches. */
#include <stdlib.h>
#include <string.h>

#include "trampolines/mirror/x86-64/plan.h"

uint32_t mir_run_at(const struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	const struct mir_block *b = &m->blocks.v[i];

	if (run == MIR_TAIL && !mir_whole(b))
		return b->tail_at;
	if (i == m->flow.entry)
		return m->entry_at;
	return mir_wants(m, TRAMP_MIRROR_BLOCKS) ? b->land_at : b->copy_at;
}

/* Room was made for all of them. */
static struct tramp_patch *add(struct tramp_mirror *m, uint32_t off, uint8_t len)
{
	struct tramp_patch *p = &m->patches.v[m->patches.n++];

	memset(p, 0, sizeof(*p));
	p->off = off;
	p->len = len;
	memcpy(p->was, mir_bytes(m, off), len);
	return p;
}

/* The displacement of an instruction that ends at `end` to `at` in the mirror. */
static void put_rel(struct tramp_mirror *m, uint8_t *bytes, uint32_t end, uint32_t at)
{
	uint64_t from = m->base + end, to = m->out.addr + at;
	uint32_t rel = (uint32_t)(to - from);

	if (!tramp_reaches(from, to))
		m->out.status = TRAMP_FAR;
	memcpy(bytes, &rel, sizeof(rel));
}

static void add_jump(struct tramp_mirror *m, uint32_t off, uint32_t at)
{
	struct tramp_patch *p = add(m, off, MIR_JUMP);

	p->bytes[0] = 0xe9;
	put_rel(m, p->bytes + 1, off + MIR_JUMP, at);
}

static void add_window(struct tramp_mirror *m, const struct mir_window *w)
{
	uint32_t at = mir_run_at(m, w->block, w->run);
	struct tramp_patch *p;

	if (w->len == MIR_JUMP) {
		add_jump(m, w->off, at);
		return;
	}
	p = add(m, w->off, MIR_SHORT);
	p->bytes[0] = 0xeb;
	p->bytes[1] = (uint8_t)(w->slot - (w->off + MIR_SHORT));
	add_jump(m, w->slot, at);
}

static void add_retargeted(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	const struct tramp_op *op = mir_last(m, i);
	struct tramp_patch *p = add(m, op->off + op->disp_at, op->disp_len);
	uint32_t at = fb->ends == TRAMP_END_TAIL_JCC ? m->blocks.v[i].stub_at :
						       m->blocks.v[fb->target].copy_at;

	put_rel(m, p->bytes, op->off + op->len, at);
}

static int by_offset(const void *left, const void *right)
{
	const struct tramp_patch *a = left, *b = right;

	return a->off < b->off ? -1 : a->off > b->off;
}

void mir_emit_patches(struct tramp_mirror *m)
{
	m->patches.n = 0;
	if (!mir_reserve(&m->patches, 2 * m->windows.n + m->flow.nblocks)) {
		m->lost = true;
		return;
	}
	for (size_t k = 0; k < m->windows.n; k++)
		add_window(m, &m->windows.v[k]);
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		if ((m->blocks.v[i].flags & MIR_RETARGETED) && !mir_end_copied(&m->blocks.v[i]))
			add_retargeted(m, i);
	}
	if (m->patches.n > 1)
		qsort(m->patches.v, m->patches.n, sizeof(*m->patches.v), by_offset);
}

void mir_note_calls(struct tramp_mirror *m)
{
	m->calls.n = 0;
	if (!mir_reserve(&m->calls, m->flow.nblocks)) {
		m->lost = true;
		return;
	}
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct tramp_block *fb = mir_flow_block(m, i);
		const struct tramp_op *op = mir_last(m, i);

		if (op->kind == TRAMP_OP_CALL && op->disp_len == 4 && !(m->blocks.v[i].flags & MIR_MOVED))
			m->calls.v[m->calls.n++] = (struct tramp_mirror_call){
				.off = op->off + op->disp_at, .target = fb->target_addr,
			};
	}
}
