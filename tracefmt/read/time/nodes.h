/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One time line for all parts of a trace.
 *
 * Parts that were recorded on one node (equal boot ids) share a clock: the points of all of them.  The clocks of
 * two nodes are set against each other by the messages that processes of both exchanged for that (tracefmt/read/time/compared.h); from
 * node to node, beginning with that of the first part.  A node that none leads to is set by CLOCK_REALTIME, and how wrong that is
 * nobody knows.
 */
#ifndef SONDE_TRACEFMT_READ_NODES_H
#define SONDE_TRACEFMT_READ_NODES_H

#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/read/time/compared.h"
#include "tracefmt/read/time/timeline.h"

struct tf_part;

struct tf_node {
	const struct tf_part *first;
	struct tf_timeline timeline; /* of all its parts: ticks to CLOCK_MONOTONIC, of this node or of the first one */
	int64_t shift;		     /* ns to add for CLOCK_MONOTONIC of the first node */
	enum sonde_trace_clock clock;
	double hz;
	struct tf_compared compared; /* ticks of this node to those of @other */
	size_t other;		     /* node */
};

struct tf_nodes {
	struct tf_node *v;
	size_t n, room;
};

/*
 * Sets the timelines of all parts, which have their own clock points, to those of their nodes, with offset, pub.node, pub.clock.
 * Errors: E_NOMEM.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_nodes_find(struct sonde_trace *t);

/* The same as those of @all, of which @t has some parts; @same: of each part, the one in @all. */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_nodes_copy(struct sonde_trace *t, const struct sonde_trace *all,
									  const struct tf_part *const *same);

/* ns by which times of the part at @ticks may be wrong against those of the first node; UINT64_MAX: not known. */
uint64_t tf_nodes_error(const struct sonde_trace *t, const struct tf_part *part, uint64_t ticks);

void tf_nodes_free(struct tf_nodes *n);

#endif /* SONDE_TRACEFMT_READ_NODES_H */
