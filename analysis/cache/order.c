/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/order.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

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

static bool sum_up(const struct cache_order *o, size_t i, struct cache_order_line *line)
{
	const size_t end = end_of(o, i);

	*line = (struct cache_order_line){ .line = o->entries[i].line };
	for (; i < end; i++) {
		line->caches |= UINT64_C(1) << o->entries[i].cache;
		for (uint32_t at = o->entries[i].last; at; at = o->spans[at - 1].before) {
			line->accesses += o->spans[at - 1].accesses;
			line->stores += o->spans[at - 1].stores;
		}
	}
	return line->stores;
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

static size_t windows_of(const struct cache_order *o, size_t i, struct cache_window *v)
{
	const size_t end = end_of(o, i);
	size_t n = 0;

	for (; i < end; i++)
		for (uint32_t at = o->entries[i].last; at; at = o->spans[at - 1].before) {
			const struct span *s = &o->spans[at - 1];

			v[n++] = (struct cache_window){ .from = s->from, .to = s->to, .accesses = s->accesses, .stores = s->stores,
							.cache = o->entries[i].cache };
		}
	return n;
}

bool cache_order_line(struct cache_order *o, size_t i, struct cache_order_line *line)
{
	struct cache_window *v;
	bool good;

	if (!o->sorted)
		sort(o);
	v = i < o->nlines ? malloc(MOST_SPANS * CACHES * sizeof(*v)) : NULL;
	if (!v)
		return false;
	sum_up(o, o->lines[i], line);
	good = cache_bounds(v, windows_of(o, o->lines[i], v), &line->invalidated, &line->transfers);
	free(v);
	return good;
}
