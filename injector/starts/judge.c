// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which of the supposed starts are certain, and which are none.
 *
 * Certain is what the loader jumps to, and what certain code calls.  Who is called in another way, by an address in data or
 * in an instruction, or by a jump at a function's end, has to look like a function besides: what comes before it ends there, nothing
 * runs into it, nobody jumps to it with something on the stack, it returns with the stack as it was, and uses no register of before
 * that callers do not hand over.  Cold parts and labels fail at one of these.
 */
#include "config.h"

#include "base/search.h"
#include "injector/starts/starts.h"

#define ALIGNMENT 16
#define ALIGNED_SHARE 8	/* one of so many certain starts may be elsewhere */
#define INSN_MAX 15	/* bytes */
#define BAD_SHAPES (TRAMP_SHAPE_OF_PART | TRAMP_SHAPE_CUT)

static bool is_sane(const struct inj_start *start)
{
	return !(start->shape & BAD_SHAPES) && start->end > start->addr;
}

static bool is_jump(const struct inj_edge *e)
{
	return e->ends == TRAMP_END_TAIL || e->ends == TRAMP_END_TAIL_JCC;
}

static bool is_call(const struct inj_edge *e)
{
	return e->ends == TRAMP_END_CALL || e->ends == TRAMP_END_NORETURN;
}

/* ---- what is before each ---- */

static void find_bounds(struct inj_starts *s, struct inj_start *start, uint32_t fn)
{
	const struct tramp_bytes *code = inj_cf_code(s->cf, start->addr);
	const struct tramp_fn *before = fn ? &s->fns[fn - 1] : NULL;
	uint64_t from = code->addr;

	start->unsure = start->fallen = false;
	if (before && before->addr >= code->addr) {
		const struct inj_start *other = s->of[fn - 1] == TRAMP_NONE ? NULL : &s->v[s->of[fn - 1]];

		from = other ? other->end : before->addr + before->size;
		start->unsure = other && other->shape & TRAMP_SHAPE_SWITCHES;
		start->fallen = other && other->shape & TRAMP_SHAPE_BAD && start->addr - from < INSN_MAX;
	}
	start->bounded = inj_starts_padding(s->cf, from, start->addr) == start->addr;
	start->padded = from < start->addr;
	start->orphans = false;
	if (start->bounded)
		return;
	from = inj_starts_orphans(s->cf, from, start->addr);
	start->bounded = start->orphans = from != 0;
	start->padded = from && from < start->addr;
}

/* Branches of what is before it, other than calls: labels have some, but functions seldom. */
static void find_labels(struct inj_starts *s, struct inj_start *start, uint32_t fn)
{
	uint64_t base = tramp_code_base(s->code), from = fn ? s->fns[fn - 1].addr : base;
	const struct tramp_site *sites;
	size_t n = tramp_code_sites(s->code, start->addr, &sites);

	start->label = false;
	for (size_t i = 0; i < n && !start->label; i++)
		start->label = base + sites[i].from >= from && base + sites[i].from < start->addr && inj_starts_is_jump(s, &sites[i]);
}

static void begin(struct inj_starts *s)
{
	for (size_t i = 0; i < s->settled; i++) {
		struct inj_start *start = &s->v[i];

		start->certain = start->called = start->likely = start->deep = false;
		start->jumped = start->cond = false;
		start->lone = true;
		start->revived = false;
		if (start->dead)
			continue;
		find_bounds(s, start, s->fn[i]);
		find_labels(s, start, s->fn[i]);
	}
}

/* ---- who comes to each ---- */

static void note_jumper(struct inj_start *to, uint32_t jumper, bool cond)
{
	to->lone &= !to->jumped || to->jumper == jumper;
	if (!to->deep)
		to->jumper = jumper;
	to->jumped = true;
	to->cond |= cond;
}

/* Of known functions, all code counts. */
static void note_sites(struct inj_starts *s, struct inj_start *start)
{
	const struct tramp_site *sites;
	size_t n = tramp_code_sites(s->code, start->addr, &sites);

	for (size_t i = 0; i < n; i++) {
		uint32_t from = tramp_code_function(s->code, tramp_code_base(s->code) + sites[i].from);

		if (from == TRAMP_NONE || s->of[from] != TRAMP_NONE)
			continue;
		if (inj_starts_is_call(s, &sites[i]))
			start->called = true;
		else
			note_jumper(start, from, true);
	}
}

/* What speaks against being a start counts from whatever it comes. */
static void note_doubts(struct inj_starts *s, const struct inj_start *from)
{
	bool likely = is_sane(from) && from->bounded;

	for (size_t k = from->edge; k < from->edge + from->nedges; k++) {
		const struct inj_edge *e = &s->edges[k];
		struct inj_start *to = e->to ? inj_starts_at(s, e->to) : NULL;

		if (!to || to->dead)
			continue;
		if (is_call(e))
			to->likely |= likely;
		to->fallen |= e->ends == TRAMP_END_TAIL_FALL;
		if (!is_jump(e) || !e->deep)
			continue;
		to->deep = true;
		to->jumper = s->fn[from - s->v];
	}
}

/* Does it jump back to the inside of the function that jumps to it? */
static bool jumps_back(const struct inj_starts *s, const struct inj_start *start)
{
	const struct tramp_fn *jumper = &s->fns[start->jumper];
	uint64_t size = s->of[start->jumper] == TRAMP_NONE ? jumper->size : s->v[s->of[start->jumper]].end - jumper->addr;

	for (size_t k = start->edge; k < start->edge + start->nedges; k++) {
		const struct inj_edge *e = &s->edges[k];

		if (is_jump(e) && e->to != jumper->addr && e->to - jumper->addr < size)
			return true;
	}
	return false;
}

/* ---- certain ones ---- */

static bool is_placed(const struct inj_starts *s, const struct inj_start *start)
{
	return !s->aligned || start->addr % ALIGNMENT == 0;
}

/* A jump before it could lead to it, but not to what begins as functions do. */
static bool is_sure(const struct inj_start *start)
{
	return !start->unsure || (start->padded && start->addr % ALIGNMENT == 0 && start->shape & TRAMP_SHAPE_PROLOGUE);
}

/* Where compilers align what functions begin with, and labels have no such beginnings. */
static bool is_begun(const struct inj_starts *s, const struct inj_start *start)
{
	if (start->label || inj_starts_like_pad(s->cf, start->addr))
		return false;
	return (start->padded && start->addr % ALIGNMENT == 0 && start->shape & TRAMP_SHAPE_PROLOGUE) ||
	       inj_starts_prologue(s->cf, start->addr) == INJ_PROLOGUE_FRAME;
}

static bool is_apart(const struct inj_starts *s, const struct inj_start *start)
{
	return start->bounded && is_sure(start) && (!start->orphans || is_begun(s, start));
}

static bool is_table(const struct inj_starts *s, uint64_t addr)
{
	struct tramp_code_arrays a;
	uint64_t at = addr - tramp_code_base(s->code);

	tramp_code_arrays(s->code, &a);
	return ((const uint64_t *)a.at[TRAMP_CODE_TABLE])[at / 64] >> (at % 64) & 1;
}

/* Tables of jumps may follow those of virtual functions, without anything between them. */
static bool by_table(const struct inj_starts *s, const struct inj_start *start)
{
	return start->by & INJ_FN_BY_VTABLE && is_placed(s, start) && !is_table(s, start->addr) && !start->fallen && !start->deep &&
	       is_sure(start);
}

static bool by_address(const struct inj_starts *s, const struct inj_start *start)
{
	return start->by & (INJ_FN_BY_DATA | INJ_FN_BY_CODE) && is_placed(s, start) && is_apart(s, start) && !start->fallen && !start->deep &&
	       !(start->shape & TRAMP_SHAPE_ABOVE);
}

static bool by_jumps(const struct inj_starts *s, const struct inj_start *start)
{
	if (!start->jumped || !is_apart(s, start) || start->fallen || start->deep)
		return false;
	return !start->lone || (!start->cond && start->addr % ALIGNMENT == 0 && !jumps_back(s, start));
}

/* By code that itself is likely to be a function's. */
static bool by_likely_calls(const struct inj_starts *s, const struct inj_start *start)
{
	return start->likely && start->bounded && is_placed(s, start) && !start->fallen && !start->deep;
}

static bool comes_back(const struct inj_starts *s, const struct inj_start *start)
{
	if (start->shape & TRAMP_SHAPE_RETURNS)
		return true;
	for (size_t k = start->edge; k < start->edge + start->nedges; k++)
		if (s->edges[k].ends == TRAMP_END_TAIL && s->edges[k].flat)
			return true;
	return false;
}

/* After the very end of a function whose control is understood: what begins like one, and leaves the stack as it was. */
static bool by_beginning(const struct inj_starts *s, const struct inj_start *start)
{
	return start->bounded && !start->unsure && is_begun(s, start) && comes_back(s, start) && !start->fallen && !start->deep;
}

static bool is_certain(const struct inj_starts *s, const struct inj_start *start)
{
	if (start->by & INJ_FN_BY_ENTRY)
		return true;
	return is_sane(start) && (start->called || by_table(s, start) || by_address(s, start) || by_jumps(s, start) ||
				  by_likely_calls(s, start) || by_beginning(s, start));
}

/* Returns whether a start that was taken out is one after all. */
static bool follow(struct inj_starts *s, const struct inj_start *from)
{
	bool revived = false;

	for (size_t k = from->edge; k < from->edge + from->nedges; k++) {
		const struct inj_edge *e = &s->edges[k];
		struct inj_start *to = e->to ? inj_starts_at(s, e->to) : NULL;

		if (!to)
			continue;
		if (is_jump(e) && e->flat && !to->dead)
			note_jumper(to, s->fn[from - s->v], e->ends == TRAMP_END_TAIL_JCC);
		if (!is_call(e))
			continue;
		revived |= to->dead;
		to->revived |= to->dead;
		to->dead = false;
		to->called = true;
		to->by |= INJ_FN_BY_CALL;
	}
	return revived;
}

static bool spread(struct inj_starts *s)
{
	bool changed = true, revived = false;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < s->settled; i++) {
			struct inj_start *start = &s->v[i];

			if (start->dead || start->certain || start->revived || !is_certain(s, start))
				continue;
			start->certain = changed = true;
			revived |= follow(s, start);
		}
	}
	return revived;
}

/* ---- none ---- */

/* So do compilers that optimize, but for size. */
static void find_alignment(struct inj_starts *s)
{
	size_t all = 0, aligned = 0;

	for (size_t i = 0; i < s->settled; i++) {
		all += s->v[i].certain;
		aligned += s->v[i].certain && s->v[i].addr % ALIGNMENT == 0;
	}
	s->aligned = aligned >= all - all / ALIGNED_SHARE;
}

static bool is_none(const struct inj_starts *s, const struct inj_start *start)
{
	if (start->certain || start->revived || start->called)
		return s->strict && !start->certain && !is_sane(start);
	if (start->part)
		return false;
	if (start->fallen || start->deep || start->shape & TRAMP_SHAPE_BAD || start->end <= start->addr || is_table(s, start->addr))
		return true;
	if (start->by == INJ_FN_BY_GAP && (start->label || inj_starts_like_pad(s->cf, start->addr)))
		return true;
	if (start->by == INJ_FN_BY_GAP && !s->strict) /* code after it may be a function */
		return false;
	if (!is_sane(start))
		return true;
	if (!s->strict) /* what comes before it may still be found */
		return false;
	if (!start->likely && !is_placed(s, start))
		return true;
	if (start->by == INJ_FN_BY_GAP && (start->shape & TRAMP_SHAPE_ABOVE ||
					   !(start->shape & (TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_PROLOGUE))))
		return true;
	return !is_apart(s, start);
}

bool inj_starts_judge(struct inj_starts *s)
{
	bool changed;

	begin(s);
	for (size_t i = 0; i < s->settled; i++) {
		if (s->v[i].dead)
			continue;
		note_sites(s, &s->v[i]);
		note_doubts(s, &s->v[i]);
	}
	changed = spread(s);
	find_alignment(s);
	for (size_t i = 0; i < s->settled; i++) {
		struct inj_start *start = &s->v[i];

		if (start->dead || !is_none(s, start))
			continue;
		start->dead = true;
		start->deaths++;
		changed = true;
	}
	return changed;
}
