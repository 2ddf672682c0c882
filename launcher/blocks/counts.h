/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde blocks` of a trace: how often functions, loops, lines, blocks and edges were executed.
 *
 * Threads' counters are added up, then all edges are computed from them, function by function; what comes into a block is how often
 * it was executed.  The same code in several processes is one row.
 */
#ifndef SONDE_LAUNCHER_BLOCKS_COUNTS_H
#define SONDE_LAUNCHER_BLOCKS_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "launcher/blocks/blockfacts.h"
#include "launcher/common/options.h"
#include "launcher/select/select.h"
#include "launcher/trace/pick.h"

enum counts_by { COUNTS_BY_FUNCTION, COUNTS_BY_LOOP, COUNTS_BY_LINE, COUNTS_BY_BLOCK, COUNTS_BY_EDGE, COUNTS_BY_THREAD };

struct counts_row {
	const char *name;	/* THREAD: "PID.TID"; else the function, as in the source unless mangled names are wanted */
	const char *path;	/* of its file; "" for a thread */
	const char *home;	/* source file that the function begins in; NULL: not known */
	const char *file;	/* source; NULL: not known */
	int line;
	uint64_t hash;		/* of ids, as in `sonde blocks PROGRAM' */
	uint64_t addr, to;	/* in the file: of the function, the loop's head, the block; EDGE: 0 is outside of the function */
	uint32_t depth;		/* LOOP */
	/*
	 * FUNCTION: calls; LOOP: iterations, that is, how often its head was executed; LINE: of the block that was executed most often; BLOCK;
	 * EDGE; THREAD: blocks.
	 */
	uint64_t count;
	uint64_t entries;	/* LOOP: how often it was entered from elsewhere */
	uint64_t least, most;	/* LOOP: how often one of them went round it; 0: not known */
	bool unknown_trips;	/* LOOP: of some of them that is not known, so it is of none */
	uint64_t blocks;	/* FUNCTION, LOOP: executed in it */
	uint64_t facts[BLOCK_FACT_NUMBERS]; /* struct block_facts, times executions; none of LINE and EDGE */
};

/* What calls cost, with all that was called by them. */
enum counts_cost { COUNTS_INSNS, COUNTS_READS, COUNTS_WRITES, COUNTS_COSTS };

/* Where a call came from, or what was called. */
struct counts_end {
	const char *name;	/* function; NULL: not known: it was not recorded */
	const char *path, *home; /* as in struct counts_row */
	const char *file;	/* source of the call, or of the function's beginning; NULL: not known */
	int line;
};

struct counts_call {
	struct counts_end from, to;
	uint64_t calls;
	uint64_t costs[COUNTS_COSTS]; /* of all of them; recursive ones count once more for each level.  0: not known */
};

struct counts_options {
	struct pick pick;
	struct select_options select;
	enum counts_by by;
	bool mangled;
	bool calls;		/* find them, of all functions */
};

struct counts {
	struct counts_options *o;
	struct sonde_trace *trace;
	struct select *select;	/* NULL: all */
	struct counts_row *rows; /* those that were executed, most instructions first (else the highest count) */
	size_t n, room;
	uint32_t *slots;	/* of rows, by what they are of */
	size_t nslots;
	struct counts_row total; /* of functions, whatever the rows are of */
	struct counts_call *calls; /* of a function from a place; from where it is not known in one */
	size_t ncalls, room_calls;
	uint64_t killed;	/* threads that may have been in the midst of something */
	uint64_t damage;
	struct mt_placed **placed; /* of each rank: names that rows use */
	char **texts;		/* that rows use */
	size_t ntexts, room_texts;
};

/* Reads @dir.  Returns 0, or EXIT_USAGE after a message.  @o has to live as long. */
int counts_read(struct counts *c, struct counts_options *o, const char *dir) __attribute__((warn_unused_result));
void counts_free(struct counts *c);

/* Of a block's facts, or a row's: a modification is a read and a write. */
void counts_costs(const uint64_t *facts, uint64_t costs[static COUNTS_COSTS]);

/* Floating point operations, and bytes that were loaded and stored (a modification does both). */
uint64_t counts_flops(const struct counts_row *row);
uint64_t counts_bytes(const struct counts_row *row);

/* Where numbers are in facts[], as block_facts_put() puts them. */
enum counts_fact { FACT_INSNS, FACT_CLASSES, FACT_FLOPS = FACT_CLASSES + TRAMP_CLASSES, FACT_INTS = FACT_FLOPS + 1 + TRAMP_WIDTHS,
		   FACT_FLOATS = FACT_INTS + TRAMP_WIDTHS, FACT_ACCESSES = FACT_FLOATS + TRAMP_WIDTHS,
		   FACT_BYTES = FACT_ACCESSES + BLOCK_KINDS, FACT_VARIES = FACT_BYTES + BLOCK_KINDS };

/* ---- counts-print.c ---- */

void counts_print_table(const struct counts *c, const char *by, uint64_t limit, FILE *out);
void counts_print_mix(const struct counts *c, FILE *out);
void counts_print_csv(const struct counts *c, uint64_t limit, FILE *out);
/* False: no memory. */
bool counts_print_json(const struct counts *c, const char *by, uint64_t limit, FILE *out);

#endif
