/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of memory that several threads access, one of which stores to them: which bytes each thread reads and writes, by which
 * instruction, and how often the line goes from thread to thread, at least and at most (analysis/cache/bounds.h), as if each
 * thread had a core of its own from whose cache no line leaves for lack of room.
 *
 * Accesses of a thread are in *windows*: between two times.  The more often a thread says what time it is, the less is possible; most of
 * all if it does so where threads wait for each other, since what a barrier keeps apart is in windows that do not overlap then.
 *
 * What a line is (enum sh_class) goes by pairs of instructions of two threads, at least one of which stores.  How much a pair matters is how often the line
 * can go from one to the other for it; those that can do so less than once in a hundred times of the first one's do not count:
 * a main thread that has initialized all of it.
 */
#ifndef SONDE_ANALYSIS_SHARING_SHARING_H
#define SONDE_ANALYSIS_SHARING_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cache/bounds.h"
#include "memtrace/machine.h"

struct sh_options {
	unsigned int line;	/* bytes: 16, 32, ... SH_LINE_MAX */
	bool no_stack;		/* without push, pop, call and ret */
	uint64_t least;		/* lines that change threads less often are SH_TRUE without a look, with a and b 0 */
	uint64_t most_uses;	/* of a thread: (line, instruction); accesses of further ones are not looked at.  0: SH_USES */
	bool live;		/* a thread is made known when it begins, not when the one before it has been read: what the first one did until then is
				 * not distinguished by time */
};

#define SH_LINE_MAX 1024
#define SH_USES (UINT64_C(1) << 25)

struct sh;
struct sh_thread;

/* NULL: no memory. */
struct sh *sh_new(const struct sh_options *o);
void sh_free(struct sh *s);

/* ---- accesses ---- */

/*
 * A thread of process @pid, which lives as long as @s; the functions below may be called for different threads at once, this one not.  NULL: no memory.
 */
struct sh_thread *sh_thread_new(struct sh *s, int pid, int tid);

/*
 * It is @now for the thread; a time before the last one is ignored.  What follows was made after that; without @exact, after the time before it, since what
 * a chunk proves was made in the one before.
 */
bool sh_thread_time(struct sh_thread *t, uint64_t now, bool exact) __attribute__((warn_unused_result));

/* False: no memory; no more may be given.  An access with MD_REPEATED and its MD_REPEAT come together. */
bool sh_thread_take(struct sh_thread *t, const struct mt_access *v, size_t n) __attribute__((warn_unused_result));

/* ---- lines ---- */

enum sh_class {
	SH_FALSE,	/* different bytes alone */
	SH_TRUE,	/* bytes that one thread writes and others access */
	SH_MIXED,	/* both */
	SH_CLASSES
};

/* Accesses of a thread to the line by one instruction.  Bytes: a bit for each, or for each 1/64 of a line that is larger. */
struct sh_use {
	uint64_t insn;
	uint64_t reads, writes;
	uint64_t accesses, stores;
	uint64_t from, to; /* when they were made */
	int tid;
	uint32_t thread; /* counts from 0 */
};

struct sh_line {
	uint64_t address;
	int pid;
	enum sh_class class;
	bool handed;	/* it changes threads less than once in SH_HANDED stores: there may be any number of loads while one waits */
	uint32_t threads;
	uint64_t accesses, stores;
	struct cache_bounds invalidated, transfers;
	const struct sh_use *uses; /* by thread, those of most accesses first */
	size_t nuses;
	size_t a, b;	/* of uses: the pair that matters most for its class */
};

#define SH_HANDED 100

/* When all accesses are there: what they make.  False: no memory. */
bool sh_finish(struct sh *s) __attribute__((warn_unused_result));

/* Those that may change threads most often first; NULL: there are no more. */
const struct sh_line *sh_line(const struct sh *s, size_t i);

/* Accesses that were not looked at, for there were too many uses. */
uint64_t sh_missed(const struct sh *s);

/* Of all lines. */
struct sh_sum {
	uint64_t lines, handed;
	struct cache_bounds transfers;
};
void sh_sum(const struct sh *s, struct sh_sum *sum);

#endif
