/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the blocks of a function are likely executed, and which way their conditional jumps go. */
#ifndef SONDE_TRAMPOLINES_FLOW_LIKELY_H
#define SONDE_TRAMPOLINES_FLOW_LIKELY_H

#include "trampolines/flow/flow.h"

enum {
	TRAMP_LIKELY_ITERATIONS = 8, /* of a loop, each time that it is entered: one execution of its head in so many leaves it */
};

struct tramp_likely {
	double times;		/* it is executed, each time that control comes into the function */
	double taken;		/* ... and the jump in the end is taken */
	bool seldom;		/* it is, and all that comes after it */
};

/* Zero at first; the same one serves for function after function. */
struct tramp_likely_blocks {
	struct tramp_likely *v;	/* by block; the one after all: of jumps through tables (times), and for each of their targets (taken) */
	size_t room;
	uint32_t *nodes;	/* its own */
	size_t room_nodes;
};

/* Needs the flow's loops.  False: no memory. */
bool tramp_likely_find(struct tramp_likely_blocks *l, const struct tramp_flow *flow) TRAMP_MUST_CHECK;

void tramp_likely_free(struct tramp_likely_blocks *l);

#endif
