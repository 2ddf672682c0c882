// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks that are copied for speed alone.  Calls that are counted mostly have nothing to do but to be counted: what they take are
 * the jumps to the copies and back.  A call that makes no calls can stay in the copy from its entry to its exit:
 *
 *	entry ──▶ jcc ──▶ ret		both blocks, and all others on such a way
 *	           └────▶ call g	back to the original, which has windows at its exits only
 *
 * The original of such a block stays as it is, and runs when control comes to it there: no window is needed.  So this comes
 * last, when all windows are placed, and what cannot be copied is left out.
 */
#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/mirror/x86-64/plan.h"

enum {
	BYTES = 2048,	/* of a function that are copied, at most: others' calls take longer than a few jumps */
	FORWARD = 1,	/* control comes here from the entry ... */
	BACKWARD = 2,	/* ... and may go on to an exit, without a call */
};

static bool can_move(const struct tramp_mirror *m, uint32_t i)
{
	const struct mir_block *b = &m->blocks.v[i];
	const struct tramp_block *fb = mir_flow_block(m, i);
	struct tramp_decoded insn;

	if ((b->flags & (MIR_RIGID | MIR_MOVED)) || b->lo >= fb->nops || mir_is_call(mir_last(m, i)))
		return false;
	for (uint32_t k = b->lo; k < fb->nops; k++) {
		const struct tramp_op *op = mir_op(m, i, k);
		bool last = k + 1 == fb->nops;

		if (!(op->kind == TRAMP_OP_PLAIN || op->kind == TRAMP_OP_RIP ||
		      (last && (op->kind == TRAMP_OP_JMP || op->kind == TRAMP_OP_JCC || mir_is_exit(fb->ends)))) ||
		    !tramp_decode(mir_bytes(m, op->off), op->len, &insn) || insn.length != op->len || insn.unmovable)
			return false;
	}
	return true;
}

static bool goes_on(enum tramp_end ends)
{
	return ends == TRAMP_END_FALL || ends == TRAMP_END_JMP || ends == TRAMP_END_JCC || ends == TRAMP_END_TAIL_JCC;
}

static bool leaves(enum tramp_end ends)
{
	return mir_is_exit(ends) && ends != TRAMP_END_TAIL_FALL;
}

static bool has(const struct tramp_mirror *m, uint32_t i, uint8_t mark)
{
	return i != TRAMP_NONE && m->blocks.v[i].ahead & mark;
}

/* Blocks are few, and mostly in their order. */
static void find_forward(struct tramp_mirror *m)
{
	bool changed = can_move(m, m->flow.entry);

	if (changed)
		m->blocks.v[m->flow.entry].ahead = FORWARD;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < m->flow.nblocks; i++) {
			const struct tramp_block *fb = mir_flow_block(m, i);
			uint32_t to[2] = { fb->target, fb->next };

			for (int e = 0; e < 2 && has(m, i, FORWARD) && goes_on(fb->ends); e++) {
				if (to[e] == TRAMP_NONE || has(m, to[e], FORWARD) || !can_move(m, to[e]))
					continue;
				m->blocks.v[to[e]].ahead = FORWARD;
				changed = true;
			}
		}
	}
}

static void find_backward(struct tramp_mirror *m)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = m->flow.nblocks; i-- > 0;) {
			const struct tramp_block *fb = mir_flow_block(m, i);

			if (!has(m, i, FORWARD) || has(m, i, BACKWARD) ||
			    !(leaves(fb->ends) ||
			      (goes_on(fb->ends) && (has(m, fb->target, BACKWARD) || has(m, fb->next, BACKWARD)))))
				continue;
			m->blocks.v[i].ahead |= BACKWARD;
			changed = true;
		}
	}
}

void mir_look_ahead(struct tramp_mirror *m)
{
	uint32_t bytes = 0;

	if (!mir_wants(m, TRAMP_MIRROR_AHEAD) || m->strict)
		return;
	find_forward(m);
	find_backward(m);
	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		struct mir_block *b = &m->blocks.v[i];
		const struct tramp_block *fb = mir_flow_block(m, i);

		b->ahead = b->ahead == (FORWARD | BACKWARD) && !mir_whole(b) && (bytes += fb->end - fb->start) <= BYTES;
	}
}
