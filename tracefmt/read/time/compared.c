/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/read/time/compared.h"

#include <stdlib.h>

#include "base/array.h"

#define LIMIT (UINT64_C(1) << 62)
#define LARGE 1e18 /* ticks */

bool tf_exchange_valid(const struct tf_exchange *x)
{
	return x->rank >= 0 && x->sent <= x->returned && x->returned < LIMIT && x->arrived <= x->answered && x->answered < LIMIT;
}

/* The rounds of exchanges are told apart by their numbers; of one asker they come in this order. */
static size_t round_of(const struct tf_exchange *x, size_t n)
{
	size_t i = 1;

	while (i < n && x[i].round == x[0].round)
		i++;
	return i;
}

/*
 * The bounds are those of what the other's counter shows when this one shows @from, less @to; differences are small beside the
 * numbers, so they are taken first.
 */
static bool meet(const struct tf_exchange *x, size_t n, double from_hz, double to_hz, struct tf_meeting *m)
{
	double rate = to_hz / from_hz, low = 0, high = 0, span;

	m->from = x[n / 2].sent;
	m->to = x[n / 2].arrived;
	for (size_t i = 0; i < n; i++) {
		double above = (double)(int64_t)(x[i].arrived - m->to) - rate * (double)(int64_t)(x[i].sent - m->from);
		double below = (double)(int64_t)(x[i].answered - m->to) - rate * (double)(int64_t)(x[i].returned - m->from);

		high = i && high < above ? high : above;
		low = i && low > below ? low : below;
	}
	/* how far a rate that is not quite known may have moved a bound */
	span = (double)(x[n - 1].returned - x[0].sent) * TF_DRIFT * rate;
	if (low > high + 2 * span || !(high - low < to_hz) || low < -LARGE || high > LARGE)
		return false;
	m->to += (uint64_t)(int64_t)((low + high) / 2);
	m->error = ((high > low ? (high - low) / 2 : 0) + span) * 1e9 / to_hz;
	return m->to < LIMIT;
}

bool tf_compared_add(struct tf_compared *c, const struct tf_exchange *x, size_t n, double from_hz, double to_hz)
{
	for (size_t i = 0, end; i < n; i = end) {
		struct tf_meeting m;

		end = i + round_of(x + i, n - i);
		if (!meet(x + i, end - i, from_hz, to_hz, &m))
			continue;
		if (!array_room(c->v, c->room, c->n + 1))
			return false;
		c->v[c->n++] = m;
	}
	return true;
}

bool tf_compared_reverse(const struct tf_compared *c, struct tf_compared *to)
{
	for (size_t i = 0; i < c->n; i++) {
		if (!array_room(to->v, to->room, to->n + 1))
			return false;
		to->v[to->n++] = (struct tf_meeting){ c->v[i].to, c->v[i].from, c->v[i].error };
	}
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct tf_meeting *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

bool tf_compared_finish(struct tf_compared *c, double from_hz, double to_hz)
{
	size_t n = 0;

	if (c->n)
		qsort(c->v, c->n, sizeof *c->v, by_time);
	for (size_t i = 0; i < c->n; i++) {
		size_t before = c->map.n;

		if (!tf_timeline_add(&c->map, c->v[i].from, c->v[i].to))
			return false;
		if (c->map.n > before)
			c->v[n++] = c->v[i];
	}
	c->n = n;
	/* one meeting: the line has the direction that the nodes' kernels give it */
	return n != 1 || tf_timeline_add(&c->map, c->v->from + (uint64_t)from_hz, c->v->to + (uint64_t)to_hz);
}

double tf_compared_error(const struct tf_compared *c, uint64_t ticks, double from_hz)
{
	const struct tf_meeting *a = c->v, *b = c->v + (c->n > 1);
	double x;

	if (c->n == 1) {
		x = (double)(int64_t)(ticks - a->from) * 1e9 / from_hz;
		return a->error + (x < 0 ? -x : x) * TF_DRIFT;
	}
	while (b < c->v + c->n - 1 && b->from <= ticks)
		a = b++;
	/* outside, times are along the line through the first and the last one */
	if (ticks < c->v->from || ticks >= c->v[c->n - 1].from) {
		a = c->v;
		b = c->v + c->n - 1;
	}
	x = (double)(int64_t)(ticks - a->from) / (double)(b->from - a->from);
	return (x > 1 ? x - 1 : 1 - x) * a->error + (x < 0 ? -x : x) * b->error;
}

void tf_compared_free(struct tf_compared *c)
{
	free(c->v);
	tf_timeline_free(&c->map);
	*c = (struct tf_compared){ 0 };
}
