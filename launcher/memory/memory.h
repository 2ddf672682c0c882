/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde memory`: a profile of memory accesses (launcher/memory/memprofile.h) by function, loop, line or
 * instruction.  memory.c has the options, memory-rows.c makes rows of the profiles of all ranks,
 * memory-table.c and memory-data.c print them.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMORY_H
#define SONDE_LAUNCHER_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "launcher/memory/memprofile.h"
#include "launcher/memory/memwhere.h"
#include "launcher/common/options.h"

enum memory_by { MEMORY_BY_FUNCTION, MEMORY_BY_LOOP, MEMORY_BY_LINE, MEMORY_BY_INSTRUCTION };

struct memory_row {
	char *name;		/* for people; rows of the same name and path are one */
	char *path, *function, *file; /* NULL: not known, or does not belong to what rows are made by */
	int line;		/* 0: not known; of a loop: where it begins */
	uint64_t address;	/* in the file: of the function, the loop or the instruction; by line: 0 */
	unsigned int depth;	/* of the loop; 0: outside of loops */
	struct memprofile_insn sum;
	uint64_t lines;		/* footprint, in cache lines; added up over ranks */
};

struct memory_rows {
	struct memory_row **v;
	size_t n, room;
	void *tree;		/* of tsearch(3) */
	struct memory_row total;
	uint64_t sampled;	/* the most of memprofile_sampled() */
};

/*
 * Adds the profile of a rank, places by @where; only functions that match.  False after a message.
 */
bool memory_rows_add(struct memory_rows *rows, struct memprofile *p, struct memwhere *where,
		     enum memory_by by, const struct opt_list *functions)
	__attribute__((warn_unused_result));
void memory_rows_free(struct memory_rows *rows);

/* Keys to sort by, for the option's table; largest first. */
#define MEMORY_SORTS "bytes\0accesses\0loads\0stores\0random\0footprint\0misses\0name\0"
void memory_rows_sort(struct memory_rows *rows, const char *key);

static inline uint64_t memory_accesses(const struct memprofile_insn *s)
{
	return s->accesses[MD_LOAD] + s->accesses[MD_STORE] + s->accesses[MD_MODIFY];
}

/* A modification moves its bytes twice. */
static inline uint64_t memory_bytes(const struct memprofile_insn *s)
{
	return s->bytes[MD_LOAD] + s->bytes[MD_STORE] + 2 * s->bytes[MD_MODIFY];
}

static inline uint64_t memory_loads(const struct memprofile_insn *s)
{
	return s->accesses[MD_LOAD] + s->accesses[MD_MODIFY];
}

static inline uint64_t memory_stores(const struct memprofile_insn *s)
{
	return s->accesses[MD_STORE] + s->accesses[MD_MODIFY];
}

static inline double memory_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/*
 * Accesses that would miss in a cache of 2^@bits lines: fully associative, LRU, the thread's own.
 */
uint64_t memory_misses(const struct memprofile_insn *s, unsigned int bits);

/* @limit: rows; @by: title of the last column. */
void memory_print_table(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out);
void memory_print_csv(const struct memory_rows *rows, uint64_t limit, FILE *out);
bool memory_print_json(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out)
	__attribute__((warn_unused_result));

#endif
