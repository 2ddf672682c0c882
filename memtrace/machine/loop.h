/* SPDX-License-Identifier: MIT */
/*
 * Loops of one node that can be computed without being run.
 *
 * All that a node computes is a sum of multiples of *symbols*: the registers at its beginning, the values that
 * it takes from the stream, and *cuts*: what is left of such a sum when it has been extended from fewer bits.
 * When each register that the node reads and writes is an *induction variable*, which grows by the same in each
 * iteration, so do all sums of registers, and cuts as long as they do not wrap around.  Then the addresses are arithmetic
 * progressions (plus multiples of the stream's values), and the condition at the end compares two of them.
 */
#ifndef SONDE_MEMTRACE_MACHINE_LOOP_H
#define SONDE_MEMTRACE_MACHINE_LOOP_H

#include "memtrace/machine/state.h"

enum {
	MT_TERMS = 4,
	MT_VALUES = 8,
	MT_INDUCTIONS = 8,
};

struct mt_form {
	uint64_t imm;
	uint8_t n;
	uint8_t sym[MT_TERMS];
	uint64_t times[MT_TERMS];
};

struct mt_cut {
	struct mt_form form;
	uint8_t bits;
	bool sign;
};

/* An induction variable. */
struct mt_induction {
	struct mt_form by;	/* what it grows by in each iteration: of registers that the loop does not change */
	uint8_t reg;
	bool narrow;		/* it wraps around at 32 bits */
};

/* An access; one for each iteration. */
struct mt_column {
	struct mt_form form;	/* without the value */
	uint8_t value;		/* enum md_code; MD_CODES: none */
	uint16_t offset;	/* of the value in the iteration's words */
	uint64_t times;		/* the value */
	const struct mt_op *op;
};

struct mt_loop {
	struct mt_cut cuts[MT_CUTS];
	struct mt_induction inductions[MT_INDUCTIONS];
	struct mt_form a, b;	/* compared */
	uint8_t ncuts, ninductions;
	uint16_t words;		/* of an iteration */
	uint8_t shift;
	uint8_t half;		/* the condition is cc 2 * half, and it goes on if that is `yes` */
	bool yes;
	size_t bytes;		/* of this */
	uint32_t ncolumns, nvalued;	/* nvalued: of the columns, those with a value */
	bool ordered;			/* some are times, which stay among the accesses */
	struct mt_column columns[];
};

/*
 * Runs so many iterations as are sure to be followed by another one, at most @max, from m->reg on; the
 * accesses go to *@v, which is moved on, up to @end, if @v is not NULL, and the words come from @words.  UINT64_MAX: it never ends, and @max is
 * SIZE_MAX.
 */
uint64_t mt_loop_run(struct mt_machine *m, const struct mt_loop *loop, size_t max, const uint8_t *words,
		     struct mt_access **v, const struct mt_access *end);
/* The accesses of @n iterations. */
void mt_loop_count(struct mt_counts *counts, const struct mt_node *node, bool stack, uint64_t n);
/* At most so many iterations before that which is interrupted in m->at. */
size_t mt_loop_near(const struct mt_machine *m, const struct mt_loop *loop);

#endif
