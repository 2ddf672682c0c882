/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/bounds.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

struct item {
	uint64_t from, to, n;
};

/* Accesses of one kind, X or Y. */
struct set {
	struct item *v;
	size_t n;
};

/* Sums over a set: of items, and of those before each, in the order of their begins and of their ends. */
struct sums {
	uint64_t *from, *to, *before_from, *before_to;
	size_t n;
};

struct work {
	struct set x, y, whole;
	struct sums sums;
	struct item *items;
	uint64_t *numbers;
};

static bool start(struct work *w, size_t n)
{
	w->items = calloc(3 * n + 1, sizeof(*w->items));
	w->numbers = calloc(4 * (n + 1), sizeof(*w->numbers));
	if (!w->items || !w->numbers)
		return false;
	w->x.v = w->items;
	w->y.v = w->items + n;
	w->whole.v = w->items + 2 * n;
	w->sums = (struct sums){ .from = w->numbers, .to = w->numbers + n + 1, .before_from = w->numbers + 2 * (n + 1),
				 .before_to = w->numbers + 3 * (n + 1) };
	return true;
}

static int by_to(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

static int by_from(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* What a thread does in windows is mostly in order. */
static void sort(struct set *s, int (*order)(const void *a, const void *b))
{
	size_t i = 1;

	while (i < s->n && order(&s->v[i - 1], &s->v[i]) <= 0)
		i++;
	if (i < s->n)
		qsort(s->v, s->n, sizeof(s->v[0]), order);
}

/* ---- at least ---- */

/* The first of those in the order of their ends that begins after @time; n: none. */
static size_t after(const struct set *s, size_t i, uint64_t time)
{
	while (i < s->n && s->v[i].from <= time)
		i++;
	return i;
}

/* Both in the order of their ends. */
static uint64_t least(const struct set *x, const struct set *y)
{
	size_t i = 0, k = 0;
	uint64_t n = 0;

	for (; i < x->n; i = after(x, i, y->v[k].to)) {
		k = after(y, k, x->v[i].to);
		if (k == y->n)
			break;
		n++;
	}
	return n;
}

/* ---- at most ---- */

static void sum_up(struct sums *sums, struct set *s)
{
	uint64_t before = 0;

	sums->n = s->n;
	sort(s, by_from);
	for (size_t i = 0; i < s->n; before += s->v[i++].n) {
		sums->from[i] = s->v[i].from;
		sums->before_from[i] = before;
	}
	sums->before_from[s->n] = before;
	before = 0;
	sort(s, by_to);
	for (size_t i = 0; i < s->n; before += s->v[i++].n) {
		sums->to[i] = s->v[i].to;
		sums->before_to[i] = before;
	}
	sums->before_to[s->n] = before;
}

/* How many of @n ascending numbers are smaller than @limit, or, with @equal, no larger. */
static size_t below(const uint64_t *v, size_t n, uint64_t limit, bool equal)
{
	return search_first(i, n, v[i] > limit || (!equal && v[i] == limit));
}

/* How many may be made between two times: those that have begun by then, less those that had ended. */
static uint64_t between(const struct sums *s, uint64_t from, uint64_t to)
{
	return s->before_from[below(s->from, s->n, to, true)] - s->before_to[below(s->to, s->n, from, false)];
}

/* Of those between which nothing of the others can be, one counts; and no more than one for each that can be, and another one. */
static void reduce(struct set *s, const struct sums *others)
{
	size_t n = 0;

	sort(s, by_from);
	for (size_t i = 0; i < s->n; i++) {
		struct item *last = n ? &s->v[n - 1] : NULL, item = s->v[i];
		uint64_t most = 1;

		if (last && !between(others, last->from, last->to > item.to ? last->to : item.to)) {
			last->to = last->to > item.to ? last->to : item.to;
			continue;
		}
		most += between(others, item.from, item.to);
		item.n = item.n < most ? item.n : most;
		s->v[n++] = item;
	}
	s->n = n;
}

/* How many pairs there are of one of @a, by begin, and one of @b, by end, that may be after it. */
static uint64_t pairs(struct set *a, struct set *b)
{
	uint64_t n = 0, waiting = 0;
	size_t i = 0;

	sort(a, by_from);
	sort(b, by_to);
	for (size_t k = 0; k < b->n; k++) {
		uint64_t now;

		for (; i < a->n && a->v[i].from <= b->v[k].to; i++)
			waiting += a->v[i].n;
		now = b->v[k].n < waiting ? b->v[k].n : waiting;
		waiting -= now;
		n += now;
	}
	return n;
}

static uint64_t most(struct work *w)
{
	uint64_t forth, back;

	w->whole.n = w->x.n;
	if (w->x.n)
		memcpy(w->whole.v, w->x.v, w->x.n * sizeof(w->x.v[0]));
	sum_up(&w->sums, &w->y);
	reduce(&w->x, &w->sums);
	sum_up(&w->sums, &w->whole);
	reduce(&w->y, &w->sums);
	forth = pairs(&w->x, &w->y);
	back = pairs(&w->y, &w->x) + 1;
	return forth < back ? forth : back;
}

/* ---- all ---- */

static void add(struct set *s, const struct cache_window *w, uint64_t n)
{
	if (n)
		s->v[s->n++] = (struct item){ .from = w->from, .to = w->to, .n = n };
}

/* How often @cache loses what it has: its accesses, or stores, to those of others. */
static void bound(struct work *w, const struct cache_window *v, size_t n, uint32_t cache, bool stores, struct cache_bounds *to)
{
	w->x.n = w->y.n = 0;
	for (size_t i = 0; i < n; i++) {
		if (v[i].cache == cache)
			add(&w->x, &v[i], stores ? v[i].stores : v[i].accesses);
		else
			add(&w->y, &v[i], stores ? v[i].accesses : v[i].stores);
	}
	if (!w->x.n || !w->y.n)
		return;
	sort(&w->x, by_to);
	sort(&w->y, by_to);
	to->least += least(&w->x, &w->y);
	to->most += most(w);
}

/* All but one of the caches that store have another's store after their last one. */
static void raise_least(struct cache_bounds *b, unsigned int storing)
{
	if (b->least + 1 < storing)
		b->least = storing - 1;
}

bool cache_bounds(const struct cache_window *v, size_t n, struct cache_bounds *invalidated, struct cache_bounds *transfers)
{
	struct work w = { 0 };
	const bool good = start(&w, n);
	unsigned int storing = 0;

	*invalidated = *transfers = (struct cache_bounds){ 0 };
	for (size_t i = 0, end; good && i < n; i = end) {
		bool stores = false;

		for (end = i; end < n && v[end].cache == v[i].cache; end++)
			stores |= v[end].stores != 0;
		storing += stores;
		bound(&w, v, n, v[i].cache, false, invalidated);
		bound(&w, v, n, v[i].cache, true, transfers);
	}
	raise_least(invalidated, storing);
	raise_least(transfers, storing);
	free(w.items);
	free(w.numbers);
	return good;
}
