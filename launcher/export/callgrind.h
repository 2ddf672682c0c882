/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Costs by source line, and calls, in Callgrind's format: callgrind-lines.c; what they are made of: callgrind-blocks.c, callgrind-memory.c. */
#ifndef SONDE_LAUNCHER_EXPORT_CALLGRIND_H
#define SONDE_LAUNCHER_EXPORT_CALLGRIND_H

#include "launcher/common/options.h"
#include "launcher/trace/pick.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum callgrind_event {
	CALLGRIND_INSNS, CALLGRIND_READS, CALLGRIND_WRITES,
	CALLGRIND_D1_READ, CALLGRIND_D1_WRITE, CALLGRIND_DL_READ, CALLGRIND_DL_WRITE, /* misses in the first cache, and in the last */
	CALLGRIND_EVENTS
};

/* Strings: NULL: not known; they are copied. */
struct callgrind_place {
	const char *path;	/* of the ELF file */
	const char *name;	/* function; a call's caller, NULL: it was not recorded */
	const char *home;	/* source file that it begins in */
	const char *file;	/* source of the line */
	int line;
};

/* A line's own costs, or (@calls) those of calls from there. */
struct callgrind_line {
	struct callgrind_place at, to;
	uint64_t calls;		/* 0: its own */
	uint64_t costs[CALLGRIND_EVENTS];
};

/* All zero at first. */
struct callgrind {
	struct callgrind_line *v; /* what is of the same places is one */
	size_t n, room;
	uint32_t *slots;	/* index + 1 */
	size_t nslots;
	char **texts;
	size_t ntexts, room_texts;
	unsigned int events;	/* bits: which are known */
};

struct callgrind_options {
	struct pick pick;
	const struct opt_list *systems;
	const char *output;
	bool mangled;
};

/* False: no memory. */
bool callgrind_add(struct callgrind *g, const struct callgrind_line *line) __attribute__((warn_unused_result));
/* Sorts them. */
void callgrind_print(struct callgrind *g, const struct sonde_trace_rank *first, FILE *out);
void callgrind_free(struct callgrind *g);

/* Of a trace with counts of blocks, or their order. 0, or EXIT_USAGE after a message; *@damage grows. */
int callgrind_blocks(struct callgrind *g, struct callgrind_options *o, const char *dir, uint64_t *damage)
	__attribute__((warn_unused_result));
/* Of a trace with memory accesses: reads and writes, unless they are in @g, and misses in the last of o->systems. */
int callgrind_memory(struct callgrind *g, struct callgrind_options *o, const char *dir, uint64_t *damage)
	__attribute__((warn_unused_result));

#endif
