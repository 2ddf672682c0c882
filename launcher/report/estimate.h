/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of calls that were counted, from bursts in which all were recorded.
 *
 * Outside of bursts the time of a counted call is in the self time of the innermost call that was recorded around it, its
 * *context*.  In bursts it is known how long a counted function's calls take, on the average, and what their contexts are.  So its time
 * is how often it was called, which is exact, times that, and is taken off its contexts' self times; of each not more than there
 * is.  All times still add up to what has passed.
 *
 * Errors: bursts are clusters, drawn by chance; from how they differ follows the variance of the average (the ratio estimator's).
 * That is the error of the sampling alone, not of what recording does to short calls.
 */
#ifndef SONDE_LAUNCHER_REPORT_ESTIMATE_H
#define SONDE_LAUNCHER_REPORT_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/report/report-sums.h"
#include "sonde/trace.h"

struct estimate_row;
struct estimate_pair;
struct estimate_frame;

/* Made once, used for one thread after another.  Times are on a cost clock (launcher/report/cost.h) where nothing else is said. */
struct estimate {
	const struct report_rows *rows;
	const struct sonde_trace_budget *budget; /* of the thread's program; NULL: nothing is to be estimated */
	size_t next_chosen, burst; /* those that lie before now */
	uint32_t now_in;	   /* number of the burst that it is now, from 1 on; 0: none */
	struct estimate_row *row;
	uint32_t *touched;	   /* rows in this burst */
	size_t ntouched;
	struct estimate_pair *pair; /* a hash table */
	size_t npairs, room;
	struct estimate_frame *frame;
	size_t n, frame_room;
	size_t context;		   /* 1 + index of the frame; 0: none */
	uint64_t raw, clock;	   /* times of the last event */
	double before;		   /* ns in the context, in this burst: of whom it is not known */
};

void estimate_init(struct estimate *e, const struct report_rows *rows);
void estimate_free(struct estimate *e);

/* Before a thread; its clock shows @clock. */
void estimate_start(struct estimate *e, const struct sonde_trace_budget *budget, uint64_t clock);

/* An event at @raw, ns since the start of the trace, when the clock shows @clock; before the others of the same event. */
void estimate_time(struct estimate *e, uint64_t raw, uint64_t clock);
void estimate_enter(struct estimate *e, uint32_t row);
void estimate_leave(struct estimate *e);
/* A call of @row whose entry was not recorded is over. */
void estimate_orphan(struct estimate *e, uint32_t row);

/* After the last event: adds to @sums what is to be added, and takes off what is not theirs. */
void estimate_finish(struct estimate *e, const struct sonde_trace_thread *t, struct report_sums *sums);

#endif
