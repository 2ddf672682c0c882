/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ticks to nanoseconds, by the calibration points of a trace. */
#ifndef SONDE_TRACEFMT_READ_TIMELINE_H
#define SONDE_TRACEFMT_READ_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tf_point {
	uint64_t tsc;
	uint64_t ns; /* CLOCK_MONOTONIC */
};

struct tf_timeline {
	struct tf_point *point; /* increasing on both clocks */
	size_t n;
	size_t room;
	double hz; /* over the whole run; 1e9 when there is one point only */
};

/*
 * Adds a point; one that is not later than the last, or beyond 2^62, is ignored.  False: no
 * memory.
 */
__attribute__((warn_unused_result)) bool tf_timeline_add(struct tf_timeline *t, uint64_t tsc,
							 uint64_t ns);

/* To be called when all points are there. */
void tf_timeline_finish(struct tf_timeline *t);

/* CLOCK_MONOTONIC ns; at least 0, at most 2^63 - 1. */
int64_t tf_timeline_ns(const struct tf_timeline *t, uint64_t tsc);

void tf_timeline_free(struct tf_timeline *t);

/*
 * A stretch of the timeline on which time is one line, for the many times of one thread.  The
 * quotient is taken as a double and corrected by its remainder, so it is exactly that of
 * tf_timeline_ns().
 */
struct tf_stretch {
	uint64_t from, to; /* ticks from..to-1; empty: there is none */
	uint64_t origin;   /* ticks, at most from */
	uint64_t ns;	   /* of origin */
	uint64_t dtsc, dns;
	double ratio; /* dns / dtsc */
};

#define TF_STRETCH_MAX (UINT64_C(1) << 48) /* ticks and ns; keeps the correction within a step or two */

/* The stretch that holds @tsc, or an empty one. */
void tf_timeline_stretch(const struct tf_timeline *t, uint64_t tsc, struct tf_stretch *s);

static inline bool tf_stretch_holds(const struct tf_stretch *s, uint64_t tsc)
{
	return tsc - s->from < s->to - s->from;
}

/* @tsc is in the stretch. */
static inline int64_t tf_stretch_ns(const struct tf_stretch *s, uint64_t tsc)
{
	uint64_t x = tsc - s->origin, q = (uint64_t)((double)x * s->ratio);
	int64_t rest = (int64_t)(x * s->dns - q * s->dtsc); /* small: modulo 2^64 is enough */

	for (; rest < 0; rest += (int64_t)s->dtsc)
		q--;
	for (; rest >= (int64_t)s->dtsc; rest -= (int64_t)s->dtsc)
		q++;
	return (int64_t)(s->ns + q);
}

#endif /* SONDE_TRACEFMT_READ_TIMELINE_H */
