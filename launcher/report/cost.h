/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread's time without times in which nothing was recorded, and without what recording took of it: what each call's probes cost, as it was measured when the trace was
 * recorded, and waits for room to record something, which are in the trace.
 *
 *	caller ... | probe: enter | the function ... | probe: leave | caller ...
 *	          outside        inside                            (outside)
 *
 * All that is outside is taken off at the entry.  What is measured is an average, so a short call may come out shorter than
 * nothing: durations are signed, and only their sums are shown, never below zero.
 */
#ifndef SONDE_LAUNCHER_REPORT_COST_H
#define SONDE_LAUNCHER_REPORT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/trace.h"

#define COST_BIAS (UINT64_C(1) << 62) /* times stay positive */

struct cost_clock {
	bool raw;	/* time as recorded */
	uint64_t end;	/* cost_thread_end(), without times in which nothing was recorded */
	double inside, outside; /* ns a call */
	double probes;	/* ns, so far */
	uint64_t waited, off;
};

/*
 * Until when @t was there, ns since the start of the trace: a process's first thread until the end of the process, which may be long after
 * the last event; of another thread nothing is known but its last event.
 */
uint64_t cost_thread_end(const struct sonde_trace *trace, const struct sonde_trace_thread *t);

void cost_begin(struct cost_clock *c, const struct sonde_trace *trace, const struct sonde_trace_thread *t, bool raw);

/* The time of @ev on this clock, since COST_BIAS; differences are int64_t ns.  For each event, in order. */
static inline uint64_t cost_time(struct cost_clock *c, const struct sonde_trace_event *ev)
{
	double taken = c->probes;

	if (c->raw)
		return COST_BIAS + ev->time;
	if (ev->kind == SONDE_TRACE_ENTER && ev->site && !ev->site->module) {
		taken += c->outside;
		c->probes = taken + c->inside;
	}
	c->waited = ev->waited;
	c->off = ev->off;
	return COST_BIAS + ev->time - ev->waited - ev->off - (uint64_t)taken;
}

/* The thread's end on this clock, after its last event. */
static inline uint64_t cost_end(const struct cost_clock *c)
{
	return COST_BIAS + c->end - (c->raw ? 0 : c->waited + (uint64_t)c->probes);
}

/* ns that have been taken off so far. */
static inline uint64_t cost_taken(const struct cost_clock *c)
{
	return c->waited + (uint64_t)c->probes;
}

/* A sum of differences, as it is shown. */
static inline uint64_t cost_shown(uint64_t sum)
{
	return (int64_t)sum > 0 ? sum : 0;
}

#endif
