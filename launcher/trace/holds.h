/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a trace holds: said where a verb finds nothing of what it shows, so that nobody has to guess which
 * other verb would.
 */
#ifndef SONDE_LAUNCHER_TRACE_HOLDS_H
#define SONDE_LAUNCHER_TRACE_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "sonde/trace.h"

/* Has the thread a stream of memory accesses? */
bool holds_stream(const struct sonde_trace_thread *thread);
/* Was the order of blocks recorded, in streams like those, in place of accesses (record --blocks=trace)? */
bool holds_blocks(const struct sonde_trace *trace);
/* Was it recorded beside accesses (record --mem --blocks)? */
bool holds_order(const struct sonde_trace *trace);
/* Has any thread a stream of memory accesses? */
bool holds_memory(const struct sonde_trace *trace);
/* Has any thread an event? */
bool holds_events(const struct sonde_trace *trace);
/* Are the ends of all recordings there?  Not while one runs, nor where its recorder was killed: what comes last is missing. */
bool holds_ends(const struct sonde_trace *trace);

/* What modules printed (sonde_print()): texts in the folders of ranks. */
struct holds_texts {
	struct holds_text {
		char *path, *module; /* "sonde.data/memprofile.txt", "memprofile" */
		int rank;	     /* or -1 */
	} *v; /* by rank, then by module */
	size_t n;
};
/* None if there is no memory. */
void holds_texts(const struct sonde_trace *trace, struct holds_texts *t);
void holds_texts_free(struct holds_texts *t);

/* A line for each text: who has written it, and where it is; with @whole, of the first few the text itself below. */
void holds_print_texts(const struct holds_texts *t, bool whole, FILE *out);

/*
 * Why no calls are to be seen, or what is to be seen instead: "no calls were recorded, but memory
 * accesses: `sonde memory' shows them".
 */
void holds_no_calls(const struct sonde_trace *trace, char *text, size_t size);

/* The same for memory accesses. */
void holds_no_memory(const struct sonde_trace *trace, char *text, size_t size);

/* Warns of a recording that has no end. */
void holds_warn_without_end(const struct sonde_trace *trace, const char *dir);

/*
 * For verbs whose output may be read by programs: if the trace has no calls, or no end, says so on standard
 * error, with the texts' paths.
 */
void holds_warn_no_calls(const struct sonde_trace *trace, const char *dir);

#endif
