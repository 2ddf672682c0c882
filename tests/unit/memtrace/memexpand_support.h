/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions made by hand, and a program that "runs" them: it has the values that a real one would have in
 * its registers, writes the stream that the instrumented code would write, and knows its accesses.
 */
#ifndef SONDE_TESTS_UNIT_MEMTRACE_MEMEXPAND_SUPPORT_H
#define SONDE_TESTS_UNIT_MEMTRACE_MEMEXPAND_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/machine.h"

enum {
	MXT_NODES = 32,
	MXT_OPS = 4160,
	MXT_FIRST = 100,		/* id of nodes[0] */
	MXT_LOOKED = 8,
};

#define MXT_BASE 0x555500000000ull
#define MXT_LOAD 0x555400000000ull

struct mxt_description {
	struct md_node nodes[MXT_NODES];
	struct md_op ops[MXT_OPS];
	uint32_t nnodes, nops;
};

/* Begins a node; its end is in mxt_op() with an end's code.  Fields that follow from the operations are set. */
void mxt_node(struct mxt_description *d, bool header);
/* `insn` is that of the op before it, and 2 if insn is 0. */
void mxt_op(struct mxt_description *d, struct md_op op);
static inline int64_t mxt_targets(uint32_t yes, uint32_t no)
{
	return (int64_t)(yes | (uint64_t)no << 32);
}

/* Checks that it is right.  It will be compiled if mxt_compiled is set. */
extern bool mxt_compiled;
struct mt_code *mxt_code(const struct mxt_description *d);
enum mt_status mxt_try(const struct mxt_description *d);

/* ---- the program ---- */

struct mxt_chunk {
	uint8_t *data;
	size_t len, room;
	size_t proven;	/* accesses that are to be handed out at the latest when it has been taken */
};

/* What MD_PEEK has found out about the next word. */
struct mxt_looked {
	uint32_t id;		/* that it has looked for */
	uint32_t node;		/* in which */
	bool taken;		/* that is what comes next */
};

struct mxt_program {
	const struct mxt_description *d;
	uint64_t reg[MD_REGS];
	uint64_t a, b;			/* of the last MD_FLAGS */
	uint8_t flags_kind, flags_width;
	uint64_t (*value)(struct mxt_program *p); /* from memory, from a call */
	uint32_t node, op;		/* where it is */
	bool begun;
	uint32_t written;		/* of the node's words */
	struct mxt_looked looked[MXT_LOOKED];
	uint32_t nlooked;
	bool ambiguous;			/* the next word was not so: nobody can read that */
	struct mxt_chunk *chunks;
	size_t nchunks;
	struct mt_access *v;
	size_t nv, room_v;
	uint64_t seed;
	uint32_t depth;
	uint64_t strings;		/* elements that a repeated string has done; then it is interrupted */
	bool string_cut;
};

/* Its first chunk is START. */
void mxt_start(struct mxt_program *p, const struct mxt_description *d, uint64_t seed);
void mxt_free(struct mxt_program *p);
uint64_t mxt_random(struct mxt_program *p);
/* Runs node p->node from p->op on; says whether the next one is free (MD_NEXT), otherwise it is p->node. */
bool mxt_run_node(struct mxt_program *p);
/* Runs operations of the node up to @op. */
void mxt_run_to(struct mxt_program *p, uint32_t op);
void mxt_chunk(struct mxt_program *p, enum md_chunk_kind kind);
/* A handler that runs nodes with headers, up to @nodes; returns if @back. */
void mxt_signal(struct mxt_program *p, uint32_t handler, bool back);
bool mxt_condition(const struct mxt_program *p, unsigned int cc);

/* ---- the reader ---- */

struct mxt_read {
	struct mt_access *v;
	size_t n, room;
	enum mt_status status;
};

/* Expands all chunks, up to @max accesses at a time. */
void mxt_expand(const struct mt_code *code, const struct mxt_program *p, size_t max, struct mxt_read *read);
/* Fails the test if what it says is not what the program did. */
void mxt_check(const struct mt_code *code, const struct mxt_program *p, size_t max);
/* Likewise, with repeats; says how many there were. */
uint64_t mxt_check_repeats(const struct mt_code *code, const struct mxt_program *p, size_t max);
void mxt_check_counts(const struct mt_code *code, const struct mxt_program *p);

#endif
