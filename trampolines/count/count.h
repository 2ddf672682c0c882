/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which edges of a function's control flow have to be counted so that the counts of all blocks and edges can be computed.
 *
 * What comes into a block goes out of it again.  So the counts of the edges outside of a spanning tree give all others (D. Knuth,
 * "Optimal measurement points for program frequency counts", 1973).  The tree is a greatest one by how often edges are likely
 * to be taken, which is guessed (likely.c): those that are counted are taken seldom (T. Ball and J. Larus, "Optimally profiling and
 * tracing programs", 1994).
 *
 * Outside of the function is a node, too: control comes from there at the entry, after calls, at landing pads and through tables, and
 * goes there by calls, returns and jumps.  A call need not return, nor only once; so it is with system calls, within blocks.
 *
 * A counter in a loop that control does not leave for elsewhere (no calls, no system calls) is *kept* in a register, where one is not
 * used in all of the loop: it is set where control enters the loop, and added to the counter in memory where control leaves it.
 *
 * *Trips* of a loop, on request: how often its head is executed from one entry of the loop to the exit; of all entries the least and the
 * most (enum rt_trips of trampolines/mirror/codemap.h).
 */
#ifndef SONDE_TRAMPOLINES_COUNT_COUNT_H
#define SONDE_TRAMPOLINES_COUNT_COUNT_H

#include <stddef.h>

#include "trampolines/flow/flow.h"

enum tramp_edge_kind {
	TRAMP_EDGE_TARGET,	/* by a block's jump */
	TRAMP_EDGE_NEXT,	/* into the block after it */
	TRAMP_EDGE_IN,		/* from outside */
	TRAMP_EDGE_OUT,		/* to it */
	TRAMP_EDGE_LOST,	/* to it, by system calls in the block that did not return, less those that did so twice; computed */
};

/* Where a counter stands. */
enum tramp_count_where {
	TRAMP_COUNT_EDGE,	/* on the edge itself */
	TRAMP_COUNT_FROM,	/* in the block that it comes from: the only one that begins there */
	TRAMP_COUNT_TO,		/* in the block that it leads to: the only one that ends there */
	TRAMP_COUNT_HEAD,	/* kept; in the block that it leads to, a loop's head, less the edges that enter the loop */
};

struct tramp_edge {
	uint32_t from, to;	/* blocks; TRAMP_NONE: outside */
	uint32_t counter;	/* from 0 on; TRAMP_NONE: computed */
	uint8_t kind;		/* enum tramp_edge_kind */
	uint8_t where;		/* enum tramp_count_where */
	bool kept;
};

/* A counter that is kept in a register while control is in a loop. */
struct tramp_kept {
	uint32_t edge;		/* index; TRAMP_NONE: it counts trips of `loop` */
	uint32_t trips;		/* index of those */
	uint32_t loop;
	uint8_t reg;
	bool saved;		/* the register's value is of use after the loop */
};

#define TRAMP_KEPT_MAX 6	/* in one place */

/* A loop whose trips are counted. */
struct tramp_trips {
	uint32_t loop;
	uint32_t kept;		/* index of what is kept for it; TRAMP_NONE: its trips are counted in memory */
};

/* What an edge means for a loop whose trips are counted. */
enum tramp_trips_step {
	TRAMP_TRIPS_ENTER,
	TRAMP_TRIPS_LEAVE,
	TRAMP_TRIPS_MAY_LEAVE,	/* through a jump table: or control was not in the loop */
};

/* Edges that begin at a block, or end at it; but LOST. */
struct tramp_degree {
	uint32_t out, in;
};

/* All zero at first, used again and again, freed by tramp_counts_free(). */
struct tramp_counts {
	struct tramp_edge *edges; /* by block: those that begin there, then the one from outside to it */
	size_t nedges, room;
	uint32_t ncounters;
	struct tramp_kept *kept;
	size_t nkept, room_kept;
	struct tramp_trips *trips;
	size_t ntrips, room_trips;
	struct tramp_degree *degrees; /* by block */
	void *work;		/* its own */
	size_t work_room;
	struct tramp_count_loop *loops; /* likewise */
	size_t room_loops;
	struct tramp_likely *likely; /* likewise; by block */
	size_t room_likely;
	uint32_t *nodes;	/* likewise */
	size_t room_nodes;
};

/* May control come to the block from outside? */
bool tramp_count_entered(const struct tramp_flow *flow, uint32_t block);

/*
 * Does a thread come to the block that may not have been in the function before, or that has been forked in between?  Not after jumps
 * through the function's own tables.  Such entries are always counted, since whose counters they are has to be found out there.
 */
bool tramp_count_arrives(const struct tramp_flow *flow, uint32_t block);

/* How many of the block's first instructions its edges to others are counted after: up to its last system call. */
uint32_t tramp_count_after(const struct tramp_flow *flow, uint32_t block);

/* Needs loops.  The same for the same flow.  Errors: MEMORY. */
enum tramp_code_status tramp_count_plan(struct tramp_counts *c, const struct tramp_flow *flow) TRAMP_MUST_CHECK;
void tramp_counts_free(struct tramp_counts *c);

/* Which of them are kept, and where.  After tramp_count_plan(); needs liveness.  The same for the same flow.  Errors: MEMORY. */
enum tramp_code_status tramp_count_keep(struct tramp_counts *c, const struct tramp_flow *flow) TRAMP_MUST_CHECK;

/*
 * Which loops' trips are counted: those of which all is seen that comes into them and goes out of them, but for calls that do not
 * return.  After tramp_count_keep().  The same for the same flow.  Errors: MEMORY.
 */
enum tramp_code_status tramp_count_trips(struct tramp_counts *c, const struct tramp_flow *flow) TRAMP_MUST_CHECK;

/* @step() is called for each loop of c->trips, by its index there, that edge @e enters or leaves. */
void tramp_count_steps(const struct tramp_counts *c, const struct tramp_flow *flow, const struct tramp_edge *e,
		       void (*step)(void *arg, size_t trips, enum tramp_trips_step step), void *arg);

/* The registers that hold counters in a block. */
tramp_regs tramp_count_kept(const struct tramp_counts *c, const struct tramp_flow *flow, uint32_t block);

/*
 * counts[] of all edges, by their index, from those of the counters.  @edges: those of tramp_count_plan(), of @nblocks blocks, or
 * what a file says they are: false if they cannot be computed.  @work: 4 * (nblocks + 1) numbers.
 */
bool tramp_count_solve(const struct tramp_edge *edges, size_t nedges, uint32_t nblocks, const uint64_t *counters,
		       uint64_t *counts, uint64_t *work) TRAMP_MUST_CHECK;

#define TRAMP_WEIGHTS 8

/* What is added to sums, modulo 2^64. */
struct tramp_weight {
	uint64_t n[TRAMP_WEIGHTS];
};

#define TRAMP_WEIGHT_LESS UINT64_MAX /* -1 times: it is taken off again */
static inline void tramp_weight_add(struct tramp_weight *to, const struct tramp_weight *w, uint64_t times)
{
	for (unsigned int i = 0; i < TRAMP_WEIGHTS; i++)
		to->n[i] += times * w->n[i];
}

/*
 * What each counter of tramp_count_plan() adds to sums to which each execution of block i adds blocks[i], less after[i] if it did not
 * come out of the block's last system call: counters[c->ncounters].  @way: of @nblocks + 1; what is added for control that leaves
 * block i, which is in blocks[i] already, by an edge more than there are is way[i].  @work: 4 * (nblocks + 1) numbers.
 */
void tramp_count_weigh(const struct tramp_counts *c, uint32_t nblocks, const struct tramp_weight *blocks,
		       const struct tramp_weight *after, struct tramp_weight *counters, struct tramp_weight *way, uint64_t *work);

#endif
