/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of the heap as module memory has recorded them: calls of malloc(), free() and the like, in the order of their returns. */
#ifndef SONDE_LAUNCHER_MEMORY_NAMES_MEMBLOCKS_H
#define SONDE_LAUNCHER_MEMORY_NAMES_MEMBLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/trace.h"

#define MEMBLOCKS_CALLERS 7
#define MEMBLOCKS_UNKNOWN 1

/* A call that has returned; those that it made itself are not among them. */
struct memblocks_call {
	const struct sonde_trace_function *function;
	const struct sonde_trace_thread *thread;
	uint64_t code;		/* the address that it returned to; 0: not known */
	uint64_t callers[MEMBLOCKS_CALLERS]; /* the one that its caller returned to, and so on; 0: there are no more; MEMBLOCKS_UNKNOWN: not known */
	uint64_t entered, left; /* ticks */
	uint64_t from, to;	/* the same in ns since the start of the trace */
	bool frees, gives;	/* @freed was freed; @address is a block of @bytes; both: it is the same one, moved */
	uint64_t freed, address, bytes;
};

/* Is it one of the functions that module memory knows? */
bool memblocks_is_call(const char *symbol);

/* Is it one of those that give memory, as names of blocks begin: "malloc", "operator new[]"? */
bool memblocks_gives(const char *name);

/* Was module memory there? */
bool memblocks_recorded(const struct sonde_trace *trace);

/*
 * Calls @take for each call of all threads, until it returns false.  *damaged: some events could not be read.  False: no memory, or @take
 * returned that.
 */
bool memblocks_each(const struct sonde_trace *trace, bool (*take)(void *arg, const struct memblocks_call *call), void *arg, bool *damaged)
	__attribute__((warn_unused_result));

#endif
