/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/chain-private.h"

#include <stdlib.h>
#include <string.h>

/* One LRU level that is written back: lru.c does for it what functions here do for the others. */
static bool is_simple(const struct cache_level *levels, unsigned int n, unsigned int flags)
{
	return n == 1 && levels->policy == CACHE_LRU && !levels->through && !levels->prefetch && !flags;
}

bool cache_chain_init(struct cache_chain *c, const struct cache_level *levels, unsigned int n, unsigned int flags,
		      const struct cache_some *some)
{
	static const struct cache_some all = { .one_in = 1 };
	const bool classify = flags & CACHE_CLASSIFY;

	*c = (struct cache_chain){ .shadows = classify ? calloc(n, sizeof(*c->shadows)) : NULL,
				   .simple = is_simple(levels, n, flags) };
	if (classify && !c->shadows)
		return false;
	for (; c->n < n; c->n++) {
		const struct cache_level *l = &levels[c->n];

		c->level[c->n] = &c->own[c->n];
		if (!cache_state_init(&c->own[c->n], l, c->simple, some ? some : &all)) {
			cache_chain_free(c);
			return false;
		}
		if (classify)
			c->shadows[c->n].most = l->lines;
		c->through[c->n] = l->through;
		c->prefetch[c->n] = l->prefetch;
		c->inclusive[c->n] = l->holds == CACHE_INCLUSIVE;
		c->exclusive[c->n] = l->holds == CACHE_EXCLUSIVE;
	}
	return true;
}

void cache_chain_free(struct cache_chain *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		cache_state_free(&c->own[i]);
		free(c->strides[i].v);
		if (c->shadows)
			cache_shadow_free(&c->shadows[i]);
	}
	free(c->group_misses);
	c->group_misses = NULL;
	free(c->shadows);
	c->shadows = NULL;
	free(c->made.v);
	c->made = (struct cache_requests){ 0 };
	c->n = 0;
}

/* Level @k was asked for a line, as it was told of one that left the level before if @count is NULL. */
static void classify_one(struct cache_chain *c, unsigned int k, uint64_t line, bool hit, enum cache_shadow_then then,
		     struct cache_count *count)
{
	enum cache_shadow_was was;

	was = cache_shadow_use(&c->shadows[k], line, then);
	c->failed |= was == CACHE_SHADOW_FAILED;
	if (!count || hit)
		return;
	count->compulsory += was == CACHE_SHADOW_NEW;
	count->capacity += was == CACHE_SHADOW_OUT;
}

static inline void classify(struct cache_chain *c, unsigned int k, uint64_t line, bool hit, enum cache_shadow_then then,
			    struct cache_count *count)
{
	if (c->shadows)
		classify_one(c, k, line, hit, then, count);
}

/* The line of level @k + 1 that holds @line; beyond the last one: @line. */
static uint64_t next_line(const struct cache_chain *c, unsigned int k, uint64_t line)
{
	return k + 1 < c->n ? line >> (c->level[k + 1]->shift - c->level[k]->shift) : line;
}

/* ---- prefetching ---- */

#define PAGE_SHIFT 12

static void plan(struct cache_chain *c, unsigned int k, uint64_t from, uint64_t line)
{
	const unsigned int shift = c->level[k]->shift;

	if (shift >= PAGE_SHIFT || line >> (PAGE_SHIFT - shift) != from >> (PAGE_SHIFT - shift) || c->npending == CACHE_PENDING)
		return;
	c->pending[c->npending].level = k;
	c->pending[c->npending++].line = line;
}

static void plan_stride(const struct turn *t, unsigned int k, uint64_t line)
{
	struct cache_chain *c = t->c;
	struct cache_stride *s;
	const size_t had = c->strides[k].room;
	uint64_t by;

	if (!array_room(c->strides[k].v, c->strides[k].room, (size_t)t->insn + 1)) {
		c->failed = true;
		return;
	}
	if (c->strides[k].room > had)
		memset(c->strides[k].v + had, 0, (c->strides[k].room - had) * sizeof(*s));
	s = &c->strides[k].v[t->insn];
	by = line + 1 - s->last;
	if (s->last && !by)
		return;
	if (s->last && by == s->by)
		plan(c, k, line, line + by);
	s->by = s->last ? by : 0;
	s->last = line + 1;
}

/* Level @k was asked for a line. */
static void plan_ahead(const struct turn *t, unsigned int k, uint64_t line, bool missed, uint32_t how)
{
	struct cache_chain *c = t->c;

	if (how & CACHE_AHEAD || (c->through[k] && !(how & CACHE_READ)))
		return;
	if (c->prefetch[k] == CACHE_NEXT_LINE && missed)
		plan(c, k, line, line + 1);
	else if (c->prefetch[k] == CACHE_STRIDE)
		plan_stride(t, k, line);
}

static bool is_exclusive(const struct cache_chain *c, unsigned int k)
{
	return k < c->n && c->exclusive[k];
}

static void give(const struct turn *t, unsigned int k, uint64_t line, bool modified);

/* Removes a line of level @k from those before it in a chain.  True: it was modified there. */
static bool remove_from(const struct turn *t, struct cache_chain *c, unsigned int k, uint64_t line)
{
	bool modified = false;

	for (unsigned int i = 0; i < k; i++) {
		struct cache_state *s = c->level[i];
		const unsigned int shift = c->level[k]->shift - s->shift;

		for (uint64_t part = 0; part < UINT64_C(1) << shift; part++) {
			if (!(cache_remove(s, line << shift | part) & 1))
				continue;
			t->counts[i].written++;
			modified = true;
		}
	}
	return modified;
}

/* Likewise, in all chains that have the level. */
static bool remove_before(const struct turn *t, unsigned int k, uint64_t line)
{
	struct cache_chain *c = t->c;
	bool modified = false;

	if (!c->cores)
		return remove_from(t, c, k, line);
	for (unsigned int i = 0; i < c->ncores; i++)
		if (c->cores[i].level[k] == c->level[k])
			modified |= remove_from(t, &c->cores[i], k, line);
	return modified;
}

static void put_in(const struct turn *t, unsigned int k, uint64_t line, bool modified)
{
	struct cache_chain *c = t->c;
	const uint64_t victim = cache_put(c->level[k], line, modified);
	bool written = victim & 1;

	if (!victim)
		return;
	if (c->inclusive[k])
		written |= remove_before(t, k, cache_line_of(victim));
	if (!written && !is_exclusive(c, k + 1))
		return;
	t->counts[k].written++;
	give(t, k + 1, next_line(c, k, cache_line_of(victim)), written);
}

/* A line leaves the level before @k. */
static void give(const struct turn *t, unsigned int k, uint64_t line, bool modified)
{
	struct cache_chain *c = t->c;
	uint64_t *slot;

	if (k == c->n) {
		make(t, line, CACHE_BACK);
		return;
	}
	slot = cache_find(c->level[k], line);
	classify(c, k, line, slot, c->through[k] ? CACHE_SHADOW_LEAVE : CACHE_SHADOW_IN, NULL);
	if (c->through[k]) {
		t->counts[k].written++;
		give(t, k + 1, next_line(c, k, line), modified);
	} else if (slot) {
		*slot |= modified;
	} else {
		for (unsigned int i = k + 1; is_exclusive(c, i); i++)
			modified |= cache_remove(c->level[i], line) & 1;
		put_in(t, k, line, modified);
	}
}

static bool ask(const struct turn *t, unsigned int k, uint64_t line, uint32_t how);

/* Level @k, which is not exclusive, was asked for a line and has it there; NULL: it has not. */
static void answer(const struct turn *t, unsigned int k, uint64_t line, uint32_t how, uint64_t *slot)
{
	struct cache_chain *c = t->c;
	const bool written = how & CACHE_WRITE;
	bool modified;

	if (how & CACHE_AHEAD)
		;
	else if (slot)
		t->counts[k].hits++;
	else
		miss(c, k, line, &t->counts[k]);
	if (c->prefetch[k])
		plan_ahead(t, k, line, !slot, how);
	classify(c, k, line, slot, c->through[k] && !(how & CACHE_READ) ? CACHE_SHADOW_LEAVE : CACHE_SHADOW_IN, &t->counts[k]);
	if (!slot && (!c->through[k] || how & CACHE_READ)) {
		modified = ask(t, k + 1, next_line(c, k, line), CACHE_READ | (how & CACHE_AHEAD));
		put_in(t, k, line, modified || (written && !c->through[k]));
	} else if (slot && !c->through[k]) {
		*slot |= written;
	}
	if (written && c->through[k]) {
		t->counts[k].written++;
		ask(t, k + 1, next_line(c, k, line), CACHE_WRITE);
	}
}

/* Returns whether the line comes modified: from an exclusive level, which gives it up. */
static bool ask(const struct turn *t, unsigned int k, uint64_t line, uint32_t how)
{
	struct cache_chain *c = t->c;
	uint64_t moved;

	if (k == c->n) {
		make(t, line, how);
		return false;
	}
	if (c->exclusive[k]) {
		moved = cache_remove(c->level[k], line);
		if (how & CACHE_AHEAD)
			;
		else if (moved)
			t->counts[k].hits++;
		else
			miss(c, k, line, &t->counts[k]);
		classify(c, k, line, moved, CACHE_SHADOW_REMOVE, &t->counts[k]);
		return moved ? moved & 1 : ask(t, k + 1, next_line(c, k, line), CACHE_READ | (how & CACHE_AHEAD));
	}
	answer(t, k, line, how, cache_find(c->level[k], line));
	return false;
}

static void bring(const struct turn *t, unsigned int k, uint64_t line)
{
	struct cache_chain *c = t->c;
	bool modified;

	if (cache_look(c->level[k], line))
		return;
	t->counts[k].prefetched++;
	modified = ask(t, k + 1, next_line(c, k, line), CACHE_READ | CACHE_AHEAD);
	put_in(t, k, line, modified);
}

static void bring_pending(const struct turn *t)
{
	struct cache_chain *c = t->c;

	for (unsigned int k = 0; k < c->n; k++)
		for (unsigned int i = 0; i < c->npending; i++)
			if (c->pending[i].level == k)
				bring(t, k, c->pending[i].line);
	c->npending = 0;
}

/* ---- several levels ---- */

/* cache_find() in a level of policy LRU. */
static inline uint64_t *find_lru(struct cache_state *s, uint64_t line)
{
	uint64_t *slots = s->slots + cache_set_of(s, line) * s->ways, key = (line + 1) << 1, at = 0, slot;

	while (at < s->ways && (slots[at] ^ key) > 1)
		at++;
	if (at == s->ways)
		return NULL;
	for (slot = slots[at]; at; at--)
		slots[at] = slots[at - 1];
	slots[0] = slot;
	return slots;
}

/* Does the first one do nothing but note a hit?  That is what most requests are. */
static bool is_quick(const struct cache_chain *c)
{
	return !c->through[0] && !c->exclusive[0] && !c->prefetch[0] && !c->shadows && c->level[0]->policy == CACHE_LRU;
}

void cache_chain_run(struct cache_chain *c, const struct cache_request *v, size_t n, unsigned int shift,
		     struct cache_count *counts)
{
	const bool quick = is_quick(c);

	if (c->simple) {
		cache_chain_run_simple(c, v, n, shift, counts);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct turn t = { .c = c, .counts = counts + (size_t)v[i].insn * c->n, .insn = v[i].insn };
		uint64_t *slot;

		if (i + AHEAD < n)
			fetch_set(c->level[0], v[i + AHEAD].line >> shift);
		slot = quick && !(v[i].how & CACHE_BACK) ? find_lru(c->level[0], v[i].line >> shift) : NULL;
		if (slot) {
			*slot |= (v[i].how & CACHE_WRITE) != 0;
			t.counts->hits += !c->hits_known;
			continue;
		}
		for (unsigned int k = 1; k < c->n; k++)
			fetch_set(c->level[k], v[i].line >> (shift + c->level[k]->shift - c->level[0]->shift));
		if (c->coming)
			c->level[0]->coming = c->coming[i] ? c->coming[i] - 1 : CACHE_NEVER;
		if (v[i].how & CACHE_BACK)
			give(&t, 0, v[i].line >> shift, true);
		else if (quick)
			answer(&t, 0, v[i].line >> shift, v[i].how, NULL);
		else
			ask(&t, 0, v[i].line >> shift, v[i].how);
		if (c->npending)
			bring_pending(&t);
	}
}

void cache_chain_write(struct cache_chain *c, unsigned int k, uint64_t line, struct cache_count *counts)
{
	const struct turn t = { .c = c, .counts = counts };

	counts[k].written++;
	give(&t, k + 1, next_line(c, k, line), true);
}
