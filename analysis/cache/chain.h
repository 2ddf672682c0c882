/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Levels one after another, and what happens in them.
 *
 * A line that is not in a level is fetched from the next one and put in; then what had to leave for it is written to the
 * next level, if it was modified.  There it is put in if it is not, and nothing is fetched for it.  What leaves one level
 * stays in the others, but for two kinds of levels:
 *   - Inclusive: it holds all lines of the levels before it.  What leaves it is removed from them too; if one of them
 *     had modified it, that is written on with it.
 *   - Exclusive: it holds no line of the level before it, but those that have left it.  What is asked for and there moves to the
 *     level before; what is not there is fetched from the next level and not put in.
 * A write-through level passes all stores on, and a store to a line that it does not have does not put it in.
 *
 * What levels prefetch (system.h) comes after all that a request has made them do, the levels next to the core first; it counts
 * neither as a hit nor as a miss, here or in next levels, and makes these prefetch nothing.  So all levels of a system of which one
 * prefetches are one chain.
 *
 * A chain asks nobody for anything: what it would ask the next level for is collected, in order, as the requests that it
 * makes.  So one chain serves all systems that begin with the same levels.
 */
#ifndef SONDE_ANALYSIS_CACHE_CHAIN_H
#define SONDE_ANALYSIS_CACHE_CHAIN_H

#include "analysis/cache/level.h"
#include "analysis/cache/shadow.h"

struct cache_count {
	/* Of lines, or pages, that the program's accesses or the fetches and passed stores of the level before asked for. */
	uint64_t hits, misses;
	uint64_t written; /* lines, or stores that were passed on, to the next level; if it is exclusive: all lines that left */
	uint64_t compulsory, capacity; /* of the misses, if they are classified; the others are conflicts */
	uint64_t prefetched; /* lines that its prefetcher brought */
	/* What stores do to lines that other cores have, and accesses to those that they have modified: see cores.h. */
	uint64_t invalidated, upgrades, transfers;
};

/* Read and written together is a modification; BACK: a modified line is written to the level; AHEAD: it is prefetched, within a chain alone. */
enum { CACHE_READ = 1, CACHE_WRITE = 2, CACHE_BACK = 4, CACHE_AHEAD = 8 };

struct cache_request {
	uint64_t line;	/* of the level that it is made to; of what a chain makes: of its last level */
	uint32_t insn;
	uint32_t how;
};

struct cache_requests {
	struct cache_request *v;
	size_t n, room;
};

/* What an instruction asked a level for. */
struct cache_stride {
	uint64_t last;	/* line + 1; 0: nothing yet */
	uint64_t by;	/* lines from the one before; 0: none */
};

#define CACHE_PENDING 16 /* a request makes each level ask the next one for at most two others */

struct cache_chain {
	unsigned int n;
	struct cache_state *level[CACHE_CACHES], own[CACHE_CACHES]; /* the first are the chain's own, unless somebody set others */
	struct cache_chain *cores; /* all that have some levels in common, this one too; NULL: it is alone */
	unsigned int ncores;
	struct cache_shadow *shadows; /* one for each level; NULL: misses are not classified */
	bool through[CACHE_CACHES], inclusive[CACHE_CACHES], exclusive[CACHE_CACHES];
	enum cache_prefetch prefetch[CACHE_CACHES];
	struct {
		struct cache_stride *v; /* by instruction */
		size_t room;
	} strides[CACHE_CACHES];
	struct {
		unsigned int level;
		uint64_t line;
	} pending[CACHE_PENDING]; /* that are to be prefetched */
	unsigned int npending;
	const uint32_t *coming; /* of the one level, if it has policy OPT: index + 1 of the request that is next for its line; 0: none */
	struct cache_requests made; /* the caller takes them, and sets made.n to 0 */
	/* Misses of each level by group of sets (stream.h), groups of them for each; NULL: nobody wants them. */
	uint64_t *group_misses;
	uint64_t groups;
	unsigned int unit;
	bool hits_known;	    /* the caller knows how many lines of the first level are asked for: its hits need not be counted */
	bool simple;		    /* one LRU level that is written back, misses are not classified */
	bool unheard;		    /* nobody wants them, and there are none */
	bool failed;		    /* no memory */
};

enum { CACHE_CLASSIFY = 1, CACHE_SHARED = 2 /* others may look at its levels */ };

/* It stays where it is.  @some: NULL: all.  False: no memory; there is nothing to free. */
bool cache_chain_init(struct cache_chain *c, const struct cache_level *levels, unsigned int n, unsigned int flags,
		      const struct cache_some *some) __attribute__((warn_unused_result));
void cache_chain_free(struct cache_chain *c);

/*
 * Makes the requests, whose lines are shifted right by @shift first; @counts: by instruction, as many for each as the chain
 * has levels.
 */
void cache_chain_run(struct cache_chain *c, const struct cache_request *v, size_t n, unsigned int shift,
		     struct cache_count *counts);
/* A modified line of level @k goes to the next one; @counts: of the instruction. */
void cache_chain_write(struct cache_chain *c, unsigned int k, uint64_t line, struct cache_count *counts);

#endif
