/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde archive`: puts the files that a trace was recorded of into its folder, where launcher/program/binary.h says:
 *
 *	archive-files		files written into a folder that somebody else has made
 *	archive-objects		programs and libraries, and their separate debug files
 *	archive-sources		the sources of the functions that were recorded
 */
#ifndef SONDE_LAUNCHER_ARCHIVE_ARCHIVE_H
#define SONDE_LAUNCHER_ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/common/progress.h"
#include "sonde/trace.h"

/* ---- archive-files ---- */

/*
 * Copies the file that is open as @from to @name in the folder @dir, with the folders that @name has; 0666 without the umask.  It
 * is there as a whole or not at all, and replaces what is there; no symbolic link below @dir is followed.  @name has no "..".
 * Returns how many bytes, or -1 with errno set.
 */
int64_t archive_put(int dir, const char *name, int from);

/* Opens a regular file for reading, whatever a name may stand for; -1: errno. */
int archive_open(const char *path);

/* All regular files of the folder @from into @to, which is there.  False after a message. */
bool archive_copy_tree(const char *from, const char *to);

/* ---- what was put ---- */

struct archive_sum {
	size_t objects, debug_files, sources;
	size_t missing;	     /* objects that are others by now, or gone; each was said */
	size_t no_sources;   /* sources that are not there */
	uint64_t bytes;
};

/* @to: of the archive's folder.  False after a message: it could not be written. */
bool archive_objects(const struct sonde_trace *trace, int to, struct archive_sum *sum);

/* From the debug information of the files that archive_objects() has put into the folder @dir, open as @to. */
bool archive_sources(const struct sonde_trace *trace, const char *dir, int to, struct archive_sum *sum);

#endif
