/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/html/slices.h"

#include <stdlib.h>

#include "base/array.h"

#define MOST_SHIFT 52u /* 52 days */

bool slices_begin(struct slices *s, size_t tracks, size_t limit, uint32_t depths)
{
	*s = (struct slices){ .tracks = tracks, .limit = limit, .depths = depths };
	s->track = calloc(tracks + 1, sizeof(*s->track));
	return s->track;
}

static void drop_rows(struct slices *s, struct slice_track *t, uint32_t from)
{
	for (uint32_t d = from; d < t->depths; d++) {
		for (size_t i = 0; i < t->row[d].n; i++)
			s->deeper += t->row[d].v[i].calls;
		s->n -= t->row[d].n;
		free(t->row[d].v);
	}
	t->depths = t->depths < from ? t->depths : from;
}

void slices_free(struct slices *s)
{
	for (size_t i = 0; s->track && i < s->tracks; i++) {
		drop_rows(s, &s->track[i], 0);
		free(s->track[i].row);
	}
	free(s->track);
	*s = (struct slices){ 0 };
}

/* ---- sums ---- */

static bool is_short(const struct slices *s, const struct slice *c)
{
	return c->calls > 1 || c->end - c->start < UINT64_C(1) << s->shift;
}

/* Both begin in the same cell and are to become one. */
static bool belong(const struct slices *s, const struct slice *a, const struct slice *b)
{
	return s->shift && a->start >> s->shift == b->start >> s->shift && is_short(s, a) && is_short(s, b);
}

/* The name by a vote, weighted with time: Boyer and Moore, "MJRTY: a fast majority vote algorithm", 1991. */
static void merge(struct slice *to, const struct slice *more)
{
	to->end = more->end > to->end ? more->end : to->end;
	to->busy += more->busy;
	to->calls += more->calls;
	to->cut = false;
	if (to->name == more->name) {
		to->lead += more->lead;
	} else if (more->lead > to->lead) {
		to->name = more->name;
		to->lead = more->lead - to->lead;
	} else {
		to->lead -= more->lead;
	}
}

static void reduce_row(struct slices *s, struct slice_row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < row->n; i++) {
		if (n && belong(s, &row->v[n - 1], &row->v[i]))
			merge(&row->v[n - 1], &row->v[i]);
		else
			row->v[n++] = row->v[i];
	}
	s->n -= row->n - n;
	row->n = n;
}

void slices_reduce(struct slices *s, size_t limit)
{
	while (s->n > limit && (s->shift < MOST_SHIFT || s->depths > 1)) {
		if (s->shift < MOST_SHIFT)
			s->shift++;
		else
			s->depths /= 2;
		for (size_t i = 0; i < s->tracks; i++) {
			drop_rows(s, &s->track[i], s->depths);
			for (uint32_t d = 0; d < s->track[i].depths; d++)
				reduce_row(s, &s->track[i].row[d]);
		}
	}
}

/* ---- calls ---- */

static struct slice_row *row_of(struct slice_track *t, uint32_t depth)
{
	struct slice_row *more;

	if (depth < t->depths)
		return &t->row[depth];
	more = reallocarray(t->row, depth + 1, sizeof(*t->row));
	if (!more)
		return NULL;
	t->row = more;
	while (t->depths <= depth)
		t->row[t->depths++] = (struct slice_row){ 0 };
	return &t->row[depth];
}

bool slices_add(struct slices *s, size_t track, uint32_t depth, const struct slice *call)
{
	struct slice_row *row;

	if (depth >= s->depths) {
		s->deeper++;
		return true;
	}
	row = row_of(&s->track[track], depth);
	if (!row)
		return false;
	if (row->n && belong(s, &row->v[row->n - 1], call)) {
		merge(&row->v[row->n - 1], call);
		return true;
	}
	if (!array_room(row->v, row->room, row->n + 1))
		return false;
	row->v[row->n++] = *call;
	if (++s->n > s->limit)
		slices_reduce(s, s->limit);
	return true;
}
