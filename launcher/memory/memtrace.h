/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory streams of a whole trace, rank by rank, thread by thread, as far as they are asked
 * for.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMTRACE_H
#define SONDE_LAUNCHER_MEMORY_MEMTRACE_H

#include <stddef.h>
#include <stdio.h>

#include "memtrace/read/read.h"
#include "launcher/trace/pick.h"

struct memtrace {
	struct sonde_trace *trace;
	struct pick *pick;
	size_t threads; /* chosen, with a memory stream */
	bool blocks;	/* it is one of blocks: see mt_read_is_of_blocks() */
	bool order;	/* threads' blocks are wanted, not their accesses: mt_read_start_blocks() */
};

/*
 * @pick: its threads and rank count; its trace is set.  Returns 0, or EXIT_USAGE after a message:
 * no trace, no memory accesses in it, no such thread or rank.  If it has none, but modules have printed
 * what they found, that goes to @texts (unless NULL); then it is 0, and t->trace is NULL.
 */
int memtrace_open(const char *dir, struct pick *pick, FILE *texts, struct memtrace *t)
	__attribute__((warn_unused_result));
/* The same of the order of blocks, in place of memory accesses. */
int memtrace_open_blocks(const char *dir, struct pick *pick, struct memtrace *t) __attribute__((warn_unused_result));
void memtrace_close(struct memtrace *t);

/* Of an open trace, which stays the caller's: no memtrace_close().  t->threads may be 0. */
void memtrace_use(struct sonde_trace *trace, struct pick *pick, struct memtrace *t);

/*
 * mt_read_open(), and what is wrong as a message.  NULL: *@none, without a message, if the trace has no memory
 * accesses.
 */
struct mt_read *memtrace_read(const char *dir, bool *none);

struct memtrace_progress;

struct memtrace_time {
	uint64_t tsc;
	bool exact;
};

/* One stream. */
struct memtrace_thread {
	struct mt_read *read;
	size_t index;	/* for memtrace_start() */
	int rank;	/* -1: none */
	const struct sonde_trace *trace;
	size_t rank_index;
	bool order;	/* as in struct memtrace */
	struct mt_files_thread about;
	struct memtrace_progress *progress; /* NULL: none is shown */
	bool quiet;	/* memtrace_accesses() does not say what is missing: it has been read before */
	uint64_t *before; /* where memtrace_accesses() puts mt_read_before(); NULL: nowhere */
	uint64_t *fs;	/* ... and mt_read_fs() */
	uint64_t *tsc;	/* ... when the chunk began that a batch is from; NULL: nowhere */
	uint64_t *began; /* ... mt_read_began(); NULL: nowhere */
	struct memtrace_time *time; /* ... mt_read_time(), and after all, when the stream ended; NULL: nowhere */
};

/* mt_read_start(); NULL after a message. */
struct mt_read_thread *memtrace_start(const struct memtrace_thread *thread);

struct memtrace_visitor {
	/*
	 * For each rank: begin(), thread() for each of its threads, done() if all went well, end()
	 * always.  @read lives until then.  All but thread() may be NULL.
	 */
	bool (*want)(void *arg, const struct sonde_trace_rank *rank); /* NULL: all ranks */
	int (*begin)(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank);
	int (*thread)(void *arg, const struct memtrace_thread *thread);
	int (*done)(void *arg);
	void (*end)(void *arg);
	void *arg;
	const char *progress; /* what is done, for launcher/common/progress.h; NULL: nothing is shown */
};

/* Is the thread one of those that were chosen? */
bool memtrace_wanted(const struct memtrace *t, const struct sonde_trace_rank *rank,
		     const struct mt_files_thread *about);

/* How the thread was sampled; NULL: not, or it is not known. */
const struct sonde_trace_thread_sampled *memtrace_sampled(const struct memtrace_thread *thread);

/*
 * Calls the visitor until one of its functions does not return 0, which is returned.  EXIT_USAGE
 * after a message: something cannot be read.
 */
int memtrace_visit(const struct memtrace *t, const struct memtrace_visitor *v)
	__attribute__((warn_unused_result));

/*
 * Gives all accesses of @thread to take(), batch by batch, until it returns false.  A batch of
 * none: recording was off in between.  Warns of what is missing; returns how many places are
 * damaged: what was lost while recording is no damage.
 */
uint64_t memtrace_accesses(const struct memtrace_thread *thread,
			   bool (*take)(void *arg, const struct mt_access *v, size_t n), void *arg);

#endif
