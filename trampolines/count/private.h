/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often blocks are likely executed: likely.c; what is known of loops while registers are chosen for counters: keep.c, trips.c. */
#ifndef SONDE_TRAMPOLINES_COUNT_PRIVATE_H
#define SONDE_TRAMPOLINES_COUNT_PRIVATE_H

#include "trampolines/count/count.h"

/* Of a block; the one after all: of jumps through tables, and for each place that these lead to. */
struct tramp_likely {
	double times;		/* it is executed, each time that control comes into the function */
	double taken;		/* ... and a conditional jump in the end is taken */
	bool seldom;		/* it is, and all that comes after it */
};

/* c->likely.  Needs loops.  False: no memory. */
bool tramp_count_guess(struct tramp_counts *c, const struct tramp_flow *flow) TRAMP_MUST_CHECK;

/* Of a loop with those inside of it. */
struct tramp_count_loop {
	uint32_t used;		/* registers, of TRAMP_GPRS */
	uint32_t live;		/* likewise */
	uint32_t kept;		/* those that hold counters in it, and maybe around it */
	uint32_t inside;	/* those that do so in it, or in loops inside of it */
	uint32_t backs;		/* edges that lead to its head, and do not enter it */
	bool left;		/* control may be elsewhere meanwhile, or comes in, or goes out, by other ways than jumps */
	bool ends;		/* some edge leads out of it; else what is in registers would never come into memory */
	bool unseen;		/* trips: ... or it comes in, or goes out, where that cannot be counted */
	bool switches;		/* trips: it has a jump through a table */
	uint32_t trips;		/* index; TRAMP_NONE */
	bool entered;		/* ... it comes in elsewhere than at its head, from outside of the function, or goes there */
};

/* A register of @among for a counter that is kept while control is in the loop: one that need not be saved, if possible.  0: none. */
tramp_regs tramp_count_choose(const struct tramp_counts *c, uint32_t loop, tramp_regs among);

/* It is taken for counter, or trips, @k.  False: no memory. */
bool tramp_count_take(struct tramp_counts *c, const struct tramp_flow *flow, tramp_regs reg, struct tramp_kept k) TRAMP_MUST_CHECK;

#endif
