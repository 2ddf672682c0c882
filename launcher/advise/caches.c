/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What misses, and is not a matter of strides (strides.c): lines that map to the same sets, lines that come back when they have left, accesses that
 * nothing can foresee, pages.  Lines that are touched once only have to be fetched: of those nothing is said.
 */
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/units.h"

#define MATTERS 0.01 /* misses for each access */
#define MOST 0.5
#define SURE 0.5
#define CONFLICTS 0.3 /* of a loop's misses in the first level */
#define PAGE 4096u

struct misses {
	uint64_t all, compulsory, capacity, random; /* random: of all, by streams without a pattern */
	uint64_t accesses;
	const struct advise_stream *worst; /* the one with the most */
};

static struct misses misses_of(const struct advise_loop *l, unsigned int level, bool unadvised)
{
	struct misses m = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		const struct cache_count *c = &l->v[i].counts[level];

		if (unadvised && l->v[i].advised)
			continue;
		m.all += c->misses;
		m.compulsory += c->compulsory;
		m.capacity += c->capacity;
		m.accesses += advise_accesses(&l->v[i]);
		if (advise_walk_of(l->v[i].sum).random >= MOST)
			m.random += c->misses;
		if (!m.worst || c->misses > m.worst->counts[level].misses)
			m.worst = &l->v[i];
	}
	return m;
}

static char *name_of(const struct advise_stream *s)
{
	char *name = advise_variable(s);

	if (name)
		return name;
	if (s->place->file)
		return advise_text("what line %d accesses", s->place->line);
	return advise_text("what the instruction at 0x%" PRIx64 " accesses", s->place->addr);
}

static bool is_worth(const struct advise_rank *r, unsigned int level, uint64_t misses)
{
	return advise_misses_matter(r->a, level) && (double)misses >= ADVISE_LEAST * r->a->whole[ADVICE_OF_MISSES + level];
}

static void add(struct advise_rank *r, const struct advise_loop *l, enum advice_kind kind, unsigned int level, uint64_t misses,
		const char *name, char *evidence, char *todo)
{
	struct advice like = { .kind = kind, .of = (enum advice_of)(ADVICE_OF_MISSES + level), .amount = (double)misses,
			       .place = advise_place(l) };

	like.place.variable = name;
	advise_add(r->a, &like, evidence, todo);
}

/* ---- conflicts ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * How many streams step through memory beside each other, at nearly the same distance from a multiple of @way bytes as the one with most misses: those
 * of them that are more than the ways of a set keep each other out.
 */
static unsigned int count_congruent(const struct advise_loop *l, const struct advise_stream *s, uint64_t way)
{
	const struct advise_walk w = advise_walk_of(s->sum);
	unsigned int n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct advise_walk o = advise_walk_of(l->v[i].sum);
		const uint64_t apart = (l->v[i].at->lo - s->at->lo) % way;
		bool known = false;

		if (o.share < SURE || o.by != w.by || (apart > MEMPROFILE_LINE && way - apart > MEMPROFILE_LINE))
			continue;
		/* the same lines do not count twice */
		for (size_t k = 0; k < i; k++)
			known |= l->v[k].at->lo / MEMPROFILE_LINE == l->v[i].at->lo / MEMPROFILE_LINE;
		n += !known;
	}
	return n;
}

static void look_for_conflicts(struct advise_rank *r, struct advise_loop *l)
{
	const struct cache_level *level = &r->a->systems.v[0].level[0];
	const struct misses m = misses_of(l, 0, false);
	const uint64_t sets = level->lines / level->ways, conflicts = m.all - m.compulsory - m.capacity;
	char *name, share[UNITS_MAX];
	struct advise_walk w;
	unsigned int streams;
	uint64_t by, used;

	/* without classes, all that is not compulsory and for capacity would seem to be a conflict */
	if (cache_prefetches(&r->a->systems.v[0]) || cache_has_policy(&r->a->systems.v[0], CACHE_OPT) || !m.worst)
		return;
	if ((double)conflicts < CONFLICTS * (double)m.all || (double)m.all < MATTERS * (double)m.accesses || !is_worth(r, 0, conflicts))
		return;
	w = advise_walk_of(m.worst->sum);
	if (w.share < SURE)
		return;
	by = advise_far(w.by);
	used = by >= level->line && by % level->line == 0 ? sets / common_divisor(sets, by / level->line) : sets;
	streams = count_congruent(l, m.worst, sets * level->line);
	name = name_of(m.worst);
	units_percent(100.0 * (double)conflicts / (double)m.all, share);
	if (used <= sets / 4)
		add(r, l, ADVICE_CONFLICT, 0, conflicts, name,
		    advise_text("%" PRIu64 " of its %" PRIu64 " misses in %s (%s) would hit if any line could be anywhere in it: steps of %" PRIu64
				" bytes, most of all of %s, use %" PRIu64 " of %" PRIu64 " sets", conflicts, m.all, level->name, share, by, name, used,
				sets),
		    advise_text("if a step is a row, make rows longer by %" PRIu64 " bytes, so that it is no multiple of a high power of two; else copy "
				"what it steps through to a place of its own first", level->line));
	else if (streams > level->ways)
		add(r, l, ADVICE_CONFLICT, 0, conflicts, name,
		    advise_text("%" PRIu64 " of its %" PRIu64 " misses in %s (%s) would hit if any line could be anywhere in it: %u streams, of them %s, "
				"are multiples of %" PRIu64 " bytes apart, and a set holds %" PRIu64 " lines", conflicts, m.all, level->name, share,
				streams, name, sets * level->line, level->ways),
		    advise_text("let arrays begin at different distances from multiples of %" PRIu64 " bytes (by a line or more each)",
				sets * level->line));
	free(name);
}

/* ---- lines that come back too late, and those that nothing foresees ---- */

/* Are pointers loaded at such addresses?  Then they are followed. */
static bool follows_pointers(const struct advise_loop *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct nm_name *name = l->v[i].place->name;

		if (advise_walk_of(l->v[i].sum).random >= MOST && memory_loads(l->v[i].sum) && name && name->type && strchr(name->type, '*'))
			return true;
	}
	return false;
}

static void say_random(struct advise_rank *r, const struct advise_loop *l, unsigned int k, const struct misses *m)
{
	const struct cache_level *level = &r->a->systems.v[0].level[k];
	char *name = name_of(m->worst), share[UNITS_MAX], size[UNITS_MAX];

	units_percent(100.0 * (double)m->all / (double)m->accesses, share);
	units_bytes(l->lines * MEMPROFILE_LINE, size);
	add(r, l, ADVICE_CACHE, k, m->all, name,
	    advise_text("%s of its %" PRIu64 " accesses miss %s, most of all to %s, at addresses without a pattern in %s", share, m->accesses,
			level->name, name, size),
	    follows_pointers(l) ?
		    advise_text("pointers are followed here, so nothing can be fetched ahead: smaller nodes, several keys in each, or nodes that are "
				"allocated together in the order that they are visited in fetch fewer lines") :
		    advise_text("make elements smaller, and those that are used together neighbours; if addresses are known some iterations ahead, sort "
				"or bucket them so that one part is done at a time, or prefetch (__builtin_prefetch)"));
	free(name);
}

static void say_late(struct advise_rank *r, const struct advise_loop *l, unsigned int k, const struct misses *m)
{
	const struct cache_level *level = &r->a->systems.v[0].level[k];
	char *name = name_of(m->worst), all[UNITS_MAX], cache[UNITS_MAX], part[UNITS_MAX];

	units_bytes(l->lines * MEMPROFILE_LINE, all);
	units_bytes(level->lines * level->line, cache);
	units_bytes(level->lines * level->line / 2, part);
	add(r, l, ADVICE_CACHE, k, m->capacity, name,
	    advise_text("it comes back to lines when they have left %s: of %" PRIu64 " misses there, most of all of %s, %" PRIu64
			" are to lines that were there before, and it goes through %s, of which %s holds %s", level->name, m->all, name, m->capacity,
			all, level->name, cache),
	    advise_text("do all that is to be done with %s before going on to the next (blocks or tiles), or join the passes into one", part));
	free(name);
}

static void look_for_misses(struct advise_rank *r, struct advise_loop *l)
{
	const unsigned int k = advise_ncaches(r->a) > 1 ? 1 : 0;
	const struct misses m = misses_of(l, k, true);
	const uint64_t late = m.capacity;

	if (!m.worst || (double)m.all < MATTERS * (double)m.accesses || !is_worth(r, k, m.all))
		return;
	/* what fits was only not there yet */
	if (l->lines * MEMPROFILE_LINE <= r->a->systems.v[0].level[k].lines * r->a->systems.v[0].level[k].line)
		return;
	if ((double)m.random >= MOST * (double)m.all)
		say_random(r, l, k, &m);
	else if (l->place->loop && (double)late >= MOST * (double)m.all && is_worth(r, k, late))
		say_late(r, l, k, &m);
}

/* ---- pages ---- */

static void look_for_pages(struct advise_rank *r, struct advise_loop *l)
{
	const struct cache_system *s = &r->a->systems.v[0];
	const unsigned int k = cache_levels(s) - 1;
	const struct misses m = misses_of(l, k, false);
	uint64_t pages;
	char *name, share[UNITS_MAX], size[UNITS_MAX];

	if (!s->ntlbs || !m.worst || (double)m.all < MATTERS * (double)m.accesses || !is_worth(r, k, m.all))
		return;
	/* what fits was only not there yet */
	pages = (m.worst->at->hi - m.worst->at->lo) / PAGE + 1;
	if (pages <= s->level[k].lines)
		return;
	name = name_of(m.worst);
	units_percent(100.0 * (double)m.all / (double)m.accesses, share);
	units_bytes(pages * PAGE, size);
	add(r, l, ADVICE_TLB, k, m.all, name,
	    advise_text("%s of its %" PRIu64 " accesses miss %s, most of all to %s, which is within %s, %" PRIu64 " pages of 4 KiB: the TLB holds %"
			PRIu64, share, m.accesses, s->level[k].name, name, size, pages, s->level[k].lines),
	    advise_text("use huge pages for it (memory that is aligned to 2 MiB and madvise(MADV_HUGEPAGE))%s",
			m.worst->advised ? ", or walk along its lines: there is advice on its stride, too" : ""));
	free(name);
}

void advise_caches(struct advise_rank *r, struct advise_loop *l)
{
	look_for_conflicts(r, l);
	look_for_misses(r, l);
	look_for_pages(r, l);
}
