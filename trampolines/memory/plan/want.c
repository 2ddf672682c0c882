// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Registers that the reader has to know because something will be computed from them that is of use: the
 * usual backward dataflow, where a computation uses what it reads only if its result is used.
 */
#include "trampolines/memory/plan/passes.h"

/* From behind an instruction to its front. */
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

/* @decided: the reader finds out where its last jump leads. */
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
	return mp_rung(p, TRAMP_MEM_IMPLIED) && b->cond != MP_NO_COND && b->trial.out.conds >> b->cond & 1;
}

/* Behind the block.  @loop: only in this one, unless it is TRAMP_NONE. */
static mp_set want_behind(const struct mp *p, const struct mp_block *b, uint32_t loop)
{
	mp_set want = 0;

	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		const struct mp_way *w;

		if (b->way[k] == TRAMP_NONE)
			continue;
		w = &p->ways.v[b->way[k]];
		if (loop == TRAMP_NONE || mp_in_loop(p, w->to, loop))
			want |= p->blocks.v[w->to].want & ~(mp_set)w->values;
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
			mp_set want = want_block(p, blocks[k], decided, want_behind(p, b, loop));

			changed |= want != b->want;
			b->want = want;
		}
	}
}

void mp_want_loop(struct mp *p, uint32_t loop)
{
	want_some(p, &p->members.v[p->loop_at.v[loop]], p->loop_at.v[loop + 1] - p->loop_at.v[loop], loop);
}

void mp_want_all(struct mp *p)
{
	want_some(p, p->order.v, p->flow->nblocks, TRAMP_NONE);
}
