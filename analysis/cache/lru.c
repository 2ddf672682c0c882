/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A chain of one LRU level that is written back, as most are.  A set is a list, the line that was used last first: to find one, to move it, or to
 * put it in and see which one leaves, is one walk.  Where sets have many ways, as TLBs have, lines stay where they are instead, each with the
 * time of its last use; which one was used least recently matters only when a line is missed.
 */
#include "analysis/cache/chain-private.h"

/* Moves what is @key, but for the lowest bit, to the front, or puts it there.  What left for it; 1: it was there. */
#define TO_FRONT(name, type)						\
static inline type name(type *slots, uint64_t ways, type key, type modified)	\
{									\
	type before = slots[0], found;					\
									\
	if ((before ^ key) <= 1) {					\
		slots[0] = before | modified;				\
		return 1;						\
	}								\
	for (uint64_t at = 1; at < ways; at++) {			\
		found = slots[at];					\
		slots[at] = before;					\
		if ((found ^ key) <= 1) {				\
			slots[0] = found | modified;			\
			return 1;					\
		}							\
		before = found;						\
	}								\
	slots[0] = key | modified;					\
	return before;							\
}

TO_FRONT(to_front, uint64_t)
/* What large levels take time for is the memory that they are in. */
TO_FRONT(to_front_narrow, uint32_t)

static inline uint64_t use_narrow(struct cache_state *s, uint64_t line, uint64_t set, uint64_t modified)
{
	const uint32_t key = (uint32_t)(cache_above_set(s, line) + 1) << 1;
	const uint32_t left = to_front_narrow(s->narrow + set * s->ways, s->ways, key, (uint32_t)modified);

	return left <= 1 ? left : (((uint64_t)(left >> 1) - 1) * s->sets + set + 1) << 1 | (left & 1);
}

/* The slot of its set that a line comes to: free, or used least recently. */
static uint64_t *oldest(const struct cache_state *s, uint64_t set)
{
	const uint64_t *used = &s->used[set * s->ways];
	uint64_t way = 0;

	for (uint64_t i = 1; i < s->ways; i++)
		way = used[i] < used[way] ? i : way;
	return &s->slots[set * s->ways + way];
}

static uint64_t *find_in_set(const struct cache_state *s, uint64_t set, uint64_t key)
{
	uint64_t *slots = &s->slots[set * s->ways];

	for (uint64_t i = 0; i < s->ways; i++)
		if ((slots[i] ^ key) <= 1)
			return &slots[i];
	return NULL;
}

/* As to_front(). */
static inline uint64_t use_hinted(struct cache_state *s, uint64_t line, uint64_t set, uint64_t modified)
{
	uint32_t *hint = &s->hints[line * UINT64_C(0x9e3779b97f4a7c15) >> s->hint_shift];
	const uint64_t key = (line + 1) << 1;
	uint64_t *slot = &s->slots[*hint], left = 1;

	if ((*slot ^ key) > 1) {
		slot = find_in_set(s, set, key);
		if (!slot) {
			slot = oldest(s, set);
			left = *slot;
			*slot = key;
		}
		*hint = (uint32_t)(slot - s->slots);
	}
	*slot |= modified;
	s->used[slot - s->slots] = ++s->now;
	return left;
}

enum form { FORM_LIST, FORM_NARROW, FORM_HINTED };

static inline uint64_t use(struct cache_state *s, enum form form, uint64_t line, uint64_t set, uint64_t modified)
{
	switch (form) {
	case FORM_NARROW:
		return use_narrow(s, line, set, modified);
	case FORM_HINTED:
		return use_hinted(s, line, set, modified);
	case FORM_LIST:
		break;
	}
	return to_front(s->slots + set * s->ways, s->ways, (line + 1) << 1, modified);
}

/* As a function of its own for each form.  Returns how many are done: up to one that a narrow level has no room for. */
__attribute__((always_inline))
static inline size_t run_lru(struct cache_chain *c, const struct cache_request *v, size_t n, unsigned int shift,
			     struct cache_count *counts, enum form form)
{
	struct cache_state *s = c->level[0];
	const bool hits_known = c->hits_known;
	const size_t fetched = s->large ? n : 0; /* requests */

	for (size_t i = 0; i < n; i++) {
		const struct turn t = { .c = c, .counts = &counts[v[i].insn], .insn = v[i].insn };
		const uint64_t line = v[i].line >> shift, set = cache_set_of(s, line), asked = !(v[i].how & CACHE_BACK);
		const uint64_t modified = (v[i].how & (CACHE_WRITE | CACHE_BACK)) != 0;
		uint64_t left;

		if (i + AHEAD < fetched)
			fetch_set(s, v[i + AHEAD].line >> shift);
		if (form == FORM_NARROW && cache_above_set(s, line) > CACHE_NARROW_MOST)
			return i;
		left = use(s, form, line, set, modified);
		if (left == 1) {
			if (!hits_known)
				t.counts->hits += asked;
			continue;
		}
		if (asked) {
			miss(c, 0, line, t.counts);
			make(&t, line, CACHE_READ);
		}
		if (!(left & 1))
			continue;
		t.counts->written++;
		make(&t, cache_line_of(left), CACHE_BACK);
	}
	return n;
}

void cache_chain_run_simple(struct cache_chain *c, const struct cache_request *v, size_t n, unsigned int shift,
			    struct cache_count *counts)
{
	size_t done = 0;

	if (c->level[0]->hints)
		done = run_lru(c, v, n, shift, counts, FORM_HINTED);
	else if (c->level[0]->narrow)
		done = run_lru(c, v, n, shift, counts, FORM_NARROW);
	if (done == n)
		return;
	if (c->level[0]->narrow && !cache_state_widen(c->level[0]))
		c->failed = true;
	else
		run_lru(c, v + done, n - done, shift, counts, FORM_LIST);
}
