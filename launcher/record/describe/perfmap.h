/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /tmp/perf-PID.map, where perf looks up code that is in no file: one line "ADDRESS SIZE NAME" a function,
 * numbers hexadecimal (tools/perf/Documentation/jit-interface.txt of the Linux sources).
 */
#ifndef SONDE_LAUNCHER_RECORD_PERFMAP_H
#define SONDE_LAUNCHER_RECORD_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct perfmap_entry {
	uint64_t addr, size; /* in the program */
	const char *name;    /* mangled; it is written as in the source */
};

/* All zero at first. */
struct perfmap {
	FILE *file;
	bool failed;
};

/*
 * Writes entries after those of earlier calls.  The first call makes the file, in place of one of ours;
 * one of somebody else is left alone.  What goes wrong is a warning, given once.
 */
void perfmap_write(struct perfmap *map, pid_t pid, const struct perfmap_entry *v, size_t n);

/* Leaves the file where it is: perf reads it after the program has ended. */
void perfmap_close(struct perfmap *map);

#endif
