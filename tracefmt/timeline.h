/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ticks to nanoseconds, by the calibration points of a trace. */
#ifndef TRACEFMT_TIMELINE_H
#define TRACEFMT_TIMELINE_H

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

#endif /* TRACEFMT_TIMELINE_H */
