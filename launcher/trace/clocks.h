/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How times of several nodes are set against each other, in words. */
#ifndef SONDE_LAUNCHER_TRACE_CLOCKS_H
#define SONDE_LAUNCHER_TRACE_CLOCKS_H

#include <stdbool.h>

#include "sonde/trace.h"

#define CLOCKS_MAX 300

/* "first", "compared", "compared once", "set" */
const char *clocks_kind(enum sonde_trace_clock clock);

/* "of 2 nodes, compared by messages: times are wrong by at most 1.2 us"; false: there is one node, and nothing to say. */
bool clocks_text(const struct sonde_trace *trace, char text[CLOCKS_MAX]);

#endif
