// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which nodes have a header, and which need none since the reader knows that they come next.
 *
 * A block with some incoming edges that are implied, and some that are not, has a header if the
 * latter are taken more often; otherwise EDGE nodes with headers are placed on these.  They write
 * less but are more code, so they are preferred in loops.
 *
 * One of the successors of a branch that the reader cannot decide needs no header either: the
 * reader looks ahead by one word.  If that is the header of the other successor, control went
 * there; otherwise it did not.  So a header identifies the path that led to it, as in path profiles
 * (Ball and Larus, 1996).  For this the next word on the edge without a header has to be a header,
 * too, not a value, and never that of the other successor: what a parser needs that looks ahead by
 * one word (Lewis and Stearns, 1968).
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

enum {
	STEPS = 64,		/* blocks on all paths to the next header, at most */
	ROUNDS = 32,
	OWN_HEADERS = 48,	/* edges that have a header each instead of the block that they lead to, at most */
};

/* ---- by what is known ---- */

static void set_end(struct mp *p, uint32_t i, uint8_t end)
{
	struct mp_block *b = &p->blocks.v[i];

	b->end = end;
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (b->succ[k] != TRAMP_NONE)
			p->edges.v[b->succ[k]].implied = end != MD_NEXT;
	}
}

/* Can the reader compute where the block's branch goes? */
static bool is_decided(const struct mp_block *b)
{
	return b->cond != MP_NO_COND && b->real.out.conds >> b->cond & 1;
}

static void choose_end(struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];
	uint8_t ends = p->flow->blocks[i].ends, end = MD_NEXT;

	if (!mp_rung(p, TRAMP_MEM_IMPLIED))
		end = MD_NEXT;
	else if (ends == TRAMP_END_JCC)
		end = is_decided(b) ? MD_IF : MD_NEXT;
	else if (ends == TRAMP_END_FALL || ends == TRAMP_END_JMP)
		end = b->succ[MP_TARGET] != TRAMP_NONE || b->succ[MP_NEXT] != TRAMP_NONE ? MD_GOTO
											 : MD_NEXT;
	set_end(p, i, end);
}

static uint32_t goto_target(const struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];

	if (b->end != MD_GOTO)
		return TRAMP_NONE;
	return p->edges.v[b->succ[b->succ[MP_TARGET] != TRAMP_NONE ? MP_TARGET : MP_NEXT]].to;
}

/* The reader could not find out how often a cycle of nothing but GOTOs is run. */
static bool break_cycles(struct mp *p)
{
	uint32_t n = p->flow->nblocks;

	if (!mp_reserve(p, &p->stack, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		p->stack.v[i] = TRAMP_NONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		while (p->stack.v[at] == TRAMP_NONE) {
			uint32_t to = goto_target(p, at);

			p->stack.v[at] = i;
			if (to == TRAMP_NONE)
				break;
			if (p->stack.v[to] == i)
				set_end(p, at, MD_NEXT);
			else
				at = to;
		}
	}
	return true;
}

static void choose_header(const struct mp *p, uint32_t i)
{
	float weight = p->flow->blocks[i].loop == TRAMP_NONE ? 1 : 3;
	struct mp_block *b = &p->blocks.v[i];
	float known = 0, unknown = 0;
	bool any = false;

	for (uint32_t k = 0; k < b->npreds; k++) {
		const struct mp_edge *edge = &p->edges.v[p->preds.v[b->pred + k]];

		if (edge->from == TRAMP_NONE && b->polled)
			continue;
		if (edge->implied || edge->values) {
			known += edge->freq;
		} else {
			unknown += edge->freq;
			any = true;
		}
	}
	b->header = !mp_rung(p, TRAMP_MEM_IMPLIED) ||
		    (any && !b->no_header && unknown >= weight * known);
}

/* ---- by lookahead ---- */

/* Looks for the first words on all paths from a block. */
struct search {
	struct mp *p;
	uint32_t *seen, *stack;	/* by block: the search that has been there */
	uint32_t number, depth, steps;
	uint32_t other;		/* edge whose header must not come first */
	bool note;		/* note which headers are relied on */
	bool clash;		/* that header comes first, and it is a block's */
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

/* The block that the edge leads to has the header; otherwise the edge has it. */
static bool has_block_header(const struct mp *p, const struct mp_edge *edge)
{
	return p->blocks.v[edge->to].header;
}

static bool is_other(struct search *s, uint32_t index)
{
	const struct mp_edge *edge = &s->p->edges.v[index], *other = &s->p->edges.v[s->other];

	if (!has_block_header(s->p, other))
		return index == s->other;
	s->clash = edge->to == other->to;
	return s->clash;
}

/* False: the first word there cannot be distinguished from the other successor's header. */
static bool follow(struct search *s, uint32_t index)
{
	struct mp_edge *edge = &s->p->edges.v[index];
	struct mp_block *to = &s->p->blocks.v[edge->to];

	if (edge->implied && edge->values)
		return false;
	if (edge->implied && !to->header)
		return visit(s, edge->to);
	edge->relied |= s->note && !edge->implied;
	to->relied |= s->note && to->header;
	return !is_other(s, index);
}

/* Control leaves the copies: the header of any block that it enters from outside may be next. */
static bool may_leave(struct search *s)
{
	const struct mp_edge *other = &s->p->edges.v[s->other];
	const struct mp_block *to = &s->p->blocks.v[other->to];

	s->clash = has_block_header(s->p, other) && to->external && !to->polled;
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
		bool leaves = b->succ[MP_TARGET] == TRAMP_NONE && b->succ[MP_NEXT] == TRAMP_NONE;

		leaves |= s->p->flow->blocks[b - s->p->blocks.v].ends == TRAMP_END_TAIL_JCC;
		if (leaves && !may_leave(s))
			return false;
		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			if (b->succ[k] != TRAMP_NONE && !follow(s, b->succ[k]))
				return false;
		}
	}
	return true;
}

/* The block's header moves to its incoming edges: one of them needs one of its own. */
static bool move_header_to_edges(struct search *s, uint32_t block)
{
	struct mp_block *b = &s->p->blocks.v[block];

	if (b->no_header || b->relied || b->npreds > OWN_HEADERS)
		return false;
	s->changed = b->no_header = true;
	choose_header(s->p, block);
	return true;
}

/* Can the reader find out by the next word which successor block @b took? */
static bool is_told_apart(struct search *s, const struct mp_block *b, bool note)
{
	const struct mp_edge *silent = &s->p->edges.v[b->succ[!b->lookahead]],
			     *other = &s->p->edges.v[b->succ[b->lookahead]];

	if (silent->values || s->p->blocks.v[silent->to].header || silent->to == other->to)
		return false;
	s->other = b->succ[b->lookahead];
	s->note = note;
	s->clash = false;
	return run(s, silent->to) ||
	       (s->clash && move_header_to_edges(s, other->to) && run(s, silent->to));
}

static void set_lookahead(struct mp *p, struct mp_block *b, uint32_t k, bool silent)
{
	struct mp_edge *edge = &p->edges.v[b->succ[k]];

	edge->implied = silent;
	b->end = silent ? MD_PEEK : MD_NEXT;
	b->lookahead = (uint8_t)!k;
	choose_header(p, edge->to);
}

static bool is_undecided(const struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];

	return b->end == MD_NEXT && p->flow->blocks[i].ends == TRAMP_END_JCC &&
	       b->succ[MP_TARGET] != TRAMP_NONE && b->succ[MP_NEXT] != TRAMP_NONE;
}

/* Removing the header saves something, and no lookahead relies on it. */
static bool is_possible(const struct mp *p, const struct mp_edge *edge)
{
	const struct mp_block *to = &p->blocks.v[edge->to];

	return !edge->values && !edge->tried && !edge->relied && !to->relied && to->quiet;
}

/* The likelier of the successors that have not been tried; 2: none. */
static uint32_t candidate(const struct mp *p, const struct mp_block *b)
{
	const struct mp_edge *target = &p->edges.v[b->succ[MP_TARGET]],
			     *next = &p->edges.v[b->succ[MP_NEXT]];
	bool first = is_possible(p, target), second = is_possible(p, next);

	if (!first && !second)
		return 2;
	return first && (!second || target->freq > next->freq) ? MP_TARGET : MP_NEXT;
}

static void try_lookahead(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		struct mp_block *b = &p->blocks.v[i];
		uint32_t k = is_undecided(p, i) ? candidate(p, b) : 2;

		if (k == 2)
			continue;
		p->edges.v[b->succ[k]].tried = true;
		set_lookahead(p, b, k, true);
	}
}

static void drop_ambiguous_once(struct search *s, bool all)
{
	for (uint32_t i = s->p->flow->nblocks; i-- > 0;) {
		struct mp_block *b = &s->p->blocks.v[i];

		if (b->end != MD_PEEK || (!all && is_told_apart(s, b, false)))
			continue;
		set_lookahead(s->p, b, !b->lookahead, false);
		s->changed = true;
	}
}

/* Few rounds are enough, but each might make another one necessary. */
static void drop_ambiguous(struct search *s)
{
	for (int i = 0; i < ROUNDS; i++) {
		s->changed = false;
		drop_ambiguous_once(s, false);
		if (!s->changed)
			return;
	}
	drop_ambiguous_once(s, true);
}

static void note_reliance(struct search *s)
{
	for (uint32_t i = 0; i < s->p->flow->nblocks; i++) {
		if (s->p->blocks.v[i].end == MD_PEEK)
			is_told_apart(s, &s->p->blocks.v[i], true);
	}
}

/* An edge whose header is looked for has an EDGE node of its own. */
static void own_nodes(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct mp_block *b = &p->blocks.v[i];

		if (b->end == MD_PEEK)
			p->edges.v[b->succ[b->lookahead]].own_node = true;
	}
}

static bool choose_lookahead(struct mp *p)
{
	struct search s;

	if (!mp_rung(p, TRAMP_MEM_PATHS) || !mp_rung(p, TRAMP_MEM_IMPLIED))
		return true;
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		p->blocks.v[i].quiet = is_quiet(p, i);
	if (!begin(&s, p))
		return false;
	for (int round = 0; round < 2; round++) {	/* one successor, then the other */
		try_lookahead(p);
		drop_ambiguous(&s);
		note_reliance(&s);
	}
	own_nodes(p);
	return true;
}

/* ---- all ---- */

/* Does the edge lead to a header without anything being stored on it? */
static bool meets_header(const struct mp *p, uint32_t index)
{
	return index != TRAMP_NONE && p->blocks.v[p->edges.v[index].to].header &&
	       !p->edges.v[index].values;
}

/* Where a header follows in any case, nothing has to be computed to find the successor. */
static void use_headers(struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];
	bool target = b->succ[MP_TARGET] == TRAMP_NONE || meets_header(p, b->succ[MP_TARGET]);
	bool next = b->succ[MP_NEXT] == TRAMP_NONE || meets_header(p, b->succ[MP_NEXT]);

	if (b->end != MD_NEXT && b->end != MD_PEEK && target && next)
		set_end(p, i, MD_NEXT);
}

bool mp_choose_headers(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		choose_end(p, i);
	if (!break_cycles(p))
		return false;
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		choose_header(p, i);
	if (!choose_lookahead(p))
		return false;
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		use_headers(p, i);
	return true;
}
