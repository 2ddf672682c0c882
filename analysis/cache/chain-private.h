/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one request does in a chain, for chains of any kind (chain.c) and for those of one LRU level (lru.c). */
#ifndef SONDE_ANALYSIS_CACHE_CHAIN_PRIVATE_H
#define SONDE_ANALYSIS_CACHE_CHAIN_PRIVATE_H

#include "analysis/cache/chain.h"
#include "base/array.h"

struct turn {
	struct cache_chain *c;
	struct cache_count *counts; /* of its instruction */
	uint32_t insn;
};

static inline void make(const struct turn *t, uint64_t line, uint32_t how)
{
	struct cache_chain *c = t->c;

	if (c->unheard)
		return;
	if (__builtin_expect(c->made.n == c->made.room, 0) && !array_room(c->made.v, c->made.room, c->made.n + 1)) {
		c->failed = true;
		return;
	}
	c->made.v[c->made.n++] = (struct cache_request){ .line = line, .insn = t->insn, .how = how };
}

static inline void miss(struct cache_chain *c, unsigned int k, uint64_t line, struct cache_count *count)
{
	count->misses++;
	if (c->group_misses)
		c->group_misses[k * c->groups + (line >> (c->unit - c->level[k]->shift) & (c->groups - 1))]++;
}

#define AHEAD 8 /* requests: their sets are fetched meanwhile */
#define HOST_LINE 64

static inline void fetch_set(const struct cache_state *s, uint64_t line)
{
	const uint64_t bytes = s->narrow ? sizeof(*s->narrow) : sizeof(*s->slots), set = cache_set_of(s, line) * s->ways * bytes;
	const char *slots = s->narrow ? (const char *)s->narrow : (const char *)s->slots;

	if (!s->large)
		return;
	for (uint64_t at = 0; at < s->ways * bytes; at += HOST_LINE)
		__builtin_prefetch(slots + set + at, 1);
}

/* lru.c: cache_chain_run() of one that is simple. */
void cache_chain_run_simple(struct cache_chain *c, const struct cache_request *v, size_t n, unsigned int shift,
			    struct cache_count *counts);

#endif
