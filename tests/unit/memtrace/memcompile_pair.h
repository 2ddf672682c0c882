/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One description interpreted, compiled by the process that reads, and compiled by another: chunk by chunk the same accesses,
 * the same status, the same counts.  Chunks and accesses end where memory ends, also for the code that is compiled, which
 * no sanitizer looks at.
 */
#ifndef SONDE_TESTS_UNIT_MEMTRACE_MEMCOMPILE_PAIR_H
#define SONDE_TESTS_UNIT_MEMTRACE_MEMCOMPILE_PAIR_H

#include "tests/unit/memtrace/memcompile_served.h"
#include "tests/unit/memtrace/memexpand_dice.h"

enum { MCP_LIMIT = 300 };	/* see mt_machine_limit() */

struct mcp_pair {
	struct mt_code *interpreted, *compiled, *reader;
	struct served *served;	/* the reader's code */
};

extern struct mcp_seen {
	uint64_t streams, accesses, errors, entered, served;
} mcp_seen;

struct mcp_pair mcp_codes(const struct mxt_description *d);
void mcp_free(struct mcp_pair *p);

/* Batches of @batch accesses; 0: counts, with the stack's if @stack.  @with: compiled, or reader. */
void mcp_compare(const struct mcp_pair *p, struct mt_code *with, const struct mxt_chunk *chunks, size_t n, size_t batch,
		 int stack);
/* All, in some of these ways. */
void mcp_compare_all(const struct mcp_pair *p, const struct mxt_chunk *chunks, size_t n);
/* The same with chunk @which cut to @len bytes, and the rest in another one, or missing. */
void mcp_compare_cut(const struct mcp_pair *p, const struct mxt_program *of, size_t which, size_t len);

#endif
