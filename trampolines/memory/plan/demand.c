// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What the reader needs to know, and what for: two passes over the values that its computations
 * read.
 *
 * A branch on a value that is not known, but is needed where the branch leads most often, as at the
 * end of a loop over a list: the value is stored before the instruction that sets the flags.  No
 * more is written, and the branch is decided.
 *
 * Liveness of the reader's registers, the usual backward dataflow: a computation uses what it reads
 * only if its result is used.  Computations whose result is not used are not in the description.
 */
#include "trampolines/memory/plan/passes.h"

/* ---- branches ---- */

enum { LOOKAHEAD = 3 };	/* blocks */

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

static const struct mp_edge *usual_edge(const struct mp *p, const struct mp_block *b)
{
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (b->succ[k] != TRAMP_NONE && p->edges.v[b->succ[k]].freq > 0.6f * b->freq)
			return &p->edges.v[b->succ[k]];
	}
	return NULL;
}

static mp_set needed_after(const struct mp *p, uint32_t block, uint32_t decider, mp_set regs)
{
	const struct tramp_block *b = &p->flow->blocks[block];
	mp_set found = needed(p, decider + 1, b->op + b->nops, &regs);

	for (int n = 0; n < LOOKAHEAD && regs; n++) {
		const struct mp_edge *edge = usual_edge(p, &p->blocks.v[block]);

		if (!edge)
			break;
		block = edge->to;
		b = &p->flow->blocks[block];
		found |= needed(p, b->op, b->op + b->nops, &regs);
	}
	return found;
}

bool mp_decide_branches(struct mp *p)
{
	if (!mp_rung(p, TRAMP_MEM_CHAINS) || !mp_rung(p, TRAMP_MEM_IMPLIED))
		return true;
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		uint32_t decider = p->blocks.v[i].decider;
		struct mp_insn *insn;

		if (decider == TRAMP_NONE)
			continue;
		insn = &p->insns.v[decider];
		insn->need |= (uint16_t)needed_after(p, i, decider, insn->flags_reads);
	}
	return true;
}

/* ---- computations ---- */

/* From what is wanted after an instruction to what is wanted before it. */
static mp_set want_insn(struct mp_insn *i, mp_set want)
{
	bool flags = want & MP_COND && i->can & MP_FLAGS;

	i->keep = 0;
	want = i->cuts ? 0 : want & ~(mp_set)i->kills;
	if (i->flags_effect != TRAMP_FLAGS_KEPT)
		want &= ~MP_COND;
	if (flags) {
		i->keep |= MP_FLAGS;
		want |= i->flags_after ? i->flags_uses : 0;
	}
	for (unsigned int k = i->ncomputes; k-- > 0;) {
		const struct mp_compute *c = &i->computes[k];
		bool wanted = c->writes & want;

		want &= ~c->writes;
		if (wanted && i->can >> k & 1) {
			i->keep |= (uint8_t)(1u << k);
			want |= c->uses | (c->conds ? MP_COND : 0);
		}
	}
	if (flags && !i->flags_after)
		want |= i->flags_uses;
	return (want | i->need) & ~(mp_set)i->store & (TRAMP_GPRS | MP_COND);
}

/* @decided: the reader computes where its last jump leads. */
static mp_set want_block(struct mp *p, uint32_t block, bool decided, mp_set want)
{
	const struct tramp_block *b = &p->flow->blocks[block];

	if (decided)
		want |= MP_COND;
	for (uint32_t k = b->op + b->nops; k-- > b->op;)
		want = want_insn(&p->insns.v[k], want);
	return want;
}

/* Could it, in the loop that was tried last? */
static bool could_decide(const struct mp *p, const struct mp_block *b)
{
	return mp_rung(p, TRAMP_MEM_IMPLIED) && b->cond != MP_NO_COND &&
	       b->trial.out.conds >> b->cond & 1;
}

/* After the block.  @loop: only in this one, unless it is TRAMP_NONE. */
static mp_set want_after(const struct mp *p, const struct mp_block *b, uint32_t loop)
{
	mp_set want = 0;

	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		const struct mp_edge *edge;

		if (b->succ[k] == TRAMP_NONE)
			continue;
		edge = &p->edges.v[b->succ[k]];
		if (loop == TRAMP_NONE || mp_in_loop(p, edge->to, loop))
			want |= p->blocks.v[edge->to].want & ~(mp_set)edge->values;
	}
	return want;
}

static void want_some(struct mp *p, const uint32_t *blocks, uint32_t n, uint32_t loop)
{
	bool changed = true;

	for (uint32_t k = 0; k < n; k++)
		p->blocks.v[blocks[k]].want = 0;
	while (changed) {
		changed = false;
		for (uint32_t k = n; k-- > 0;) {
			struct mp_block *b = &p->blocks.v[blocks[k]];
			bool decided = loop == TRAMP_NONE ? b->end == MD_IF : could_decide(p, b);
			mp_set want = want_block(p, blocks[k], decided, want_after(p, b, loop));

			changed |= want != b->want;
			b->want = want;
		}
	}
}

void mp_want_loop(struct mp *p, uint32_t loop)
{
	want_some(p, &p->members.v[p->loop_at.v[loop]], p->loop_at.v[loop + 1] - p->loop_at.v[loop],
		  loop);
}

bool mp_want_all(struct mp *p)
{
	want_some(p, p->order.v, p->flow->nblocks, TRAMP_NONE);
	return true;
}
