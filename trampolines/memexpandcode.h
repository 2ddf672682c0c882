/* SPDX-License-Identifier: MIT */
/*
 * Descriptions (trampolines/memdesc.h) in the form in which the machine of trampolines/memexpand.h runs them.
 */
#ifndef SONDE_TRAMPOLINES_MEMEXPANDCODE_H
#define SONDE_TRAMPOLINES_MEMEXPANDCODE_H

#include <stdbool.h>

#include "trampolines/memexpand.h"

enum {
	MX_ZERO = MD_REGS,	/* a slot behind the registers that is always 0: what MD_NONE becomes */
	MX_SLOTS = 24,
};

struct mx_node;
struct mx_loop;

/* An operation.  MD_SIZE is gone, and so is MD_OBJECT where an immediate can hold it. */
struct mx_op {
	uint8_t code;		/* enum md_code, enum mx_fast_code */
	uint8_t dst;		/* register; MD_FLAGS, MD_STRING: as in md_op; lanes: how many */
	uint8_t base, index;	/* slots */
	uint8_t scale, width;
	uint16_t offset;	/* of the instruction from the node's start */
	uint32_t size;		/* from here to `words`: as in struct mx_access */
	uint8_t kind;
	uint8_t lanes;		/* enum md_mask; the upper half: bytes of an index */
	uint16_t words;		/* bytes of the stream that it takes */
	union {
		int64_t imm;
		const struct mx_node *target;	/* MD_GOTO; MD_IF: if the condition is true */
	};
	union {
		uint64_t insn;	/* address in the program */
		const struct mx_node *other;	/* MD_IF: if it is not */
	};
};
_Static_assert(sizeof(struct mx_op) == 32, "mx_op");

struct mx_node {
	const struct mx_op *ops;	/* nops + 1, the end included */
	uint32_t nops;			/* without the end */
	uint32_t id;
	uint16_t words;			/* bytes in the stream, header included */
	bool header;
	bool varies;			/* strings or lanes: not known beforehand how many accesses */
	uint32_t accesses;		/* the others */
	uint32_t live;			/* general registers that what follows the node reads, at its end */
};

struct mx_object {
	struct mx_object *next;
	struct mx_node *nodes;
	struct mx_op *ops;
	uint32_t first, nnodes;
	size_t op_bytes;
	uint64_t load;
};

struct mx_code {
	struct mx_allocator allocator;
	struct mx_object *objects;	/* published last; those in it stay */
};

static inline void *mx_alloc(const struct mx_code *code, size_t bytes)
{
	return code->allocator.alloc(code->allocator.arg, bytes);
}

static inline void mx_release(const struct mx_code *code, void *p, size_t bytes)
{
	if (p)
		code->allocator.release(code->allocator.arg, p, bytes);
}

/* The node of an id; NULL: none. */
const struct mx_node *mx_find(const struct mx_code *code, uint32_t id);

static inline const struct mx_op *mx_end(const struct mx_node *node)
{
	return &node->ops[node->nops];
}

/* ---- making it (memexpandcheck.c) ---- */

/* Is @op possible at all, wherever it stands?  The targets of an end are not looked at. */
bool mx_op_valid(const struct md_op *op);
/* Bytes of the stream that @op takes. */
uint32_t mx_op_words(const struct md_op *op);
/*
 * Translates @node, all of whose operations are valid, for @at, which has room for mx_node_room() of them.
 * False: it contradicts itself.
 */
uint32_t mx_node_room(const struct md_node *node, const struct md_op *ops);
bool mx_node_make(struct mx_object *object, uint64_t start, const struct md_node *node,
		  const struct md_op *ops, struct mx_op *at, struct mx_node *made);

/* ---- what is read (memexpandlive.c) ---- */

/* Sets `live` of all nodes. */
void mx_live(struct mx_object *object);
/* General registers that are read from @op of @node on, before they are written: what they are is known there. */
uint32_t mx_live_at(const struct mx_node *node, uint32_t op);

#endif
