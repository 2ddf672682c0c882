// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A branch on a value that is not known, but will be needed where the branch most often leads, as at the
 * end of a loop over a list: the value is stored in front of what sets the flags.  So nothing more is
 * written, and the reader knows which way is taken.
 */
#include "trampolines/memory/plan/passes.h"

enum { AHEAD = 3 };	/* blocks */

/* Of @regs, those that [from, end) needs as they are; *regs: those that it leaves as they are. */
static mp_set needed(const struct mp *p, uint32_t from, uint32_t end, mp_set *regs)
{
	mp_set found = 0;

	for (uint32_t k = from; k < end && *regs; k++) {
		const struct mp_insn *i = &p->insns.v[k];

		found |= i->need & *regs;
		*regs &= ~(mp_set)i->kills;
		for (unsigned int c = 0; c < i->ncomputes; c++)
			*regs &= ~i->computes[c].writes;
		if (i->cuts)
			*regs = 0;
	}
	return found;
}

static const struct mp_way *usual_way(const struct mp *p, const struct mp_block *b)
{
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (b->way[k] != TRAMP_NONE && p->ways.v[b->way[k]].freq > 0.6f * b->freq)
			return &p->ways.v[b->way[k]];
	}
	return NULL;
}

static mp_set needed_behind(const struct mp *p, uint32_t block, uint32_t decider, mp_set regs)
{
	const struct tramp_block *b = &p->flow->blocks[block];
	mp_set found = needed(p, decider + 1, b->op + b->nops, &regs);

	for (int n = 0; n < AHEAD && regs; n++) {
		const struct mp_way *w = usual_way(p, &p->blocks.v[block]);

		if (!w)
			break;
		block = w->to;
		b = &p->flow->blocks[block];
		found |= needed(p, b->op, b->op + b->nops, &regs);
	}
	return found;
}

void mp_ask(struct mp *p)
{
	if (!mp_rung(p, TRAMP_MEM_CHAINS) || !mp_rung(p, TRAMP_MEM_IMPLIED))
		return;
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		uint32_t decider = p->blocks.v[i].decider;
		struct mp_insn *insn;

		if (decider == TRAMP_NONE)
			continue;
		insn = &p->insns.v[decider];
		insn->need |= (uint16_t)needed_behind(p, i, decider, insn->flags_reads);
	}
}
