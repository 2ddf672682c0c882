/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is a program or library still the one that was recorded?  And which file is it, where the trace has been archived:
 *
 *	DIR/objects/ID/NAME	the file, as it was; ID is its build-id, or "code-" and the hash of its code
 *	DIR/objects/ID/...	its separate debug files, by the names that it knows them by
 *	DIR/sources/...		sources, by their absolute paths
 */
#ifndef SONDE_LAUNCHER_PROGRAM_BINARY_H
#define SONDE_LAUNCHER_PROGRAM_BINARY_H

#include "tracefmt/include/sonde/trace.h"

enum binary_state {
	BINARY_SAME,	/* but for symbols and debug information, which may have been stripped */
	BINARY_OTHER,
	BINARY_GONE,	/* there is no such file, or it cannot be read */
};

/* Of the file at @path.  Reads all of its code. */
enum binary_state binary_state(const char *path, const struct sonde_trace_object *recorded);

/*
 * Where an archive has the file, from the trace's folder on; malloc'ed, NULL: none could have it (the trace is damaged), or no
 * memory.
 */
char *binary_archived(const struct sonde_trace_object *recorded);

/*
 * The file to be read for a recorded one: that in the trace's archive, else the one that was recorded.  BINARY_SAME: *path is
 * malloc'ed; else it is NULL, and what is returned is true of the file at recorded->path.  Reads all of its code.
 */
enum binary_state binary_find(const struct sonde_trace *trace, const struct sonde_trace_object *recorded, char **path);

/*
 * The same for all files of @trace that were at @path: malloc'ed, NULL: there are none, some are others, or in different ranks they
 * are different ones.
 */
char *binary_of_trace(const struct sonde_trace *trace, const char *path);

#endif
