/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts of a trace's blocks, inside: counts.c reads counters and adds up those of threads, counts-solve.c computes how often each
 * edge and block of a function was executed, counts-rows.c makes rows of that.  counts-trace.c reads the order of blocks in place of
 * counters.  counts-calls.c adds up calls, counts-stack.c finds them in the order of blocks.
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
	bool unknown;		/* ... in some thread: the others do not say all */
};

static inline void counts_trips_add(struct counts_trips *trips, uint64_t n)
{
	if (!n)
		return;
	trips->least = !trips->most || n < trips->least ? n : trips->least;
	trips->most = n > trips->most ? n : trips->most;
}

/* What is computed of one, and where. */
struct counts_solved {
	const struct mt_block_function *f;
	const struct sonde_trace_object *object;
	const struct mt_placed *placed;
	struct counts_row about;	/* name, path, home, hash */
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

/* What comes to the loop's head from outside of the function returns there from a call in the loop. */
bool counts_returns_within(const struct mt_block_function *f, uint32_t loop);

/* Adds what was computed to the rows, of functions, loops, ... or of @thread unless NULL.  False: no memory. */
bool counts_add(struct counts *c, const struct counts_solved *s, const char *thread) __attribute__((warn_unused_result));

/* Finds out what it is called, and adds it if it is wanted.  False: no memory. */
bool counts_add_function(struct counts *c, struct counts_solved *s, const struct sonde_trace_rank *rank, const char *thread)
	__attribute__((warn_unused_result));
/* Fills in s->about of s->f.  False: no memory. */
bool counts_describe(struct counts *c, struct counts_solved *s, const struct sonde_trace_rank *rank) __attribute__((warn_unused_result));
/* Lives as long as @c.  NULL: no memory. */
const char *counts_name_thread(struct counts *c, const struct sonde_trace_rank *rank, int pid, int tid);

/* ---- counts-calls.c: of a rank ---- */

struct counts_calls;

/* NULL: no memory. */
struct counts_calls *counts_calls_new(struct counts *c, const struct mt_blocks *b, const struct sonde_trace_rank *rank);
void counts_calls_free(struct counts_calls *calls);

/*
 * From a block of a function (MT_NO_BLOCK both: not known) to another function, so many calls with these costs (NULL: not known).
 * False: no memory.
 */
bool counts_calls_add(struct counts_calls *calls, uint32_t from, uint32_t block, uint32_t to, uint64_t n, const uint64_t *costs)
	__attribute__((warn_unused_result));
/* Of a function whose counts are known: the calls to other functions that its code names, and that it was entered.  False: no memory. */
bool counts_calls_of(struct counts_calls *calls, const struct counts_solved *s) __attribute__((warn_unused_result));
/* Adds them to c->calls.  False: no memory. */
bool counts_calls_end(struct counts_calls *calls) __attribute__((warn_unused_result));

/* ---- counts-stack.c: of a thread ---- */

/* A block that control comes from, or to. */
struct counts_at {
	uint32_t function, block;
	uint8_t ends;		/* enum tramp_block_end of flow.h */
	bool entry;		/* its function begins there */
	bool returns;		/* the block before it ends with a call, and this one comes after it */
};

/* All zero at first; freed with counts_stack_free(). */
struct counts_stack {
	struct counts_calls *calls;
	struct counts_frame *frames; /* the outermost first */
	size_t n, room;
	uint64_t now[COUNTS_COSTS]; /* of the blocks so far; the caller counts them */
	uint64_t cut;		/* frames that were given up, since they were too many */
	bool failed;		/* no memory */
};

/* From one function to another, or back, or by other ways than edges in one.  @from: NULL: from elsewhere. */
void counts_stack_go(struct counts_stack *s, const struct counts_at *from, const struct counts_at *to);
/* A signal handler begins; it is over, and control is back in @to (NULL: not known). */
void counts_stack_interrupt(struct counts_stack *s);
void counts_stack_resume(struct counts_stack *s, const struct counts_at *to);
/* Nothing is known of what comes next. */
void counts_stack_end(struct counts_stack *s);
void counts_stack_free(struct counts_stack *s);

/* ---- counts-trace.c ---- */

/* Of all ranks, where the order of blocks was recorded.  0, or EXIT_USAGE after a message. */
int counts_read_trace(struct counts *c, const char *dir) __attribute__((warn_unused_result));

#endif
