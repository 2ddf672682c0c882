/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile of memory accesses, by instruction: how many, how far apart, how soon a cache line is
 * used again, how many different lines.  Accesses come in batches, from a trace or while the
 * program runs; memory is bounded by the number of instructions, not by that of accesses.
 *
 *	p = memprofile_new(NULL);
 *	t = memprofile_begin(p);		for each thread of the program, at the same time if wanted
 *	memprofile_take(t, batch, n); ...
 *	memprofile_end(t);
 *	memprofile_insn(p, 0) ...
 *
 * An access touches all cache lines that it has bytes in, in the order of addresses.  Its reuse
 * distance is how many other lines the thread has touched since it touched the line before; of
 * several lines, the largest.  So an access with distance d misses in each fully associative LRU
 * cache of up to d lines, and hits in each larger one (Mattson, Gecsei, Slutz, Traiger: "Evaluation
 * techniques for storage hierarchies", 1970).  Prefetches are counted, and nothing more.
 *
 * Distances below MEMPROFILE_LINES are exact.  Where there are larger ones, how they are
 * distributed is estimated from some lines, chosen by a hash of the address, half as many as often
 * as needed (SHARDS: Waldspurger, Park, Garthwaite, Ahmad: "Efficient MRC Construction with
 * SHARDS", FAST 2015); how many there are is exact, and the estimate is made to add up to it.
 * Footprints likewise: those with few lines are exact.  All other figures are always exact.
 *
 * Of a sampled stream, nothing is known of what a thread touched before a burst.  The distance of an
 * access whose line was not yet touched in the burst is at least the number of lines that were: it
 * is censored, neither a miss nor a hit (`open').  A thread's first burst begins with it, so it stands for itself,
 * and has nothing that is not known; the others stand for all the rest, memprofile_scale() times what they are.  Sums
 * by groups of these show how much they vary (launcher/memory/memsample.h).
 */
#ifndef SONDE_LAUNCHER_MEMORY_PROFILE_MEMPROFILE_H
#define SONDE_LAUNCHER_MEMORY_PROFILE_MEMPROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/machine.h"

enum {
	MEMPROFILE_LINE = 64,		/* bytes */
	MEMPROFILE_LINES = 1 << 16,
	MEMPROFILE_STRIDES = 4,
	MEMPROFILE_NEAR = 64,		/* bytes: an access so far from the one before is sequential */
	/* [0]: the line of the access before; [i]: 2^(i-1) up to 2^i - 1 other lines */
	MEMPROFILE_DISTANCES = 40,
	MEMPROFILE_CACHES = 4,
	MEMPROFILE_GROUPS = 16,
};

struct memprofile_stride {
	int64_t by;
	uint64_t n;			/* at least: 0 is no stride */
};

/* Of one instruction, or summed up. */
struct memprofile_insn {
	uint64_t insn;			/* address in the program */
	uint64_t accesses[4], bytes[4];	/* by enum md_kind without MD_STACK */
	/*
	 * Of accesses that have one by the same instruction, in the same thread, before them:
	 */
	uint64_t moves;
	uint64_t near;			/* at most MEMPROFILE_NEAR bytes away */
	uint64_t strided;		/* farther, as far as the time before */
	struct memprofile_stride strides[MEMPROFILE_STRIDES]; /* the most frequent, in no order */
	/* The three add up to all accesses but prefetches. */
	uint64_t reuse[MEMPROFILE_DISTANCES];
	uint64_t open[MEMPROFILE_DISTANCES]; /* of which is only known that the distance is not smaller */
	uint64_t first;			/* accesses to lines that the thread had not touched before */
	/* By memprofile_options.caches: certain misses; accesses of which it is not known. */
	uint64_t misses[MEMPROFILE_CACHES], unknown[MEMPROFILE_CACHES];
};

/* Of every MEMPROFILE_GROUPS-th burst, without those that stand for themselves: an instruction's accesses, or sums. */
struct memprofile_group {
	double accesses, bytes, loads, stores; /* a modification is both */
	double twice[MEMPROFILE_CACHES];       /* misses, and misses together with what is not known */
};

/* Likewise: all instructions. */
struct memprofile_curve {
	double bursts;			    /* how many these are */
	double accesses;
	double twice[MEMPROFILE_DISTANCES]; /* as above, of caches of 2^i lines */
};

struct memprofile;
struct memprofile_thread;

struct memprofile_options {
	bool no_stack;			/* accesses with MD_STACK are left out */
	bool sampled;			/* the streams are */
	unsigned int lines;		/* in place of MEMPROFILE_LINES, a power of two; 0: that */
	uint64_t caches[MEMPROFILE_CACHES]; /* lines, ascending; 0: there are no more */
};

/* NULL: no memory.  @o: NULL: all 0. */
struct memprofile *memprofile_new(const struct memprofile_options *o);
void memprofile_free(struct memprofile *p);

/*
 * NULL: no memory.  A thread's memprofile_take(), memprofile_off() and memprofile_end() may run beside those of other threads.
 */
struct memprofile_thread *memprofile_begin(struct memprofile *p);
/* False: no memory; all that can be done then is memprofile_end(). */
bool memprofile_take(struct memprofile_thread *t, const struct mt_access *v, size_t n)
	__attribute__((warn_unused_result));
/* Recording was off here: another burst begins. */
void memprofile_off(struct memprofile_thread *t);
/* Each access of a burst but the first stands for @factor of them; 1 if it is not called. */
void memprofile_scale(struct memprofile_thread *t, double factor);
/* There was but one burst, and it was all that the thread did. */
void memprofile_whole(struct memprofile_thread *t);
/* Adds @t to its profile, and frees it.  False: no memory, something is missing. */
bool memprofile_end(struct memprofile_thread *t) __attribute__((warn_unused_result));

/*
 * Instructions that made accesses, ascending by address, in threads that have ended; NULL: there
 * are no more.
 */
const struct memprofile_insn *memprofile_insn(struct memprofile *p, size_t i);
/* Of sampled streams: MEMPROFILE_GROUPS of them; else NULL. */
const struct memprofile_group *memprofile_groups(struct memprofile *p, size_t i);
const struct memprofile_curve *memprofile_curves(const struct memprofile *p);

/* Adds @from to @to, but for the address. */
void memprofile_add(struct memprofile_insn *to, const struct memprofile_insn *from);
/* MEMPROFILE_GROUPS of them. */
void memprofile_add_groups(struct memprofile_group *to, const struct memprofile_group *from);
void memprofile_add_curves(struct memprofile_curve *to, const struct memprofile_curve *from);

/* The most frequent one, and its share of the moves in percent; n is 0: none. */
struct memprofile_stride memprofile_dominant(const struct memprofile_insn *sum, double *percent);

/*
 * Distinct lines by groups of instructions: lines[group[i]] for the i-th instruction's group; at least 1 if one of the
 * group has accessed memory.  @lines: @ngroups, set here. False: no memory.
 */
bool memprofile_footprint(struct memprofile *p, const uint32_t *group, uint64_t *lines, size_t ngroups)
	__attribute__((warn_unused_result));

/* One line in so many was looked at for distances from MEMPROFILE_LINES on, a power of two; 1: all. */
uint64_t memprofile_sampled(const struct memprofile *p);

#endif
