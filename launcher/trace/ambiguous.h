/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that are known by their name and file only. */
#ifndef SONDE_LAUNCHER_TRACE_AMBIGUOUS_H
#define SONDE_LAUNCHER_TRACE_AMBIGUOUS_H

#include <stdbool.h>

#include "sonde/trace.h"

/* By index of the trace's functions, for free(): does another file have one of the same name?  NULL: no memory. */
bool *ambiguous_functions(const struct sonde_trace *trace);

#endif
