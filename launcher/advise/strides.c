/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops that use little of each line that they fetch.
 *
 * Streams of one variable with the same distance are one walk; what they access of each step is known from where they begin.  If a pass begins a
 * few bytes after the one before, what is around the line is what later passes want: the walk is by columns, and the loops are the wrong way round, or
 * are to be worked off in tiles.  If the distance is that of elements, the rest of each is not wanted by this loop.
 */
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/units.h"

#define SURE 0.5	/* share of moves that have the distance */
#define SURE_STEPS 0.8	/* where nothing else says what the loop does */
#define MATTERS 0.05	/* misses for each access */
#define LINE MEMPROFILE_LINE
#define UNROLLED_MOST 16
#define FIELDS_MAX 256	/* bytes of what fields are called */

/* Streams of a loop that make one walk. */
struct walk {
	struct advise_stream **v;
	size_t n;
	struct advise_walk how;	/* of the first */
	uint64_t by;		/* bytes of a step */
	uint64_t used;		/* of a step's bytes */
	uint64_t fetched;	/* bytes of lines that it brings */
	uint64_t accesses, misses, conflicts;
	bool stores;
};

static int by_begin(const void *a, const void *b, void *arg)
{
	const struct walk *w = arg;
	const uint64_t x = (*(struct advise_stream *const *)a)->at->lo % w->by, y = (*(struct advise_stream *const *)b)->at->lo % w->by;

	return x < y ? -1 : x > y;
}

static bool has_stream_at(const struct walk *w, uint64_t at)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->v[i]->at->lo % w->by == at)
			return true;
	return false;
}

/* An unrolled loop makes several steps at once: its streams are as far apart as one of them. */
static void reduce_step(struct walk *w)
{
	for (uint64_t k = w->n < UNROLLED_MOST ? w->n : UNROLLED_MOST; k > 1; k--) {
		const uint64_t by = w->by / k;
		bool all = w->by % k == 0;

		for (size_t i = 0; i < w->n && all; i++)
			all = has_stream_at(w, (w->v[i]->at->lo + by) % w->by);
		if (!all)
			continue;
		w->by = by;
		return;
	}
}

/* Bytes of a step that one of the streams accesses, from where they are by the step. */
static void add_used(struct walk *w)
{
	uint64_t end = 0, lines = 0, last = UINT64_MAX;

	reduce_step(w);
	qsort_r(w->v, w->n, sizeof(w->v[0]), by_begin, w);
	w->used = 0;
	for (size_t i = 0; i < w->n; i++) {
		uint64_t lo = w->v[i]->at->lo % w->by, hi = lo + w->v[i]->at->size;

		lines += lo / LINE != last;
		last = lo / LINE;
		lo = lo > end ? lo : end;
		w->used += hi > lo ? hi - lo : 0;
		end = hi > end ? hi : end;
	}
	w->used = w->used < w->by ? w->used : w->by;
	w->fetched = w->by < LINE ? w->by : lines * LINE;
}

/* Do they go through the same steps, and not far from each other? */
static bool is_beside(const struct advise_stream *a, const struct advise_stream *b, uint64_t by)
{
	const uint64_t apart = a->at->lo > b->at->lo ? a->at->lo - b->at->lo : b->at->lo - a->at->lo;

	return advise_same_variable(a, b) && apart < 8 * by;
}

static bool take_walk(struct advise_loop *l, size_t first, struct walk *w)
{
	w->v = calloc(l->n, sizeof(*w->v));
	if (!w->v)
		return false;
	w->how = advise_walk_of(l->v[first].sum);
	w->by = advise_far(w->how.by);
	for (size_t i = first; i < l->n; i++) {
		struct advise_stream *s = &l->v[i];
		const struct advise_walk how = advise_walk_of(s->sum);

		if (s->advised || how.share < SURE || advise_far(how.by) != w->by || !is_beside(s, &l->v[first], w->by))
			continue;
		s->advised = true;
		w->v[w->n++] = s;
		w->accesses += advise_accesses(s);
		w->misses += s->counts[0].misses;
		w->stores |= memory_stores(s->sum) != 0;
	}
	add_used(w);
	return true;
}

/* Nothing was said of it: others may. */
static void give_back(struct walk *w)
{
	for (size_t i = 0; i < w->n; i++)
		w->v[i]->advised = false;
}

/* ---- words ---- */

static const char *how(const struct walk *w)
{
	bool loads = false;

	for (size_t i = 0; i < w->n; i++)
		loads |= memory_loads(w->v[i]->sum) != 0;
	return !w->stores ? "read" : loads ? "read and written" : "written";
}

/* "x, y", of fields; "" if they have no names. */
static void put_fields(const struct walk *w, char text[static FIELDS_MAX])
{
	const char *last = NULL;
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < w->n; i++) {
		const struct nm_name *name = w->v[i]->place->name;
		const char *path = name ? strchr(name->path, ']') : NULL;

		path = path && path[1] == '.' ? path + 2 : NULL;
		if (!path || (last && strcmp(last, path) == 0) || n + strlen(path) + 8 > FIELDS_MAX)
			continue;
		n += (size_t)snprintf(text + n, FIELDS_MAX - n, "%s%s", n ? ", " : "", path);
		last = path;
	}
}

static char *variable_of(const struct advise_stream *s, bool whole)
{
	const struct nm_name *name = s->place->name;
	char *text = whole && name ? advise_variable(&(struct advise_stream){ .place = &(struct memplace){ .name = nm_whole(name) } }) :
				     advise_variable(s);

	if (text)
		return text;
	if (s->place->file)
		return advise_text("the memory that line %d accesses", s->place->line);
	return advise_text("the memory that the instruction at 0x%" PRIx64 " accesses", s->place->addr);
}

static char *evidence(const struct advise_rank *r, const struct walk *w, const char *name, const char *more)
{
	const struct cache_level *level = &r->a->systems.v[0].level[0];
	char share[UNITS_MAX];

	units_percent(100.0 * (double)w->misses / (double)w->accesses, share);
	return advise_text("%s is %s %" PRIu64 " bytes further each time (%.0f%% of %" PRIu64 " accesses), %" PRIu64 " of %" PRIu64
			   " bytes are used of each step, and %s of the accesses miss %s%s", name, how(w), w->by, 100 * w->how.share,
			   w->accesses, w->used, w->by, share, level->name, more);
}

static struct advice advice_of(const struct advise_loop *l, const struct walk *w, enum advice_kind kind, const char *name)
{
	struct advice like = { .kind = kind, .of = ADVICE_OF_MISSES, .amount = (double)w->misses, .place = advise_place(l) };

	like.place.variable = name;
	return like;
}

/* ---- by fields ---- */

/* Steps of so many elements at most are those of an unrolled loop. */
#define UNROLLED 8

/* Are the steps elements of an array of structures, as the type says? */
static bool is_of_fields(const struct walk *w)
{
	const struct nm_name *name = w->v[0]->place->name;
	const char *end = name ? strchr(name->path, ']') : NULL;

	return end && strchr(end, '.') && name->stride && w->by % name->stride == 0 && w->by / name->stride <= UNROLLED;
}

static void say_fields(struct advise_rank *r, struct advise_loop *l, struct walk *w)
{
	char fields[FIELDS_MAX], *name = variable_of(w->v[0], true), *text;
	struct advice like = advice_of(l, w, ADVICE_FIELDS, name);

	put_fields(w, fields);
	text = advise_text("%s%s%s", *fields ? "; the loop uses " : "", fields, *fields ? " of each element alone" : "");
	if (name && text)
		advise_add(r->a, &like, evidence(r, w, name, text),
			   advise_text("keep what this loop uses in an array of its own (a structure of arrays, or the rarely used fields "
				       "moved out of the element), so that each line that is fetched is used whole, in place of %.0f%%",
				       100.0 * (double)w->used / (double)w->fetched));
	else
		r->a->failed = true;
	free(text);
	free(name);
}

/* ---- by columns ---- */

/*
 * How many lines the loop's accesses fetch: as it is, and if passes were steps.  Vectors would then be single numbers, which are as large as the
 * smallest access.  A stream that goes on in each pass where it was, as through all of a matrix, has passes of @run steps, too.
 */
static void weigh(const struct advise_loop *l, double run, double *before, double *after)
{
	uint32_t least = 8;

	for (size_t i = 0; i < l->n; i++)
		least = l->v[i].at->size && l->v[i].at->size < least ? l->v[i].at->size : least;
	*before = *after = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct advise_walk w = advise_walk_of(l->v[i].sum);
		const double n = (double)advise_accesses(&l->v[i]), numbers = n * (l->v[i].at->size > least ? l->v[i].at->size / least : 1);
		const bool goes_on = !w.passes || w.run > 1.5 * run;
		const uint64_t by = advise_far(w.by), again = goes_on ? (uint64_t)((double)by * run) : advise_far(w.again);

		*before += w.share < SURE ? n : by < LINE ? n * (double)by / LINE : n;
		if (!w.by && w.share > 0.99)
			continue;
		*after += w.share < SURE ? numbers : again < LINE ? numbers * (double)again / LINE : numbers;
	}
}

static bool is_by_columns(const struct walk *w)
{
	const uint64_t again = advise_far(w->how.again);

	return w->by > LINE && w->by > again && w->how.passes && again && again < LINE && again <= 4 * (uint64_t)w->v[0]->at->size && w->how.run >= 2;
}

static void say_columns(struct advise_rank *r, struct advise_loop *l, struct walk *w)
{
	char *name = variable_of(w->v[0], false), *more, *todo;
	struct advice like = advice_of(l, w, ADVICE_STRIDE, name);
	const uint64_t lines = r->a->systems.v[0].level[0].lines;
	const struct advise_code code = advise_code_of(r->a, l->place->path, l->place->entry, l->place->loop);
	double before, after;

	weigh(l, w->how.run, &before, &after);
	more = advise_text("; the next pass begins %+" PRId64 " bytes from where the one before did", w->how.again);
	if (code.known && !code.alone)
		todo = advise_text("the loop around it does other work, too, so they cannot be exchanged as they are: change the order of the array's "
				   "dimensions, or keep what these passes want in an array of its own, in their order");
	else if (after < 0.6 * before)
		todo = advise_text("exchange this loop with the one around it: its accesses are then at most %" PRIu64 " bytes apart%s",
				   advise_far(w->how.again), l->n > w->n ? ", and all others together fetch fewer lines, too" : "");
	else
		todo = advise_text("work in tiles of at most %" PRIu64 " steps (as many lines fill half of %s): exchanging the loops would only "
				   "have other accesses of this loop walk like that", lines / 2, r->a->systems.v[0].level[0].name);
	if (name && more)
		advise_add(r->a, &like, evidence(r, w, name, more), todo);
	else
		r->a->failed = true;
	if (!name || !more)
		free(todo);
	free(more);
	free(name);
}

/* ---- other steps ---- */

static void say_steps(struct advise_rank *r, struct advise_loop *l, struct walk *w)
{
	char *name = variable_of(w->v[0], false);
	struct advice like = advice_of(l, w, ADVICE_STRIDE, name);

	if (!name) {
		r->a->failed = true;
		return;
	}
	advise_add(r->a, &like, evidence(r, w, name, ""),
		   advise_text("store what this loop wants side by side (another order of the array's dimensions, or a copy that is made once), "
			       "so that a line of %d bytes serves %" PRIu64 " steps", LINE, w->used < LINE ? LINE / w->used : 1));
	free(name);
}

/* A list or a tree: where the next node is, its allocation decided. */
static bool follows_pointers(const struct walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct nm_name *name = w->v[i]->place->name;

		if (name && name->type && strchr(name->type, '*') && memory_loads(w->v[i]->sum) && strchr(name->path, '.'))
			return true;
	}
	return false;
}

/* ---- all ---- */

/* Of what a step brings into the cache, how much is used? */
static bool is_wasteful(const struct walk *w)
{
	return 2 * w->used <= w->fetched && (double)w->misses >= MATTERS * (double)w->accesses;
}

void advise_strides(struct advise_rank *r, struct advise_loop *l)
{
	if (!l->place->loop || !advise_misses_matter(r->a, 0))
		return;
	for (size_t i = 0; i < l->n; i++) {
		const struct advise_walk how = advise_walk_of(l->v[i].sum);
		struct walk w = { 0 };

		if (l->v[i].advised || advise_accesses(&l->v[i]) < ADVISE_ACCESSES || how.share < SURE || advise_far(how.by) < 2 * (uint64_t)l->v[i].at->size)
			continue;
		if (!take_walk(l, i, &w)) {
			r->a->failed = true;
			return;
		}
		if (!is_wasteful(&w) || follows_pointers(&w))
			give_back(&w);
		else if (is_of_fields(&w))
			say_fields(r, l, &w);
		else if (is_by_columns(&w))
			say_columns(r, l, &w);
		else if (w.by > LINE && how.share >= SURE_STEPS)
			say_steps(r, l, &w);
		else
			give_back(&w);
		free(w.v);
	}
}
