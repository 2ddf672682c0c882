/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two time-stamp counters that were compared by exchanging messages: ticks of one to ticks of the other.
 *
 * A message that leaves when one counter shows a arrives later than that on the other, so each is a bound from one side, and the
 * answer one from the other side.  Of the exchanges of a round the narrowest bounds count (the minimum of several delays: D. L. Mills,
 * "Internet time synchronization: the network time protocol", 1991, takes that of whole exchanges): the middle between them is the
 * estimate, half their distance its error.  Between rounds the counters are taken to differ linearly.
 */
#ifndef SONDE_TRACEFMT_READ_COMPARED_H
#define SONDE_TRACEFMT_READ_COMPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracefmt/read/time/timeline.h"

/* Ticks of who asked (sent, returned) and of who answered; each pair in this order, all below 2^62. */
struct tf_exchange {
	int round; /* those of one round are about one time */
	int rank;  /* in MPI_COMM_WORLD, of who answered */
	uint64_t sent, arrived, answered, returned;
};

/* Time when both counters were known. */
struct tf_meeting {
	uint64_t from, to; /* ticks of one, ticks of the other */
	double error;	   /* ns */
};

struct tf_compared {
	struct tf_meeting *v; /* increasing on both counters when finished */
	size_t n, room;
	struct tf_timeline map; /* ticks to ticks, when finished */
};

#define TF_DRIFT 100e-6 /* by how much the rates of two clocks may differ from what the kernels say: two crystals of 50 ppm */

bool tf_exchange_valid(const struct tf_exchange *x);

/*
 * Adds a meeting for each round of @x, which are those of one asker and one answerer; @from_hz, @to_hz: ticks a second.
 *  Exchanges that contradict each other make none.  False: no memory.
 */
__attribute__((warn_unused_result)) bool tf_compared_add(struct tf_compared *c, const struct tf_exchange *x, size_t n, double from_hz,
							  double to_hz);

/* All that is known the other way round: @c is from one to the other, *@to from the other to the one.  False: no memory. */
__attribute__((warn_unused_result)) bool tf_compared_reverse(const struct tf_compared *c, struct tf_compared *to);

/* To be called when all has been added.  False: no memory. */
__attribute__((warn_unused_result)) bool tf_compared_finish(struct tf_compared *c, double from_hz, double to_hz);

/* Ticks of the other; at least one meeting is there. */
static inline uint64_t tf_compared_ticks(const struct tf_compared *c, uint64_t ticks)
{
	return (uint64_t)tf_timeline_ns(&c->map, ticks);
}

/*
 * How wrong that may be, in ns: between two meetings what lies between their errors, outside what both may do to the line through
 * them; with one meeting its error, and the drift since.
 */
double tf_compared_error(const struct tf_compared *c, uint64_t ticks, double from_hz);

void tf_compared_free(struct tf_compared *c);

#endif /* SONDE_TRACEFMT_READ_COMPARED_H */
