/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many of the events that a verb reads it has read, as launcher/common/progress.h shows it. */
#ifndef SONDE_LAUNCHER_TRACE_READING_H
#define SONDE_LAUNCHER_TRACE_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/common/progress.h"
#include "sonde/trace.h"

#define READING_STEP 0x10000u

struct reading {
	struct progress shown;
	uint64_t done, all; /* events */
};

/* @prints: what is read is printed at once; then nothing is shown unless that goes into a file, since it would be mixed. */
void reading_begin(struct reading *r, bool prints);
/* The thread's events are going to be read. */
void reading_expect(struct reading *r, const struct sonde_trace_thread *thread);
void reading_show(struct reading *r);
/* All are read, or something else is to be written. */
void reading_end(struct reading *r);

/* For each event. */
static inline void reading_event(struct reading *r)
{
	if (++r->done % READING_STEP == 0)
		reading_show(r);
}

#endif
