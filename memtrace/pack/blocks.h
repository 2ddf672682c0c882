/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * code.blocks, a file of a trace: how often edges between blocks were taken, by thread, and the control flow that this is about.  Of
 * the edges only those are counted that all others can be computed from (trampolines/count/count.h).
 *
 * What threads counted is written when they end; the control flow of functions that ran, when the program has ended.  So a trace
 * whose recorder was killed has no counts.  All addresses are those in the file.
 */
#ifndef SONDE_MEMTRACE_PACK_BLOCKS_H
#define SONDE_MEMTRACE_PACK_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/write/writer.h"

#define MT_NO_BLOCK UINT32_MAX	/* also: no loop, no counter */
#define MT_BLOCK_FACTS 40	/* numbers that are known of a block; what they are is the launcher's */

struct mt_block {
	uint64_t addr;
	uint32_t size;
	uint32_t loop;		/* innermost */
	uint64_t facts[MT_BLOCK_FACTS];
};

struct mt_block_edge {
	uint32_t from, to;	/* blocks; MT_NO_BLOCK: outside of the function */
	uint32_t counter;	/* of the recording; MT_NO_BLOCK: computed */
	uint32_t at;		/* it is counted ... */
	uint64_t before;	/* ... before this instruction of that block; MT_NO_BLOCK: in none */
};

struct mt_block_loop {
	uint32_t head;		/* block */
	uint32_t parent;
	uint32_t trips;		/* the first of MT_TRIPS_WORDS counters; MT_NO_BLOCK: its trips were not counted */
};

/* A thread's counters of a loop whose trips were counted: how often its head was executed in one entry of the loop. */
enum mt_trips {
	MT_TRIPS_RUNNING,	/* in the last entry, if it has not been left; may be 0 */
	MT_TRIPS_MOST,		/* of all entries that were left; 0: none */
	MT_TRIPS_LEAST,		/* likewise */
	MT_TRIPS_UNKNOWN,	/* not 0: entries overlapped, the others say nothing */
	MT_TRIPS_WORDS
};

struct mt_block_function {
	uint32_t object;	/* its file's number: of struct tf_object */
	uint64_t addr;
	bool unsure;		/* it is not certain where control goes in it */
	uint32_t nblocks, nedges, nloops;
	struct mt_block *blocks;	/* ascending */
	struct mt_block_edge *edges;
	struct mt_block_loop *loops;
};

/* ---- writing; errors as in tracefmt/write/writer.h ---- */

/*
 * In the block that holds instruction @addr a thread has come to that instruction, and no further in it, @net times, by signal
 * handlers that did not return; if it is negative, it came there from elsewhere.
 */
struct mt_block_left {
	uint32_t object;
	uint64_t addr;
	int64_t net;
};

/* A thread's. */
struct mt_block_counts {
	int pid, tid;
	bool killed;		/* it may have been in the midst of something */
	const uint64_t *counts;	/* [n], by counter */
	size_t n;
	const struct mt_block_left *left;
	size_t nleft;
};
TF_CHECK enum sonde_trace_status mt_write_counts(struct tf_writer *w, const struct mt_block_counts *t);
/* E_INVALID: it is larger than TF_MAX_RAW, and is not written. */
TF_CHECK enum sonde_trace_status mt_write_blocks(struct tf_writer *w, const struct mt_block_function *v, size_t n);

/* ---- reading ---- */

struct mt_block_thread {
	int pid, tid;
	bool killed;
	uint32_t n;
	uint64_t *counts;	/* [n]: by counter; those after them are 0 */
	struct mt_block_left *left;
	uint32_t nleft;
};

struct mt_blocks {
	struct mt_block_function *functions;
	size_t nfunctions, room_functions;
	struct mt_block_thread *threads;
	size_t nthreads, room_threads;
	uint64_t damage;	/* parts of the file that are missing or damaged */
};

/* Of a rank of @trace.  *@none: it has no such file.  NULL: no memory, or none. */
struct mt_blocks *mt_blocks_of(const struct sonde_trace *trace, const struct sonde_trace_rank *rank, bool *none);
void mt_blocks_free(struct mt_blocks *b);

/* The same from memory, piece by piece, for that and for tests.  @b is all zero at first.  False: damaged, or no memory. */
bool mt_blocks_add(struct mt_blocks *b, const uint8_t *body, size_t size);

/* Where blocks are. */
struct mt_blocks_index;
/* Of those that are in @b, which has to stay as it is.  NULL: no memory. */
struct mt_blocks_index *mt_blocks_index(const struct mt_blocks *b);
void mt_blocks_index_free(struct mt_blocks_index *index);
/* The block that holds an address of a file, by the indices of its function and in that; of several the one that begins last. */
bool mt_blocks_find(const struct mt_blocks_index *index, uint32_t object, uint64_t addr, uint32_t *function, uint32_t *block);

#endif
