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
 * Reuse distances (how many other lines a thread touched between two accesses to a line) and
 * footprints are exact while a thread touches at most MEMPROFILE_LINES lines.  Beyond that, half
 * of the lines are left out, chosen by a hash of the address, as often as needed; what is left
 * stands for the rest (SHARDS: Waldspurger, Park, Garthwaite, Ahmad: "Efficient MRC Construction
 * with SHARDS", FAST 2015).  All other figures are always exact.
 *
 * An access counts for the line of its first byte.  Prefetches are counted, and nothing more.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMPROFILE_H
#define SONDE_LAUNCHER_MEMORY_MEMPROFILE_H

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
	uint64_t reuse[MEMPROFILE_DISTANCES];
	uint64_t first;			/* accesses to lines that the thread had not touched before */
};

struct memprofile;
struct memprofile_thread;

struct memprofile_options {
	bool no_stack;			/* accesses with MD_STACK are left out */
	unsigned int lines;		/* in place of MEMPROFILE_LINES; 0: that */
};

/* NULL: no memory.  @o: NULL: all 0. */
struct memprofile *memprofile_new(const struct memprofile_options *o);
void memprofile_free(struct memprofile *p);

/*
 * NULL: no memory.  A thread's functions may run beside those of other threads, but for
 * memprofile_end().
 */
struct memprofile_thread *memprofile_begin(struct memprofile *p);
/* False: no memory; all that can be done then is memprofile_end(). */
bool memprofile_take(struct memprofile_thread *t, const struct mt_access *v, size_t n)
	__attribute__((warn_unused_result));
/* Accesses are missing here: the next ones are no moves from those so far. */
void memprofile_off(struct memprofile_thread *t);
/* Adds @t to its profile, and frees it.  False: no memory, something is missing. */
bool memprofile_end(struct memprofile_thread *t) __attribute__((warn_unused_result));

/*
 * Instructions that made accesses, ascending by address, in threads that have ended; NULL: there
 * are no more.
 */
const struct memprofile_insn *memprofile_insn(struct memprofile *p, size_t i);

/* Adds @from to @to, but for the address. */
void memprofile_add(struct memprofile_insn *to, const struct memprofile_insn *from);

/* The most frequent one, and its share of the moves in percent; n is 0: none. */
struct memprofile_stride memprofile_dominant(const struct memprofile_insn *sum, double *percent);

/*
 * With samples, makes reuse and first add up to the accesses: what is missing, or too much, are
 * accesses to a few lines that are used all the time, and so are those to the line of the access
 * before (SHARDS_adj in the paper).
 */
void memprofile_adjust(struct memprofile_insn *sum);

/*
 * Distinct lines by groups of instructions: lines[group[i]] for the i-th instruction's group.
 * @lines: @ngroups, set here. False: no memory.
 */
bool memprofile_footprint(struct memprofile *p, const uint32_t *group, uint64_t *lines, size_t ngroups)
	__attribute__((warn_unused_result));

/* One line in so many was looked at for reuse and footprints, a power of two; 1: all. */
uint64_t memprofile_sampled(const struct memprofile *p);

#endif
