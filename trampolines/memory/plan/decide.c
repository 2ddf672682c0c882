// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A branch that the reader cannot decide has headers behind it.  If only values are missing, and some of them are stored later
 * anyway, they are stored in front of the branch, where that makes the stream shorter: as many bytes more on
 * the ways that do not need them as a header would have taken, and no header on those that do.
 *
 * How much the stream is shortened is estimated branch by branch, and then of all of them together, by how often ways are
 * likely to be taken; what turns out to make it longer is taken back.
 */
#include "trampolines/memory/plan/passes.h"

enum { AHEAD = 4 };	/* blocks */

/* ---- one branch ---- */

/* The same place, without and with what might be stored. */
struct both {
	struct mp_state without, with;
};

/* Bytes that [from, end) stores less; *s: behind it. */
static float saved_by(const struct mp *p, uint32_t from, uint32_t end, struct both *s)
{
	float saved = 0;

	for (uint32_t k = from; k < end; k++) {
		struct mp_insn without = p->insns.v[k], with = without;

		mp_step(p, &without, &s->without);
		mp_step(p, &with, &s->with);
		saved += (float)mp_insn_bytes(&without) - (float)mp_insn_bytes(&with);
	}
	return saved;
}

static float saved_behind(const struct mp *p, uint32_t block, struct both s, int blocks);

static float saved_on(const struct mp *p, const struct mp_way *w, struct both s, int blocks)
{
	mp_set more = s.with.known & ~(mp_set)s.without.known;
	float saved = w->freq * (float)mp_bytes(w->values & more, w->u32 | w->s32);
	const struct tramp_block *b = &p->flow->blocks[w->to];

	s.without.known |= w->values;
	s.with.known |= w->values;
	if (p->blocks.v[w->to].npreds > 1)
		return saved;
	saved += w->freq * saved_by(p, b->op, b->op + b->nops, &s);
	return saved + saved_behind(p, w->to, s, blocks - 1);
}

/* Bytes, by how often, that are stored less on the ways on. */
static float saved_behind(const struct mp *p, uint32_t block, struct both s, int blocks)
{
	const struct mp_block *b = &p->blocks.v[block];
	float saved = 0;

	for (uint32_t k = MP_TARGET; blocks && k <= MP_NEXT && s.with.known != s.without.known; k++) {
		if (b->way[k] != TRAMP_NONE)
			saved += saved_on(p, &p->ways.v[b->way[k]], s, blocks);
	}
	return saved;
}

/* Of headers that are there for nothing but this branch. */
static float saved_headers(const struct mp *p, const struct mp_block *b)
{
	float saved = 0;

	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		const struct mp_way *w = &p->ways.v[b->way[k]];
		const struct mp_block *to = &p->blocks.v[w->to];

		if (!w->implied && !w->relied && !to->relied && (w->values || to->npreds == 1))
			saved += MP_HEADER * w->freq;
	}
	return saved;
}

static struct mp_state state_at(const struct mp *p, uint32_t block, uint32_t insn)
{
	struct mp_state s = p->blocks.v[block].real.in;

	for (uint32_t k = p->flow->blocks[block].op; k < insn; k++) {
		struct mp_insn i = p->insns.v[k];

		mp_step(p, &i, &s);
	}
	return s;
}

/* Values to be stored in front of what sets the flags of @block's branch. */
static mp_set worth_asking(const struct mp *p, uint32_t block)
{
	const struct mp_block *b = &p->blocks.v[block];
	const struct tramp_block *code = &p->flow->blocks[block];
	struct both s = { .without = state_at(p, block, b->decider) };
	mp_set missing = p->insns.v[b->decider].flags_reads & ~(mp_set)s.without.known;
	float cost = b->freq * (float)mp_bytes(missing, s.without.u32 | s.without.s32), saved;

	if (!missing)
		return 0;
	s.with = s.without;
	s.with.known |= (uint16_t)missing;
	saved = b->freq * saved_by(p, b->decider, code->op + code->nops, &s);
	if (!(s.with.conds >> b->cond & 1))
		return 0;
	saved += saved_behind(p, block, s, AHEAD) + saved_headers(p, b);
	return saved > cost ? missing : 0;
}

/* ---- all of them ---- */

static bool is_undecided(const struct mp_block *b)
{
	return b->decider != TRAMP_NONE && (b->end == MD_NEXT || b->end == MD_PEEK) && b->way[MP_TARGET] != TRAMP_NONE &&
	       b->way[MP_NEXT] != TRAMP_NONE;
}

/* Bytes of the stream, by how often. */
static float length(const struct mp *p)
{
	float sum = 0;

	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];

		for (uint32_t k = b->op; k < b->op + b->nops; k++)
			sum += p->blocks.v[i].freq * (float)mp_insn_bytes(&p->insns.v[k]);
	}
	for (uint32_t i = 0; i < p->nways; i++) {
		const struct mp_way *w = &p->ways.v[i];

		sum += w->freq * (float)mp_bytes(w->values, w->u32 | w->s32);
		if (!w->implied || p->blocks.v[w->to].header)
			sum += MP_HEADER * w->freq;
	}
	return sum;
}

static bool ask_all(struct mp *p)
{
	bool any = false;

	for (uint32_t i = 0; i < p->nways; i++)
		p->ways.v[i].before = p->ways.v[i].values;
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		struct mp_insn *decider;
		mp_set values;

		if (!is_undecided(&p->blocks.v[i]))
			continue;
		decider = &p->insns.v[p->blocks.v[i].decider];
		values = worth_asking(p, i) & ~(mp_set)decider->need;
		decider->asked = (uint16_t)values;
		any |= values != 0;
	}
	for (uint32_t k = 0; any && k < p->flow->nops; k++)
		p->insns.v[k].need |= p->insns.v[k].asked;
	return any;
}

static void take_back(struct mp *p)
{
	for (uint32_t k = 0; k < p->flow->nops; k++)
		p->insns.v[k].need &= (uint16_t)~p->insns.v[k].asked;
	for (uint32_t i = 0; i < p->nways; i++)
		p->ways.v[i].values = p->ways.v[i].before;
}

static bool plan_anew(struct mp *p)
{
	mp_know_all(p);
	return mp_choose_headers(p);
}

bool mp_decide(struct mp *p)
{
	float before;

	if (!mp_rung(p, TRAMP_MEM_PATHS) || !mp_rung(p, TRAMP_MEM_IMPLIED) || !mp_rung(p, TRAMP_MEM_CHAINS) || !ask_all(p))
		return true;
	before = length(p);
	if (!plan_anew(p))
		return false;
	if (length(p) < before)
		return true;
	take_back(p);
	return plan_anew(p);
}
