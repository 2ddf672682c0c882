// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What the reader knows at each place, and so, which values have to be stored before which
 * instruction: the usual forward dataflow.  It begins with everything, so that what is known before
 * a loop and stays known in it is known in it.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

static const struct mp_state everything = { UINT16_MAX, UINT16_MAX, UINT16_MAX, UINT16_MAX };

static void narrow(struct mp_state *s, mp_set regs, bool u32, bool s32)
{
	s->u32 = (uint16_t)(u32 ? s->u32 | regs : s->u32 & ~regs);
	s->s32 = (uint16_t)(s32 ? s->s32 | regs : s->s32 & ~regs);
}

/* Computations read registers as they are before the instruction. */
static void step_computes(struct mp_insn *i, struct mp_state *s)
{
	mp_set before = s->known, known = before;

	for (unsigned int k = 0; k < i->ncomputes; k++) {
		const struct mp_compute *c = &i->computes[k];

		known &= ~c->writes;
		if ((c->reads & ~before) == 0 && !(c->conds & ~s->conds)) {
			i->can |= (uint8_t)(1u << k);
			known |= c->writes;
		}
		narrow(s, c->writes & TRAMP_GPRS, c->u32, c->s32);
	}
	if (i->flags_valid && !(i->flags_reads & ~before) && !(i->flags_conds & ~s->conds))
		i->can |= MP_FLAGS;
	if (i->flags_effect != TRAMP_FLAGS_KEPT)
		s->conds = i->can & MP_FLAGS ? i->flags_valid : 0;
	s->known = (uint16_t)known;
}

void mp_step(const struct mp *p, struct mp_insn *i, struct mp_state *s)
{
	i->can = 0;
	i->keep = 0;
	i->store = (uint16_t)(i->need & ~s->known);
	i->store_u32 = i->store & s->u32;
	i->store_s32 = (uint16_t)(i->store & s->s32 & ~s->u32);
	s->known |= i->need;
	step_computes(i, s);
	s->known &= (uint16_t)~i->kills;
	s->u32 = (uint16_t)((s->u32 & ~i->kills) | i->u32);
	s->s32 = (uint16_t)((s->s32 & ~i->kills) | i->s32);
	if (i->cuts)
		*s = (struct mp_state){ 0 };
	if (!mp_rung(p, TRAMP_MEM_CHAINS)) {
		s->known = s->conds = 0;
		i->can = 0;
	}
}

static struct mp_state know_block(struct mp *p, uint32_t block, struct mp_state s)
{
	const struct tramp_block *b = &p->flow->blocks[block];

	for (uint32_t k = 0; k < b->nops; k++)
		mp_step(p, &p->insns.v[b->op + k], &s);
	return s;
}

static bool same(struct mp_state a, struct mp_state b)
{
	return a.known == b.known && a.u32 == b.u32 && a.s32 == b.s32 && a.conds == b.conds;
}

static void meet(struct mp_state *s, struct mp_state with)
{
	s->known &= with.known;
	s->u32 &= with.u32;
	s->s32 &= with.s32;
	s->conds &= with.conds;
}

/* What is known after an edge and what is stored on it. */
static struct mp_state after_edge(const struct mp *p, const struct mp_edge *edge)
{
	struct mp_state s = { 0 };

	if (edge->from != TRAMP_NONE)
		s = p->blocks.v[edge->from].real.out;
	s.known |= edge->values;
	return s;
}

static struct mp_state real_in(const struct mp *p, const struct mp_block *b)
{
	struct mp_state s = everything;

	if (!mp_rung(p, TRAMP_MEM_KNOWN))
		return (struct mp_state){ 0 };
	for (uint32_t k = 0; k < b->npreds; k++) {
		const struct mp_edge *edge = &p->edges.v[p->preds.v[b->pred + k]];

		if (edge->from != TRAMP_NONE || !b->polled)
			meet(&s, after_edge(p, edge));
	}
	return s;
}

void mp_know_some(struct mp *p, const uint32_t *blocks, uint32_t n)
{
	bool changed = true, first = true;

	for (uint32_t k = 0; k < n; k++)
		p->blocks.v[blocks[k]].real.out = everything;
	for (; changed; first = false) {
		changed = false;
		for (uint32_t k = 0; k < n; k++) {
			struct mp_block *b = &p->blocks.v[blocks[k]];
			struct mp_state in = real_in(p, b), out;

			if (!first && same(in, b->real.in))
				continue;
			b->real.in = in;
			out = know_block(p, blocks[k], in);
			changed |= !same(out, b->real.out);
			b->real.out = out;
		}
	}
}

/* ---- in one loop, as if ---- */

struct trial {
	uint32_t loop;
	bool returns;
};

static struct mp_state trial_in(const struct mp *p, const struct mp_block *b, struct trial t)
{
	struct mp_state s = everything;

	for (uint32_t k = 0; k < b->npreds; k++) {
		const struct mp_edge *edge = &p->edges.v[p->preds.v[b->pred + k]];

		if (edge->from == TRAMP_NONE && b->polled)
			continue;
		if (edge->from == TRAMP_NONE && !t.returns &&
		    b != &p->blocks.v[p->flow->loops[t.loop].head])
			return (struct mp_state){ 0 };
		if (edge->from != TRAMP_NONE && mp_in_loop(p, edge->from, t.loop))
			meet(&s, p->blocks.v[edge->from].trial.out);
		else	/* flags cannot be stored on an edge */
			s.conds &= edge->from != TRAMP_NONE ? p->blocks.v[edge->from].real.out.conds
							    : 0;
	}
	return s;
}

void mp_know_loop(struct mp *p, uint32_t loop, bool returns)
{
	const uint32_t *blocks = &p->members.v[p->loop_at.v[loop]];
	uint32_t n = p->loop_at.v[loop + 1] - p->loop_at.v[loop];
	struct trial t = { .loop = loop, .returns = returns };
	bool changed = true, first = true;

	for (uint32_t k = 0; k < n; k++)
		p->blocks.v[blocks[k]].trial.out = everything;
	for (; changed; first = false) {
		changed = false;
		for (uint32_t k = 0; k < n; k++) {
			struct mp_block *b = &p->blocks.v[blocks[k]];
			struct mp_state in = trial_in(p, b, t), out;

			if (!first && same(in, b->trial.in))
				continue;
			b->trial.in = in;
			out = know_block(p, blocks[k], in);
			changed |= !same(out, b->trial.out);
			b->trial.out = out;
		}
	}
}

/* ---- a little more ---- */

/* Goes from a solution up to a greater one, where something changes: good enough for what follows. */
bool mp_know_more(struct mp *p, uint32_t block, uint32_t not_in_loop)
{
	size_t depth = 0;

	if (!mp_reserve(p, &p->stack, (size_t)p->flow->nblocks + 4))
		return false;
	p->stack.v[depth++] = block;
	while (depth) {
		struct mp_block *b = &p->blocks.v[p->stack.v[--depth]];

		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			uint32_t to =
				b->succ[k] == TRAMP_NONE ? TRAMP_NONE : p->edges.v[b->succ[k]].to;
			struct mp_state in, out;
			struct mp_block *next;

			if (to == TRAMP_NONE || mp_in_loop(p, to, not_in_loop))
				continue;
			next = &p->blocks.v[to];
			in = real_in(p, next);
			if (same(in, next->real.in))
				continue;
			next->real.in = in;
			out = know_block(p, to, in);
			if (same(out, next->real.out))
				continue;
			next->real.out = out;
			if (!mp_reserve(p, &p->stack, depth + 1))
				return false;
			p->stack.v[depth++] = to;
		}
	}
	return true;
}

/* Values of edges take as few bytes as they can. */
static void narrow_edges(struct mp *p)
{
	for (uint32_t i = 0; i < p->nedges; i++) {
		struct mp_edge *edge = &p->edges.v[i];
		struct mp_state s = { 0 };

		if (edge->from != TRAMP_NONE)
			s = p->blocks.v[edge->from].real.out;
		edge->values &= (uint16_t)~s.known;
		edge->u32 = edge->values & s.u32;
		edge->s32 = (uint16_t)(edge->values & s.s32 & ~s.u32);
	}
}

void mp_know_all(struct mp *p)
{
	mp_know_some(p, p->order.v, p->flow->nblocks);
	narrow_edges(p);
}
