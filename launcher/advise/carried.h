/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an iteration of a loop has from the one before, in registers, and what the loop ends by. */
#ifndef SONDE_LAUNCHER_ADVISE_CARRIED_H
#define SONDE_LAUNCHER_ADVISE_CARRIED_H

#include <stdbool.h>

#include "trampolines/flow/flow.h"

struct advise_carried {
	bool waits;	  /* for a value that is neither an induction variable nor a sum; also where that is not sure */
	bool sums_floats; /* it adds up floating point numbers, one by one */
	bool counted;	  /* the last place where it can be left goes by an induction variable alone */
};

/* Of a loop of @flow, after tramp_flow_loops() and tramp_flow_live(). */
void advise_carried(const struct tramp_flow *flow, uint32_t loop, struct advise_carried *c);

#endif
