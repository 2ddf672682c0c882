/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a program or library still the one that was recorded? */
#ifndef SONDE_LAUNCHER_PROGRAM_BINARY_H
#define SONDE_LAUNCHER_PROGRAM_BINARY_H

#include "tracefmt/include/sonde/trace.h"

enum binary_state {
	BINARY_SAME,	/* but for symbols and debug information, which may have been stripped */
	BINARY_OTHER,
	BINARY_GONE,	/* there is no such file, or it cannot be read */
};

/* Reads all of its code. */
enum binary_state binary_state(const struct sonde_trace_object *recorded);

/* Is the file at @path the one that functions of @trace are from, in all ranks? */
bool binary_is_recorded(const struct sonde_trace *trace, const char *path);

#endif
