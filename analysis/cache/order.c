/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/order.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SPANS 64 /* of a cache and line; later ones become part of the last */
#define CACHES 64

/* Accesses that were made between two times. */
struct span {
	uint64_t from, to;
	uint64_t accesses, stores;
	uint32_t before; /* index + 1; 0: none */
};

struct entry {
	uint64_t line;
	uint32_t cache, nspans, last;
};

struct cache_order {
	struct entry *entries;
	size_t n, room;
	struct span *spans;
	size_t nspans, spans_room;
	uint32_t *table; /* index + 1 */
	size_t slots;
	size_t *lines; /* when all are taken: the first entry of each line that is told */
	size_t nlines, lines_room;
	bool sorted;
};

struct cache_order *cache_order_new(void)
{
	return calloc(1, sizeof(struct cache_order));
}

void cache_order_free(struct cache_order *o)
{
	if (!o)
		return;
	free(o->entries);
	free(o->spans);
	free(o->table);
	free(o->lines);
	free(o);
}

/* ---- taking ---- */

static size_t slot_of(const struct cache_order *o, uint64_t line, uint32_t cache)
{
	return hash_slot(i, o->slots, hash_word(line * CACHES + cache), !o->table[i] ||
			 (o->entries[o->table[i] - 1].line == line && o->entries[o->table[i] - 1].cache == cache));
}

static struct entry *entry_of(struct cache_order *o, uint64_t line, uint32_t cache)
{
	const size_t slot = o->n ? slot_of(o, line, cache) : 0;

	if (o->n && o->table[slot])
		return &o->entries[o->table[slot] - 1];
	if (o->n >= UINT32_MAX - 1 || !array_room(o->entries, o->room, o->n + 1) ||
	    !hash_grow(o->table, o->slots, o->n + 1, old, *old,
		       &o->table[slot_of(o, o->entries[*old - 1].line, o->entries[*old - 1].cache)]))
		return NULL;
	o->entries[o->n] = (struct entry){ .line = line, .cache = cache };
	o->table[slot_of(o, line, cache)] = (uint32_t)++o->n;
	return &o->entries[o->n - 1];
}

bool cache_order_take(struct cache_order *o, unsigned int cache, uint64_t line, bool store, uint64_t from, uint64_t to)
{
	struct entry *e = entry_of(o, line, cache);
	struct span *s = e && e->last ? &o->spans[e->last - 1] : NULL;

	if (!e)
		return false;
	if (!s || ((s->from != from || s->to != to) && e->nspans < MOST_SPANS)) {
		if (o->nspans >= UINT32_MAX - 1 || !array_room(o->spans, o->spans_room, o->nspans + 1))
			return false;
		s = &o->spans[o->nspans++];
		*s = (struct span){ .from = from, .before = e->last };
		e->last = (uint32_t)o->nspans;
		e->nspans++;
	}
	s->to = to;
	s->accesses++;
	s->stores += store;
	return true;
}

/* ---- bounds ---- */

/* Accesses of one kind, X or Y. */
struct set {
	struct item { uint64_t from, to, n; } v[MOST_SPANS * CACHES];
	size_t n;
};

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

/* How many of @other may be made between two times. */
static uint64_t between(const struct set *other, uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	for (size_t k = 0; k < other->n; k++)
		if (other->v[k].from <= to && from <= other->v[k].to)
			n += other->v[k].n;
	return n;
}

/* Of those between which nothing of @other can be, one counts; and no more than one for each that can be, and another one. */
static void reduce(struct set *s, const struct set *other)
{
	size_t n = 0;

	qsort(s->v, s->n, sizeof(s->v[0]), by_from);
	for (size_t i = 0; i < s->n; i++) {
		struct item *last = n ? &s->v[n - 1] : NULL, item = s->v[i];
		uint64_t most = 1;

		if (last && !between(other, last->from, last->to > item.to ? last->to : item.to)) {
			last->to = last->to > item.to ? last->to : item.to;
			continue;
		}
		most += between(other, item.from, item.to);
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

	qsort(a->v, a->n, sizeof(a->v[0]), by_from);
	qsort(b->v, b->n, sizeof(b->v[0]), by_to);
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

static uint64_t most(struct set *x, struct set *y)
{
	uint64_t forth, back;
	struct set *whole = malloc(sizeof(*whole));

	if (whole) { /* else it is a little more */
		memcpy(whole, x, sizeof(*whole));
		reduce(x, y);
		reduce(y, whole);
		free(whole);
	}
	forth = pairs(x, y);
	back = pairs(y, x) + 1;
	return forth < back ? forth : back;
}

static void add(struct set *s, const struct span *span, uint64_t n)
{
	if (n)
		s->v[s->n++] = (struct item){ .from = span->from, .to = span->to, .n = n };
}

/* Of a line's entries from the i-th on, how often @cache loses what it has: its accesses, or stores, to those of others. */
static void bound(const struct cache_order *o, size_t i, size_t end, uint32_t cache, bool stores, struct set *x, struct set *y,
		  struct cache_bounds *to)
{
	x->n = y->n = 0;
	for (; i < end; i++) {
		const struct entry *e = &o->entries[i];
		const struct span *s;

		for (uint32_t at = e->last; at; at = s->before) {
			s = &o->spans[at - 1];
			if (e->cache == cache)
				add(x, s, stores ? s->stores : s->accesses);
			else
				add(y, s, stores ? s->accesses : s->stores);
		}
	}
	qsort(x->v, x->n, sizeof(x->v[0]), by_to);
	qsort(y->v, y->n, sizeof(y->v[0]), by_to);
	to->least += least(x, y);
	to->most += most(x, y);
}

/* ---- lines ---- */

static int by_line(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->cache < y->cache ? -1 : x->cache > y->cache;
}

static size_t end_of(const struct cache_order *o, size_t i)
{
	size_t end = i + 1;

	while (end < o->n && o->entries[end].line == o->entries[i].line)
		end++;
	return end;
}

/* Returns how many caches store to it. */
static unsigned int sum_up(const struct cache_order *o, size_t i, struct cache_order_line *line)
{
	const size_t end = end_of(o, i);
	unsigned int storing = 0;

	*line = (struct cache_order_line){ .line = o->entries[i].line };
	for (; i < end; i++) {
		const uint64_t before = line->stores;

		line->caches |= UINT64_C(1) << o->entries[i].cache;
		for (uint32_t at = o->entries[i].last; at; at = o->spans[at - 1].before) {
			line->accesses += o->spans[at - 1].accesses;
			line->stores += o->spans[at - 1].stores;
		}
		storing += line->stores != before;
	}
	return storing;
}

/* All but one of the caches that store have another's store after their last one. */
static void raise_least(struct cache_bounds *b, unsigned int storing)
{
	if (b->least + 1 < storing)
		b->least = storing - 1;
}

/* Those that several caches have, and one stores to. */
static void sort(struct cache_order *o)
{
	struct cache_order_line line;

	o->sorted = true;
	if (o->n)
		qsort(o->entries, o->n, sizeof(o->entries[0]), by_line);
	for (size_t i = 0, end; i < o->n; i = end) {
		end = end_of(o, i);
		if (end - i > 1 && sum_up(o, i, &line) && array_room(o->lines, o->lines_room, o->nlines + 1))
			o->lines[o->nlines++] = i;
	}
}

bool cache_order_line(struct cache_order *o, size_t i, struct cache_order_line *line)
{
	struct set *sets;
	unsigned int storing;
	size_t first, end;

	if (!o->sorted)
		sort(o);
	sets = i < o->nlines ? malloc(2 * sizeof(*sets)) : NULL;
	if (!sets)
		return false;
	first = o->lines[i];
	end = end_of(o, first);
	storing = sum_up(o, first, line);
	for (size_t k = first; k < end; k++) {
		bound(o, first, end, o->entries[k].cache, false, sets, sets + 1, &line->invalidated);
		bound(o, first, end, o->entries[k].cache, true, sets, sets + 1, &line->transfers);
	}
	raise_least(&line->invalidated, storing);
	raise_least(&line->transfers, storing);
	free(sets);
	return true;
}
