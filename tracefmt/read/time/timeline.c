/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/read/time/timeline.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"

#define LIMIT (UINT64_C(1) << 62)

bool tf_timeline_add(struct tf_timeline *t, uint64_t tsc, uint64_t ns)
{
	const struct tf_point *last = t->n ? &t->point[t->n - 1] : NULL;

	if (tsc >= LIMIT || ns >= LIMIT || (last && (tsc <= last->tsc || ns <= last->ns)))
		return true;
	if (!array_room(t->point, t->room, t->n + 1))
		return false;
	t->point[t->n++] = (struct tf_point){ tsc, ns };
	return true;
}

void tf_timeline_finish(struct tf_timeline *t)
{
	const struct tf_point *first = t->point, *last = t->point + t->n - 1;

	t->hz = 1e9;
	if (t->n > 1)
		t->hz = 1e9 * (double)(last->tsc - first->tsc) / (double)(last->ns - first->ns);
}

/* The line through @a and @b at @tsc. */
static int64_t along(const struct tf_point *a, const struct tf_point *b, uint64_t tsc)
{
	__int128 ns = (__int128)(int64_t)(tsc - a->tsc) * (int64_t)(b->ns - a->ns) /
			      (int64_t)(b->tsc - a->tsc) +
		      (int64_t)a->ns;

	return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* Index of the last point that is not later than @tsc, which is not before the first. */
static size_t point_before(const struct tf_timeline *t, uint64_t tsc)
{
	return search_first(i, t->n - 1, t->point[i + 1].tsc > tsc);
}

static void set_stretch(struct tf_stretch *s, const struct tf_point *a, const struct tf_point *b,
			uint64_t from, uint64_t to)
{
	uint64_t dtsc = b->tsc - a->tsc, dns = b->ns - a->ns;
	double ratio = (double)dns / (double)dtsc;

	if (to > a->tsc + TF_STRETCH_MAX)
		to = a->tsc + TF_STRETCH_MAX;
	if (from >= to || dtsc > TF_STRETCH_MAX || dns > TF_STRETCH_MAX || ratio > 1024)
		return;
	*s = (struct tf_stretch){ from, to, a->tsc, a->ns, dtsc, dns, ratio };
}

void tf_timeline_stretch(const struct tf_timeline *t, uint64_t tsc, struct tf_stretch *s)
{
	size_t i;

	*s = (struct tf_stretch){ 0 };
	if (t->n < 2 || tsc < t->point[0].tsc || tsc >= LIMIT)
		return;
	i = point_before(t, tsc);
	if (i + 1 < t->n)
		set_stretch(s, &t->point[i], &t->point[i + 1], t->point[i].tsc,
			    t->point[i + 1].tsc);
	else
		set_stretch(s, &t->point[0], &t->point[i], t->point[i].tsc, LIMIT);
	if (!tf_stretch_holds(s, tsc))
		*s = (struct tf_stretch){ 0 };
}

int64_t tf_timeline_ns(const struct tf_timeline *t, uint64_t tsc)
{
	size_t low;

	if (tsc >= LIMIT)
		tsc = LIMIT;
	if (t->n < 2)
		return t->n ? along(t->point, &(struct tf_point){ t->point->tsc + 1,
								  t->point->ns + 1 }, tsc) :
			      (int64_t)tsc;
	if (tsc < t->point[0].tsc || tsc >= t->point[t->n - 1].tsc)
		return along(&t->point[0], &t->point[t->n - 1], tsc);
	low = point_before(t, tsc);
	return along(&t->point[low], &t->point[low + 1], tsc);
}

void tf_timeline_free(struct tf_timeline *t)
{
	free(t->point);
	*t = (struct tf_timeline){ 0 };
}
