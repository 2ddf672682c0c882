/* SPDX-License-Identifier: MIT */
/*
 * Compiled descriptions, as those know them who run them: in the process that makes the code (trampolines/memcompile.h), or in
 * the program, for which another process makes it (trampolines/memshared.h).  What they agree on is here; all addresses are
 * those of the process that runs it.
 *
 * Code is found by the id of the node that it begins at: in a mode's table, and, behind a header, in that table's first half,
 * else in the second.  Where there is none yet, the tables lead out again.
 */
#ifndef SONDE_TRAMPOLINES_MEMEXPANDENTER_H
#define SONDE_TRAMPOLINES_MEMEXPANDENTER_H

#include "trampolines/memexpandfast.h"

enum {
	MXE_IDS = 1 << 22,		/* nodes with higher ids are not compiled */
	MXE_GOTOS = MXE_IDS * 8,	/* bytes of half a table */
	MXE_TABLE = 2 * MXE_GOTOS,
	MXE_WORDS = 128,		/* bytes that a piece may take without a check of its own */
	MXE_ACCESSES = 32,
	MXE_BODY = 16,			/* a loop's piece, behind its place in the table */
	MXE_LIMIT = 256,		/* of nodes without words, at least */
};

enum mxe_mode { MXE_NEXT, MXE_COUNT, MXE_COUNT_PLAIN, MXE_MODES }; /* PLAIN: without the stack's */

/* What goes into the code and comes out of it. */
struct mxe_io {
	const uint8_t *words, *words_end;
	uint8_t *v, *v_end;
	uint64_t fuel;
	const uint64_t *table;
	uint32_t sums[2][4];
};
_Static_assert(offsetof(struct mxe_io, words_end) == 8 && offsetof(struct mxe_io, v) == 16 &&
		       offsetof(struct mxe_io, v_end) == 24 && offsetof(struct mxe_io, fuel) == 32 &&
		       offsetof(struct mxe_io, table) == 40 && offsetof(struct mxe_io, sums) == 48,
	       "struct mxe_io");

/* Where the code begins and ends.  @registers: behind the first 16 of the machine's. */
struct mxe_gates {
	/* Returns 2 * the id of the node that comes next, + 1 if it is a loop that goes around; 0: a header does. */
	uint64_t enter;		/* uint64_t (void *registers, uint64_t code, struct mxe_io *) */
	uint64_t leave, leave_header; /* what tables hold where nothing is compiled: second half, first half */
};

/* Runs compiled nodes; what is not compiled is interpreted, and told of by warm(). */
struct mxe_runner {
	struct mx_engine engine;	/* .run is mxe_run */
	struct mxe_gates gates;
	const uint64_t *tables[MXE_MODES];
	uint32_t ids;			/* nodes below have their places in the tables */
	/* Makes table and ids ready.  False: all is to be interpreted. */
	bool (*prepare)(struct mxe_runner *r, enum mxe_mode mode);
	/* A node is not compiled (NULL: look it up).  Says whether it may be now. */
	bool (*warm)(struct mxe_runner *r, enum mxe_mode mode, uint32_t id, const struct mx_node *node);
	uint64_t entered, interpreted;	/* times; nodes and loops in between */
};

void mxe_run(struct mx_engine *engine, struct mx_machine *m, struct mx_sink *sink, struct mx_fast_state *s);

#endif
