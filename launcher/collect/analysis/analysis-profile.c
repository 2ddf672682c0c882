/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profile of memory accesses that a module has asked for, as text. */
#include "config.h"

#include <stdio.h>

#include "launcher/collect/analysis/analysis-private.h"
#include "launcher/memory/memory.h"
#include "launcher/memory/memtrace.h"
#include "launcher/memory/memwhere.h"

#define ROWS 30

static bool print_by(struct analysis *a, const struct memory_about *about, const struct mt_read *read, enum memory_by by,
		     FILE *to)
{
	unsigned int flags = by == MEMORY_BY_FUNCTION ? 0 : MEMWHERE_LINES;
	struct memwhere *where = memwhere_new(read, flags);
	struct memory_rows rows = { .about = *about };
	bool done = where && memory_rows_add(&rows, a->profile, where, by, NULL);

	if (done) {
		memory_rows_sort(&rows, "bytes");
		memory_print_table(&rows, ROWS, by, to);
	}
	memory_rows_free(&rows);
	if (where)
		memwhere_free(where);
	return done;
}

bool analysis_profile_print(struct analysis *a, const char *dir, FILE *to)
{
	bool none, done;
	struct mt_read *read = memtrace_read(dir, &none);
	struct sonde_trace *trace = NULL;
	struct memory_about about;

	if (!read)
		return none; /* nothing was instrumented, or else it has said why */
	done = sonde_trace_open(dir, &trace, NULL) == SONDE_TRACE_OK;
	about = memory_about(trace, NULL);
	done = done && print_by(a, &about, read, MEMORY_BY_FUNCTION, to);
	fputc('\n', to);
	done = done && print_by(a, &about, read, MEMORY_BY_LOOP, to);
	if (trace)
		sonde_trace_close(trace);
	mt_read_close(read);
	return done;
}
