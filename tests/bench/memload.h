/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace's streams in memory, unpacked, for what measures what is done with them. */
#ifndef SONDE_TESTS_BENCH_MEMLOAD_H
#define SONDE_TESTS_BENCH_MEMLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/machine.h"

struct memload_piece {
	void *data;
	size_t len;
	bool first;	/* of its thread */
	uint32_t kind;
};

struct memload {
	struct memload_piece *pieces;
	size_t n, loaded;
	struct mt_code *code; /* compiled */
};

/* The first 256 MiB of the streams of a trace.  Ends the program where that cannot be read. */
void memload(struct memload *m, const char *folder);

/* This thread's CPU time, in seconds. */
double memload_now(void);

#endif
