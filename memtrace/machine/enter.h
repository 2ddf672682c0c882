/* SPDX-License-Identifier: MIT */
/*
 * Compiled descriptions, as known to who runs them: in the process that makes the code (memtrace/compile.h), or in
 * the program, for which another process makes it (memtrace/shared.h).  What they agree on is here; all addresses are
 * those of the process that runs it.
 *
 * Code is found by the id of the node that it begins at: in a mode's table: in that table's first half if the
 * header has been found in the stream, else in the second.  Where there is none yet, the tables lead out again.
 */
#ifndef SONDE_MEMTRACE_MACHINE_ENTER_H
#define SONDE_MEMTRACE_MACHINE_ENTER_H

#include "memtrace/machine/fast.h"

enum {
	MT_IDS = 1 << 22,		/* nodes with higher ids are not compiled */
	MT_GOTOS = MT_IDS * 8,	/* bytes of half a table */
	MT_TABLE = 2 * MT_GOTOS,
	MT_PIECE_NODES = 16,		/* that a piece has at most, */
	MT_PIECE_WEIGHT = 16,		/* ... which weigh so much together */
	MT_PIECE_BYTES = 128,		/* bytes that a piece may take without a check of its own */
	MT_ACCESSES = 32,
	MT_BODY = 16,			/* from a loop's place in the table to the code of an iteration */
	MT_LIMIT = 256,		/* of nodes without words, at least */
};

_Static_assert((int)MT_WEIGHT_MAX <= (int)MT_PIECE_WEIGHT, "each node has to fit into a piece");

enum mt_mode { MT_NEXT, MT_COUNT, MT_COUNT_PLAIN, MT_MODES }; /* PLAIN: without the stack's */

/* What goes into the code and comes out of it. */
struct mt_io {
	const uint8_t *words, *words_end;
	uint8_t *v, *v_end;
	uint64_t fuel;
	const uint64_t *table;
	uint32_t sums[2][4];
};
_Static_assert(offsetof(struct mt_io, words_end) == 8 && offsetof(struct mt_io, v) == 16 &&
		       offsetof(struct mt_io, v_end) == 24 && offsetof(struct mt_io, fuel) == 32 &&
		       offsetof(struct mt_io, table) == 40 && offsetof(struct mt_io, sums) == 48,
	       "struct mt_io");

/* Where the code begins and ends.  @registers: after the first 16 of the machine's. */
struct mt_gates {
	/* Returns 2 * the id of the node that comes next, + 1 if it is a loop whose closed form has been tried; 0: a header does. */
	uint64_t enter;		/* uint64_t (void *registers, uint64_t code, struct mt_io *) */
	uint64_t leave, leave_header; /* what tables hold where nothing is compiled: second half, first half */
};

/* Runs compiled nodes; what is not compiled is interpreted, and reported to warm().  Several threads may do so at once if warm() can. */
struct mt_runner {
	struct mt_engine engine;	/* .run is mt_run */
	struct mt_gates gates;
	const uint64_t *tables[MT_MODES];
	uint32_t ids;			/* nodes below have their places in the tables */
	/* Makes table and ids ready; they stay while nodes are run.  False: all is to be interpreted. */
	bool (*prepare)(struct mt_runner *r, enum mt_mode mode);
	/* A node is not compiled (NULL: look it up).  Says whether it may be now. */
	bool (*warm)(struct mt_runner *r, enum mt_mode mode, uint32_t id, const struct mt_node *node);
	uint64_t entered, interpreted;	/* times; nodes and loops in between: by runs that have ended */
};

void mt_run(struct mt_engine *engine, struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s);

#endif
