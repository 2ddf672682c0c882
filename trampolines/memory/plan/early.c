// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values that are needed on every way from a place are stored there, behind what changed them or where control came
 * from elsewhere, rather than on each of the ways: no way stores more, and where ways meet again all of them know.  The stack
 * pointer is such a value behind each call, for whatever follows ends with a return or a call.  Where some of the ways
 * that meet know a value that is needed behind them, the others store it.
 *
 * Busy code motion: E. Morel and C. Renvoise, 1979; J. Knoop, O. Ruething and B. Steffen, 1992.
 */
#include "trampolines/memory/plan/passes.h"

enum {
	MEETINGS = 2,	/* what is known at one place becomes known at others */
	SELDOM = 4,	/* ways that know it are taken at least once in so many and one */
	NAMED_MAX = 14,	/* registers, rsp included, so that some are left for the pointer */
};

/* No narrower than what it is computed from, and that is one register: it can as well be stored. */
static bool is_as_good(const struct mp_compute *c)
{
	return __builtin_popcount(c->reads & TRAMP_GPRS) == 1 && !c->u32 && !c->s32 && !c->conds;
}

/* Registers whose values are not what they were in front of it. */
static mp_set changed_by(const struct mp_insn *i)
{
	mp_set set = i->cuts ? TRAMP_GPRS : i->kills;

	for (unsigned int k = 0; k < i->ncomputes; k++)
		set |= i->computes[k].writes;
	return set & TRAMP_GPRS;
}

/* From what is needed behind an instruction to what is in front of it. */
static mp_set ahead_of_insn(const struct mp_insn *i, mp_set behind)
{
	mp_set ahead = behind & ~changed_by(i);

	behind &= ~(mp_set)i->kills;
	for (unsigned int k = 0; k < i->ncomputes && !i->cuts; k++) {
		const struct mp_compute *c = &i->computes[k];

		if (c->writes & behind && is_as_good(c))
			ahead |= c->reads;
	}
	return (ahead | i->need) & TRAMP_GPRS;
}

static mp_set ahead_of_block(const struct mp *p, uint32_t block, mp_set behind)
{
	const struct tramp_block *b = &p->flow->blocks[block];

	for (uint32_t k = b->op + b->nops; k-- > b->op;)
		behind = ahead_of_insn(&p->insns.v[k], behind);
	return behind;
}

/* Behind a block: on any way, or on all. */
static mp_set behind_block(const struct mp *p, uint32_t block, bool all)
{
	uint8_t ends = p->flow->blocks[block].ends;
	const uint32_t *way = p->blocks.v[block].way;
	mp_set any = 0, each = TRAMP_GPRS;
	uint32_t n = 0;

	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		mp_set ahead;

		if (way[k] == TRAMP_NONE)
			continue;
		ahead = p->blocks.v[p->ways.v[way[k]].to].ahead;
		any |= ahead;
		each &= ahead;
		n++;
	}
	if (!all)
		return any;
	return n == (ends == TRAMP_END_JCC || ends == TRAMP_END_TAIL_JCC ? 2 : 1) ? each : 0;
}

/* From less to more, or from more to less. */
static void look_ahead(struct mp *p, bool all)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t n = p->flow->nblocks; n-- > 0;) {
			uint32_t i = p->order.v[n];
			struct mp_block *b = &p->blocks.v[i];
			mp_set ahead = ahead_of_block(p, i, behind_block(p, i, all));

			ahead = all ? ahead & b->ahead : ahead | b->ahead;
			changed |= ahead != b->ahead;
			b->ahead = ahead;
		}
	}
}

/* What all ways need is some of what any way needs: of loops without an end, too. */
static void find_ahead(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		p->blocks.v[i].ahead = 0;
	look_ahead(p, false);
	look_ahead(p, true);
}

/* ---- where values come from ---- */

/* Of @set, as many as leave registers for the pointer beside those that are @named. */
static uint16_t fitting(mp_set named, mp_set set)
{
	mp_set fit = set & (named | MP_BIT(TRAMP_RSP));

	for (set &= ~fit; set && __builtin_popcount(named | fit) < NAMED_MAX; set &= set - 1)
		fit |= set & -set;
	return (uint16_t)fit;
}

static mp_set named_in(const struct mp *p, const struct tramp_block *b)
{
	mp_set named = MP_BIT(TRAMP_RSP);

	for (uint32_t k = b->op; k < b->op + b->nops; k++)
		named |= p->insns.v[k].named;
	return named;
}

/* Stays where it is, and control comes to what is behind it. */
static bool is_bare(const struct mp *p, const struct tramp_block *b)
{
	return b->nops == 1 && b->ends == TRAMP_END_FALL && b->next != TRAMP_NONE &&
	       p->blocks.v[b->next].owner;
}

/* A comparison and the conditional jump behind it are one operation: nothing comes in between. */
static bool may_store_in_front(const struct mp *p, const struct tramp_block *b, uint32_t k)
{
	return k < b->op + b->nops && p->flow->ops[k].kind != TRAMP_OP_JCC;
}

static void store_early(struct mp *p, uint32_t i)
{
	const struct tramp_block *b = &p->flow->blocks[i];
	mp_set named = named_in(p, b), behind = behind_block(p, i, true);

	if (is_bare(p, b))
		return;
	for (uint32_t k = b->op + b->nops; k-- > b->op;) {
		struct mp_insn *insn = &p->insns.v[k];

		if (may_store_in_front(p, b, k + 1))
			insn[1].need |= fitting(named, behind & changed_by(insn));
		behind = ahead_of_insn(insn, behind);
	}
	if (p->blocks.v[i].outside && !p->blocks.v[i].polled)
		p->insns.v[b->op].need |= fitting(named, p->blocks.v[i].ahead);
}

void mp_early(struct mp *p)
{
	if (!mp_rung(p, TRAMP_MEM_KNOWN) || !mp_rung(p, TRAMP_MEM_CHAINS))
		return;
	find_ahead(p);
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		store_early(p, i);
}

/* ---- where ways meet ---- */

static mp_set known_on(const struct mp *p, const struct mp_way *w)
{
	return w->values | (w->from == TRAMP_NONE ? 0u : p->blocks.v[w->from].real.out.known);
}

static bool counts(const struct mp_block *b, const struct mp_way *w)
{
	return w->from != TRAMP_NONE || !b->polled;
}

/* Is it known on so many of the ways to a block that the others are to store it? */
static bool is_worth(const struct mp *p, const struct mp_block *b, mp_set reg)
{
	float known = 0, unknown = 0;

	for (uint32_t k = 0; k < b->npreds; k++) {
		const struct mp_way *w = &p->ways.v[p->preds.v[b->pred + k]];

		if (!counts(b, w))
			continue;
		if (known_on(p, w) & reg)
			known += w->freq;
		else
			unknown += w->freq;
	}
	return known > 0 && SELDOM * known >= unknown;
}

static bool meet_at(struct mp *p, const struct mp_block *b)
{
	mp_set values = 0;
	bool any = false;

	for (mp_set set = b->ahead & ~(mp_set)b->real.in.known; set; set &= set - 1)
		values |= is_worth(p, b, set & -set) ? set & -set : 0;
	for (uint32_t k = 0; values && k < b->npreds; k++) {
		struct mp_way *w = &p->ways.v[p->preds.v[b->pred + k]];

		if (counts(b, w))
			any |= mp_store_on(p, w, values);
	}
	return any;
}

void mp_meet(struct mp *p)
{
	bool any = mp_rung(p, TRAMP_MEM_KNOWN) && mp_rung(p, TRAMP_MEM_CHAINS);

	for (int n = 0; n < MEETINGS && any; n++) {
		any = false;
		for (uint32_t k = 0; k < p->flow->nblocks; k++)
			any |= meet_at(p, &p->blocks.v[p->order.v[k]]);
		if (any)
			mp_know_all(p);
	}
}
