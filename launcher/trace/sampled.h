/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each view of a trace says if its memory accesses were sampled. */
#ifndef SONDE_LAUNCHER_TRACE_SAMPLED_H
#define SONDE_LAUNCHER_TRACE_SAMPLED_H

#include <stdbool.h>

#include "sonde/trace.h"

#define SAMPLED_MAX 160u

/* Sums over all ranks.  False: all memory accesses were recorded, or none. */
bool sampled_sum(const struct sonde_trace *trace, struct sonde_trace_sampled *sum);

/* What of the threads' CPU time is in bursts, or, where that is not known, of their time: 0 to 1. */
double sampled_share(const struct sonde_trace_sampled *s);

/* What of all CPU time, the threads' and Sonde's, recording has cost, about: 0 to 1. */
double sampled_cost(const struct sonde_trace_sampled *s);

/*
 * "12 bursts by number, about 10.00 % of the accesses, 9.00 % of the CPU time", "1 burst by time, 5.00 % of the CPU time";
 * without figures if the recording has no end.
 */
void sampled_text(const struct sonde_trace_sampled *s, char text[static SAMPLED_MAX]);

/* The accesses were counted between bursts, too: their number is known, about. */
static inline bool sampled_counted(const struct sonde_trace_sampled *s)
{
	return s->on_units && s->all_units >= s->on_units;
}

/* A line on standard error, for views that have no head. */
void sampled_tell(const struct sonde_trace *trace);

#endif
