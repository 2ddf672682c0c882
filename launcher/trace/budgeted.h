/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each view of a trace says if recording its calls was limited by a budget (`sonde record --overhead`). */
#ifndef SONDE_LAUNCHER_TRACE_BUDGETED_H
#define SONDE_LAUNCHER_TRACE_BUDGETED_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/trace.h"

#define BUDGETED_MAX 256

struct budgeted {
	double overhead;
	uint64_t plain_ns, probes_ns, sonde_ns; /* as in struct sonde_trace_budget */
	uint64_t calls;	     /* that were counted */
	size_t functions;    /* whose calls were, at times */
	uint64_t bursts, ns; /* in all */
	uint64_t changes;    /* of what is counted */
};

/* Of all programs.  False: there was no budget. */
bool budgeted_sum(const struct sonde_trace *trace, struct budgeted *sum);

/* "12 functions were counted for a part of the time (1234567 calls), but for 230 bursts, 0.052 s" */
void budgeted_text(const struct budgeted *sum, char text[static BUDGETED_MAX]);

/* By function: some of its calls were counted.  From calloc(); NULL: there was no budget, or no memory. */
bool *budgeted_functions(const struct sonde_trace *trace);

/* A line on stderr for views that show events, or nothing. */
void budgeted_tell(const struct sonde_trace *trace);

#endif
