/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde info`: info.c prints what a trace holds, info-recorded.c how its functions were recorded, info-memory.c the part about
 * memory accesses, info-objects.c that about programs and libraries.
 */
#ifndef SONDE_LAUNCHER_INSPECT_INFO_H
#define SONDE_LAUNCHER_INSPECT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/common/options.h"
#include "sonde/trace.h"

/* "key         text" */
__attribute__((format(printf, 2, 3))) void info_row(const char *key, const char *fmt, ...);
/* "key         12345 bytes (12.1 KiB)" */
void info_size(const char *key, uint64_t bytes);

/* The files that the recorded code is from. */
void info_objects_print(const struct sonde_trace *trace);

/* --overhead of calls, and what it came to; nothing without it.  @choices: also which functions were counted when. */
void info_budget_print(const struct sonde_trace *trace, bool choices);
/* How many functions of each program were recorded, and how many not; @names: which, and why. */
void info_recorded_print(const struct sonde_trace *trace, bool names);

struct info_memory;

/*
 * Counts all accesses of the trace.  NULL: there are no memory streams (or no memory): the
 * functions below take that, too.  @processes: as struct pick has them.  What cannot be read is said, and counted as damage.
 */
struct info_memory *info_memory_read(struct sonde_trace *trace, const struct opt_list *processes);
void info_memory_free(struct info_memory *m);
void info_memory_print(const struct info_memory *m, const struct sonde_trace *trace);
void info_memory_print_threads(const struct info_memory *m);
/* Parts of streams that were lost while recording, or could not be written. */
uint64_t info_memory_lost(const struct info_memory *m);
/* Places that cannot be read. */
uint64_t info_memory_damage(const struct info_memory *m);

/* Is it the first process of its program?  What was recorded of a file's functions counts for all processes that ran it. */
bool info_is_first_of_file(const struct sonde_trace *trace, size_t index);

#endif
