/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts of a trace's blocks, inside: counts.c reads counters and adds up those of threads, counts-solve.c computes how often each
 * edge and block of a function was executed, counts-rows.c makes rows of that.
 */
#ifndef SONDE_LAUNCHER_BLOCKS_COUNTS_PRIVATE_H
#define SONDE_LAUNCHER_BLOCKS_COUNTS_PRIVATE_H

#include "launcher/blocks/counts.h"
#include "memtrace/pack/blocks.h"
#include "memtrace/pack/places.h"
#include "trampolines/count/count.h"

/* How often entries of a loop went round it, at least and at most; 0: not known. */
struct counts_trips {
	uint64_t least, most;
};

/* What is computed of one, and where. */
struct counts_solved {
	const struct mt_block_function *f;
	const struct sonde_trace_object *object;
	const struct mt_placed *placed;
	struct counts_row about;	/* name, path, hash */
	uint64_t *counters;
	const struct mt_block_left *left; /* of the threads, in any function */
	size_t nleft;
	struct tramp_edge *edges;	/* the function's, and for each of those a further one */
	uint64_t *edge;			/* counts */
	uint64_t *block;
	const struct counts_trips *trips; /* by loop; NULL: not known */
	uint64_t *work;
	size_t room_edges, room_edge, room_block, room_work;
};

/* Room for the edges and blocks of s->f.  False: no memory. */
bool counts_prepare(struct counts_solved *s) __attribute__((warn_unused_result));
/* From s->counters, of which there are @counters beside those of s->left.  False: nothing was executed, or they do not say enough. */
bool counts_solve(struct counts_solved *s, size_t counters);

/* Adds what was computed to the rows, of functions, loops, ... or of @thread unless NULL.  False: no memory. */
bool counts_add(struct counts *c, const struct counts_solved *s, const char *thread) __attribute__((warn_unused_result));

/* Finds out what it is called, and adds it if it is wanted.  False: no memory. */
bool counts_add_function(struct counts *c, struct counts_solved *s, const struct sonde_trace_rank *rank, const char *thread)
	__attribute__((warn_unused_result));
/* Lives as long as @c.  NULL: no memory. */
const char *counts_name_thread(struct counts *c, const struct sonde_trace_rank *rank, int pid, int tid);

/* ---- counts-trace.c ---- */

/* Of all ranks, where the order of blocks was recorded.  0, or EXIT_USAGE after a message. */
int counts_read_trace(struct counts *c, const char *dir) __attribute__((warn_unused_result));

#endif
