// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Behind a branch that the reader cannot decide, one of the ways needs no header: the reader looks at the next word.  If that is
 * the header of the other way, control went there; else it did not.  So the next header tells which path was taken to it, as in
 * path profiles (Ball and Larus, 1996).
 *
 * The next word has to tell.  On the way without a header it has to be a header, too, not a value, and never that of
 * the other way: what a parser needs that looks ahead by one word (Lewis and Stearns, 1968).
 */
#include "trampolines/x86-64/memplanpriv.h"

enum { STEPS = 64 };	/* blocks on all paths to the next header, at most */

/* What comes first on the ways that @block leads to. */
struct search {
	struct mp *p;
	uint32_t *seen, *stack;	/* by block: the search that has been there */
	uint32_t number, depth, steps;
	uint32_t other;		/* block that the header would stand in front of, which must not come first */
	bool note;		/* ... what is relied on */
};

/* Does nothing in it write? */
static bool is_quiet(const struct mp *p, uint32_t i)
{
	const struct tramp_block *b = &p->flow->blocks[i];

	for (uint32_t k = 0; k < b->nops; k++) {
		const struct mp_insn *insn = &p->insns.v[b->op + k];

		if (insn->store || insn->extra_bytes || insn->cuts)
			return false;
	}
	return true;
}

static bool visit(struct search *s, uint32_t block)
{
	if (s->seen[block] == s->number)
		return true;
	s->seen[block] = s->number;
	s->stack[s->depth++] = block;
	return s->steps++ < STEPS && s->p->blocks.v[block].quiet;
}

/* False: what comes first there does not tell. */
static bool follow(struct search *s, uint32_t way)
{
	struct mp_way *w = &s->p->ways.v[way];
	struct mp_block *to = &s->p->blocks.v[w->to];

	if (w->implied && w->values)
		return false;
	if (w->implied && !to->header)
		return visit(s, w->to);
	w->relied |= s->note && !w->implied;
	to->relied |= s->note && to->header;
	return w->to != s->other;
}

/* Control leaves: the header of any block that it comes to from elsewhere may be next. */
static bool may_leave(const struct search *s)
{
	const struct mp_block *other = &s->p->blocks.v[s->other];

	return !other->header || !other->outside || other->polled;
}

static bool run(struct search *s, uint32_t block)
{
	s->depth = s->steps = 0;
	s->number++;
	if (!visit(s, block))
		return false;
	while (s->depth) {
		const struct mp_block *b = &s->p->blocks.v[s->stack[--s->depth]];
		bool leaves = b->way[MP_TARGET] == TRAMP_NONE && b->way[MP_NEXT] == TRAMP_NONE;

		leaves |= s->p->flow->blocks[b - s->p->blocks.v].ends == TRAMP_END_TAIL_JCC;
		if (leaves && !may_leave(s))
			return false;
		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			if (b->way[k] != TRAMP_NONE && !follow(s, b->way[k]))
				return false;
		}
	}
	return true;
}

/* Of a block that peeks: which way has no header? */
static uint32_t silent_way(const struct mp *p, const struct mp_block *b)
{
	return p->ways.v[b->way[MP_TARGET]].implied ? MP_TARGET : MP_NEXT;
}

/* Does the next word tell which way block @b took? */
static bool tells(struct search *s, const struct mp_block *b, bool note)
{
	uint32_t k = silent_way(s->p, b);
	const struct mp_way *silent = &s->p->ways.v[b->way[k]], *other = &s->p->ways.v[b->way[1 - k]];

	if (silent->values || s->p->blocks.v[silent->to].header || silent->to == other->to)
		return false;
	s->other = other->to;
	s->note = note;
	return run(s, silent->to);
}

static void set_way(struct mp *p, struct mp_block *b, uint32_t k, bool silent)
{
	struct mp_way *w = &p->ways.v[b->way[k]];

	w->implied = silent;
	b->end = silent ? MD_PEEK : MD_NEXT;
	mp_choose_header(p, w->to);
}

static bool is_open(const struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];

	return b->end == MD_NEXT && p->flow->blocks[i].ends == TRAMP_END_JCC && b->way[MP_TARGET] != TRAMP_NONE &&
	       b->way[MP_NEXT] != TRAMP_NONE;
}

/* Nothing is gained, or others rely on what would go. */
static bool is_possible(const struct mp *p, const struct mp_way *w)
{
	const struct mp_block *to = &p->blocks.v[w->to];

	return !w->values && !w->tried && !w->relied && !to->relied && to->quiet;
}

/* The likelier of those that are left; 2: none. */
static uint32_t candidate(const struct mp *p, const struct mp_block *b)
{
	const struct mp_way *target = &p->ways.v[b->way[MP_TARGET]], *next = &p->ways.v[b->way[MP_NEXT]];
	bool first = is_possible(p, target), second = is_possible(p, next);

	if (!first && !second)
		return 2;
	return first && (!second || target->freq > next->freq) ? MP_TARGET : MP_NEXT;
}

static void try_ways(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		struct mp_block *b = &p->blocks.v[i];
		uint32_t k = is_open(p, i) ? candidate(p, b) : 2;

		if (k == 2)
			continue;
		p->ways.v[b->way[k]].tried = true;
		set_way(p, b, k, true);
	}
}

/* Headers that come back make some others unnecessary, and never more necessary. */
static void give_up(struct search *s)
{
	bool any = true;

	while (any) {
		any = false;
		for (uint32_t i = 0; i < s->p->flow->nblocks; i++) {
			struct mp_block *b = &s->p->blocks.v[i];

			if (b->end != MD_PEEK || tells(s, b, false))
				continue;
			set_way(s->p, b, silent_way(s->p, b), false);
			any = true;
		}
	}
}

static void note_headers(struct search *s)
{
	for (uint32_t i = 0; i < s->p->flow->nblocks; i++) {
		if (s->p->blocks.v[i].end == MD_PEEK)
			tells(s, &s->p->blocks.v[i], true);
	}
}

bool mp_choose_paths(struct mp *p)
{
	uint32_t n = p->flow->nblocks;
	struct search s = { .p = p };

	if (!mp_rung(p, TRAMP_MEM_PATHS) || !mp_rung(p, TRAMP_MEM_IMPLIED))
		return true;
	if (!mp_reserve(p, &p->stack, 2 * (size_t)n))
		return false;
	s.seen = p->stack.v;
	s.stack = p->stack.v + n;
	for (uint32_t i = 0; i < n; i++) {
		s.seen[i] = 0;
		p->blocks.v[i].quiet = is_quiet(p, i);
	}
	for (int round = 0; round < 2; round++) {	/* one way, then the other */
		try_ways(p);
		give_up(&s);
		note_headers(&s);
	}
	return true;
}
