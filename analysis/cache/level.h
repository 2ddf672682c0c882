/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One hierarchy of caches, or of TLBs, and what happens in it.
 *
 * A line that is not in a level is fetched from the next one, or memory, and put in; then what had to leave for it is
 * written to the next level, if it was modified.  There it is put in if it is not, and nothing is fetched for it.  Levels
 * are neither inclusive nor exclusive: what leaves one stays in the others.  A write-through level passes all stores on,
 * and a store to a line that it does not have does not put it in.
 */
#ifndef SONDE_ANALYSIS_CACHE_LEVEL_H
#define SONDE_ANALYSIS_CACHE_LEVEL_H

#include "analysis/cache/system.h"

struct cache_count {
	/* Of lines, or pages, that the program's accesses or the fetches and passed stores of the level before asked for. */
	uint64_t hits, misses;
	uint64_t written; /* lines, or stores that were passed on, to the next level */
};

struct cache_state {
	uint64_t *slots;	  /* by sets: (line + 1) << 1 | modified; 0: free, and so are those after it */
	uint64_t *trees;	  /* tree-plru: of each set, bit i for node i, the root is 1: in which half the victim is */
	uint64_t sets, mask;	  /* mask: 0: sets are no power of two */
	uint64_t ways, random;
	unsigned int shift;	  /* of the line's size */
	enum cache_policy policy;
	bool through;
	struct cache_state *next; /* NULL: memory */
	unsigned int index;	  /* of its struct cache_count */
};

/* @next, @index: as above.  False: no memory; there is nothing to free. */
bool cache_state_init(struct cache_state *s, const struct cache_level *level, struct cache_state *next, unsigned int index)
	__attribute__((warn_unused_result));
void cache_state_free(struct cache_state *s);

enum { CACHE_READ = 1, CACHE_WRITE = 2 };

/* Bytes from @first to @last are read, written or both, in this order, line by line.  @counts: by index. */
void cache_access(struct cache_state *s, uint64_t first, uint64_t last, unsigned int how, struct cache_count *counts);

/* The next of the numbers that random replacement takes: Marsaglia's xorshift64 ("Xorshift RNGs", 2003). */
static inline uint64_t cache_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Its state at first; never 0. */
static inline uint64_t cache_random_begin(uint64_t seed)
{
	return (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

#endif
