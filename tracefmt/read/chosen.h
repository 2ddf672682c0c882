/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions' calls were counted when, and when all were recorded, of one part. */
#ifndef SONDE_TRACEFMT_READ_CHOSEN_H
#define SONDE_TRACEFMT_READ_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>

#include "tracefmt/include/sonde/trace.h"

struct tf_part;

/* Times are ticks until all is finished. */
struct tf_chosen_in {
	struct sonde_trace_budget pub;
	struct sonde_trace_chosen *v;
	size_t n, room;
	struct sonde_trace_burst *bursts;
	size_t nbursts, bursts_room;
	bool known; /* there was a budget */
};

/* False: no memory. */
__attribute__((warn_unused_result)) bool tf_chosen_add(struct tf_chosen_in *c, uint64_t ticks,
							const struct sonde_trace_function *function, bool counted);
__attribute__((warn_unused_result)) bool tf_chosen_burst(struct tf_chosen_in *c, uint64_t ticks, uint64_t length);

/* When all are there, and the timeline is finished: writes the part. */
void tf_chosen_finish(struct tf_part *part);

void tf_chosen_free(struct tf_chosen_in *c);

#endif
