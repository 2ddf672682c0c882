// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Who comes to a block in the original, and how to lead them to its copy instead.
 *
 * An edge stays in the copies if the end of the block where it begins is copied.  A branch with 4
 * bytes of displacement can be led to the copy without copying it.
 */
#include <string.h>

#include "trampolines/mirror/x86-64/plan.h"

static void count_edge(struct tramp_mirror *m, uint32_t to)
{
	if (to != TRAMP_NONE)
		m->pred_at.v[to + 1]++;
}

static void note_edge(struct tramp_mirror *m, uint32_t *fill, uint32_t from, uint32_t to)
{
	if (to != TRAMP_NONE)
		m->preds.v[fill[to]++] = from;
}

static bool find_preds(struct tramp_mirror *m)
{
	uint32_t n = m->flow.nblocks;
	uint32_t *fill;

	/* After the starts, the same again to be moved while the edges are filled in. */
	if (!mir_reserve(&m->pred_at, 2 * (size_t)n + 2) || !mir_reserve(&m->preds, 2 * (size_t)n + 1))
		return false;
	memset(m->pred_at.v, 0, (n + 1) * sizeof(*m->pred_at.v));
	for (uint32_t i = 0; i < n; i++) {
		count_edge(m, mir_flow_block(m, i)->target);
		count_edge(m, mir_flow_block(m, i)->next);
	}
	for (uint32_t i = 0; i < n; i++)
		m->pred_at.v[i + 1] += m->pred_at.v[i];
	fill = m->pred_at.v + n + 1;
	memcpy(fill, m->pred_at.v, (n + 1) * sizeof(*fill));
	for (uint32_t i = 0; i < n; i++) {
		note_edge(m, fill, i, mir_flow_block(m, i)->target);
		note_edge(m, fill, i, mir_flow_block(m, i)->next);
	}
	return true;
}

/* Most functions never need them. */
static bool have_preds(struct tramp_mirror *m)
{
	if (!m->have_preds) {
		m->have_preds = find_preds(m);
		m->lost |= !m->have_preds;
	}
	return m->have_preds;
}

/* May control come here otherwise than by the function's own edges? */
static bool is_open(const struct tramp_mirror *m, uint32_t i)
{
	return i == m->flow.entry || m->strict ||
	       (mir_flow_block(m, i)->flags &
		(TRAMP_BLOCK_EXTERNAL | TRAMP_BLOCK_RETURN | TRAMP_BLOCK_PAD | TRAMP_BLOCK_TABLE));
}

/* Does an edge from p's end to i run in the original? */
static bool leads_here(const struct tramp_mirror *m, uint32_t p, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, p);
	const struct mir_block *b = &m->blocks.v[p];

	if (mir_end_copied(b))
		return false;
	return fb->next == i || (fb->target == i && !(b->flags & MIR_RETARGETED));
}

bool mir_is_live(struct tramp_mirror *m, uint32_t i)
{
	if (is_open(m, i) || !have_preds(m))
		return true;
	for (uint32_t e = m->pred_at.v[i]; e < m->pred_at.v[i + 1]; e++) {
		if (leads_here(m, m->preds.v[e], i))
			return true;
	}
	return false;
}

static bool by_far_branch(const struct tramp_mirror *m, uint32_t p, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, p);

	return fb->target == i && fb->next != i && mir_last(m, p)->disp_len == 4 &&
	       !(m->blocks.v[p].flags & MIR_RIGID);
}

bool mir_retarget(struct tramp_mirror *m, uint32_t i)
{
	if (is_open(m, i) || !have_preds(m))
		return false;
	for (uint32_t e = m->pred_at.v[i]; e < m->pred_at.v[i + 1]; e++) {
		uint32_t p = m->preds.v[e];

		if (leads_here(m, p, i) && !by_far_branch(m, p, i))
			return false;
	}
	for (uint32_t e = m->pred_at.v[i]; e < m->pred_at.v[i + 1]; e++) {
		uint32_t p = m->preds.v[e];

		if (leads_here(m, p, i))
			m->blocks.v[p].flags |= MIR_RETARGETED;
	}
	return true;
}

bool mir_close(struct tramp_mirror *m, uint32_t i)
{
	if (is_open(m, i) || !have_preds(m))
		return false;
	for (uint32_t e = m->pred_at.v[i]; e < m->pred_at.v[i + 1]; e++) {
		uint32_t p = m->preds.v[e];

		if (leads_here(m, p, i) && !by_far_branch(m, p, i) &&
		    (m->blocks.v[p].flags & MIR_RIGID))
			return false;
	}
	for (uint32_t e = m->pred_at.v[i]; e < m->pred_at.v[i + 1]; e++) {
		uint32_t p = m->preds.v[e];

		if (!leads_here(m, p, i))
			continue;
		if (by_far_branch(m, p, i))
			m->blocks.v[p].flags |= MIR_RETARGETED;
		else
			mir_copy_tail(m, p, MIR_JUMP);
	}
	return true;
}
