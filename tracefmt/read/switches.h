/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When recording was switched off and on again, of one part. */
#ifndef SONDE_TRACEFMT_READ_SWITCHES_H
#define SONDE_TRACEFMT_READ_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tf_part;

/* At first, a switch: from: ticks, on.  When finished, a stretch of time in which it was off: from..to-1. */
struct tf_switch {
	uint64_t from, to; /* ns since the start of the trace */
	uint64_t before;   /* ns that it was off before */
	bool on;
};

struct tf_switches {
	struct tf_switch *v; /* by time; stretches do not touch */
	size_t n, room;
};

/* False: no memory. */
__attribute__((warn_unused_result)) bool tf_switches_add(struct tf_switches *s, uint64_t ticks, bool on);

/* When all are there, and the timeline is finished: makes stretches of them, and tells the part's sums. */
void tf_switches_finish(struct tf_part *part);

/* How long it was off before @time, ns.  *@at is where the last search ended: 0 at first, for times that grow. */
uint64_t tf_switches_off(const struct tf_switches *s, uint64_t time, size_t *at);

void tf_switches_free(struct tf_switches *s);

#endif
