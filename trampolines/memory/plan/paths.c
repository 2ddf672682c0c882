// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Behind a branch that the reader cannot decide, one of the ways needs no header: the reader looks at the next word.  If that is
 * the header of the other way, control went there; else it did not.  So the next header tells which path was taken to it, as in
 * path profiles (Ball and Larus, 1996).
 *
 * The next word has to tell.  On the way without a header it has to be a header, too, not a value, and never that of
 * the other way: what a parser needs that looks ahead by one word (Lewis and Stearns, 1968).
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

enum {
	STEPS = 64,		/* blocks on all paths to the next header, at most */
	PASSES = 32,
};

/* What comes first on the ways that @block leads to. */
struct search {
	struct mp *p;
	uint32_t *seen, *stack;	/* by block: the search that has been there */
	uint32_t number, depth, steps;
	uint32_t other;		/* way whose header must not come first */
	bool note;		/* ... what is relied on */
	bool clash;		/* it is the header of a block that comes first */
	bool changed;		/* headers have come or gone */
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

static bool begin(struct search *s, struct mp *p)
{
	uint32_t n = p->flow->nblocks;

	if (!mp_reserve(p, &p->stack, 2 * (size_t)n))
		return false;
	*s = (struct search){ .p = p, .seen = p->stack.v, .stack = p->stack.v + n };
	memset(s->seen, 0, n * sizeof(*s->seen));
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

/* Of the block itself, whoever leads there; else the header is on the way. */
static bool is_blocks(const struct mp *p, const struct mp_way *w)
{
	return p->blocks.v[w->to].header;
}

static bool is_other(struct search *s, uint32_t way)
{
	const struct mp_way *w = &s->p->ways.v[way], *other = &s->p->ways.v[s->other];

	if (!is_blocks(s->p, other))
		return way == s->other;
	s->clash = w->to == other->to;
	return s->clash;
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
	return !is_other(s, way);
}

/* Control leaves: the header of any block that it comes to from elsewhere may be next. */
static bool may_leave(struct search *s)
{
	const struct mp_way *other = &s->p->ways.v[s->other];
	const struct mp_block *to = &s->p->blocks.v[other->to];

	s->clash = is_blocks(s->p, other) && to->outside && !to->polled;
	return !s->clash;
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

/* Its header goes to the ways that lead there: one of them needs one of its own. */
static bool make_bare(struct search *s, uint32_t block)
{
	struct mp_block *b = &s->p->blocks.v[block];

	if (b->bare || b->relied || b->npreds > MP_OWN_HEADERS)
		return false;
	s->changed = b->bare = true;
	mp_choose_header(s->p, block);
	return true;
}

/* Does the next word tell which way block @b took? */
static bool tells(struct search *s, const struct mp_block *b, bool note)
{
	const struct mp_way *silent = &s->p->ways.v[b->way[!b->looks]], *other = &s->p->ways.v[b->way[b->looks]];

	if (silent->values || s->p->blocks.v[silent->to].header || silent->to == other->to)
		return false;
	s->other = b->way[b->looks];
	s->note = note;
	s->clash = false;
	return run(s, silent->to) || (s->clash && make_bare(s, other->to) && run(s, silent->to));
}

static void set_way(struct mp *p, struct mp_block *b, uint32_t k, bool silent)
{
	struct mp_way *w = &p->ways.v[b->way[k]];

	w->implied = silent;
	b->end = silent ? MD_PEEK : MD_NEXT;
	b->looks = (uint8_t)!k;
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

static void give_up_once(struct search *s, bool all)
{
	for (uint32_t i = s->p->flow->nblocks; i-- > 0;) {
		struct mp_block *b = &s->p->blocks.v[i];

		if (b->end != MD_PEEK || (!all && tells(s, b, false)))
			continue;
		set_way(s->p, b, !b->looks, false);
		s->changed = true;
	}
}

/* Few times are enough, but each might make another one necessary. */
static void give_up(struct search *s)
{
	for (int i = 0; i < PASSES; i++) {
		s->changed = false;
		give_up_once(s, false);
		if (!s->changed)
			return;
	}
	give_up_once(s, true);
}

static void note_headers(struct search *s)
{
	for (uint32_t i = 0; i < s->p->flow->nblocks; i++) {
		if (s->p->blocks.v[i].end == MD_PEEK)
			tells(s, &s->p->blocks.v[i], true);
	}
}

/* Ways that the reader looks for are not shared with others. */
static void own_headers(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct mp_block *b = &p->blocks.v[i];

		if (b->end == MD_PEEK)
			p->ways.v[b->way[b->looks]].own = true;
	}
}

bool mp_choose_paths(struct mp *p)
{
	struct search s;

	if (!mp_rung(p, TRAMP_MEM_PATHS) || !mp_rung(p, TRAMP_MEM_IMPLIED))
		return true;
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		p->blocks.v[i].quiet = is_quiet(p, i);
	if (!begin(&s, p))
		return false;
	for (int round = 0; round < 2; round++) {	/* one way, then the other */
		try_ways(p);
		give_up(&s);
		note_headers(&s);
	}
	own_headers(p);
	return true;
}
