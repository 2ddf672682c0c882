/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One cache or TLB: which lines it holds, and which one leaves for another.  What levels do with each other is in chain.h.
 */
#ifndef SONDE_ANALYSIS_CACHE_LEVEL_H
#define SONDE_ANALYSIS_CACHE_LEVEL_H

#include "analysis/cache/system.h"

struct cache_state {
	uint64_t *slots;	  /* by sets: (line + 1) << 1 | modified; 0: free */
	/* In their place: (line / sets + 1) << 1 | modified.  For that, sets have to be many: for most addresses 1,024 are enough. */
	uint32_t *narrow;
	/*
	 * With many ways, LRU keeps lines where they are: of each slot when it was used last, 0: never; and where a line may be, by its hash:
	 * one that is not there is looked for in its set.
	 */
	uint64_t *used, now;
	uint32_t *hints;
	unsigned int hint_shift;
	/*
	 * Of each set.  Tree-PLRU: bit i for node i, the root is 1: in which half the victim is; NMRU: the way that was used last;
	 * QLRU: two bits a way, its age.  NULL: other policies.
	 */
	uint64_t *words;
	uint64_t *next;		  /* OPT: of each slot, when its line is asked for again; NULL: other policies */
	uint64_t coming;	  /* OPT: when the line that is asked for now is asked for again, CACHE_NEVER; the caller sets it */
	uint64_t sets, mask;	  /* mask: 0: sets are no power of two */
	uint64_t ways, random;
	unsigned int shift;	  /* of the line's size */
	unsigned int set_bits;	  /* if mask is not 0 */
	/* There is room for some sets alone: bits of their numbers that are dropped, and how many are below these. */
	unsigned int drop, below;
	enum cache_policy policy;
	struct cache_qlru qlru;
	bool large;		  /* more than what is in the processor's first cache anyway */
	bool removed;		  /* lines were taken out, so there may be a free slot before one in use */
};

/* Lines of one in so many sets come to a level, a power of two: one in each so many units in a row, of this shift.  one_in: 1: of all. */
struct cache_some {
	uint64_t one_in;
	unsigned int unit;
};

/* @alone: in any form; then none of the functions below but cache_state_widen() is called while it is narrow or has hints.  False: no memory; there is nothing to free. */
bool cache_state_init(struct cache_state *s, const struct cache_level *level, bool alone, const struct cache_some *some)
	__attribute__((warn_unused_result));
void cache_state_free(struct cache_state *s);

#define CACHE_NEVER UINT64_MAX
#define CACHE_NARROW_SETS 1024		   /* at least */
#define CACHE_NARROW_MOST (INT32_MAX - 1u) /* a line by the sets */
#define CACHE_HINTED_WAYS 32		   /* at least */
#define CACHE_HINTED_LINES (1u << 16)	   /* at most */
/* A narrow one, for lines beyond that.  False: no memory. */
bool cache_state_widen(struct cache_state *s) __attribute__((warn_unused_result));

/* The line's slot, which counts as used now; NULL: it is not there.  Valid until another line comes or goes. */
uint64_t *cache_find(struct cache_state *s, uint64_t line);
/* The same, which does not count as a use. */
uint64_t *cache_look(const struct cache_state *s, uint64_t line);
/* Puts in a line that is not there.  Returns what was in the slot before; 0: nothing. */
uint64_t cache_put(struct cache_state *s, uint64_t line, bool modified);
/* Takes out a line.  Returns what was in the slot; 0: it was not there. */
uint64_t cache_remove(struct cache_state *s, uint64_t line);

/* Where it is; its number if there is room for all. */
static inline uint64_t cache_set_of(const struct cache_state *s, uint64_t line)
{
	const uint64_t set = s->mask || s->sets == 1 ? line & s->mask : line % s->sets;

	return set >> (s->below + s->drop) << s->below | (set & ((UINT64_C(1) << s->below) - 1));
}

/* The line by the sets. */
static inline uint64_t cache_above_set(const struct cache_state *s, uint64_t line)
{
	return s->mask ? line >> s->set_bits : line / s->sets;
}

static inline uint64_t cache_line_of(uint64_t slot)
{
	return (slot >> 1) - 1;
}

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
