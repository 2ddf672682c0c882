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
	/* Behind the registers, for loops; see trampolines/memexpandloop.h. */
	MX_CUTS = 12,
	MX_SYM_CUT = MX_SLOTS,
	MX_SYM_VALUE = MX_SYM_CUT + MX_CUTS,
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
	uint32_t size;		/* from here to `words`: as in struct mx_access; MD_PEEK: the first id that it looks for, of
				 * as many as `width` says */
	uint8_t kind;
	uint8_t lanes;		/* enum md_mask; the upper half: bytes of an index */
	uint16_t words;		/* bytes of the stream that it takes */
	union {
		int64_t imm;
		const struct mx_node *target;	/* MD_GOTO; MD_IF: if the condition is true; MD_PEEK: if one of its ids is the next word */
	};
	union {
		uint64_t insn;	/* address in the program */
		const struct mx_node *other;	/* MD_IF, MD_PEEK: if not */
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
	bool reads_flags;		/* that were set in front of it */
	bool peeks;			/* ends with MD_PEEK */
	uint32_t accesses;		/* the others */
	uint32_t live;			/* general registers that what follows the node reads, at its end */
	/* For nodes that are run as a whole; NULL: it cannot be. */
	const struct mx_op *fast;	/* enum mx_fast_code */
	const struct mx_op *lean;	/* the same without accesses */
	uint64_t sums[2][2];		/* its accesses and bytes, see MX_PACKED; [1]: without the stack's */
	const struct mx_loop *loop;	/* it comes behind itself, in a way that can be computed; NULL: no */
};

/* Loads, stores and modifications beside each other in a word; so many nodes' can be added without a carry. */
enum { MX_PACKED_BITS = 21, MX_PACKED_MAX = 2047, MX_PACKED_NODES = 1023 };

struct mx_object {
	struct mx_object *next;
	struct mx_node *nodes;
	struct mx_op *ops;
	uint32_t first, nnodes;
	size_t op_bytes;
	uint64_t load;
	bool reads_flags;		/* one of the nodes does */
};

struct mx_code {
	struct mx_allocator allocator;
	struct mx_object *objects;	/* published last; those in it stay */
	struct mx_engine *engine;	/* of its machines; NULL: none; see trampolines/memexpandfast.h */
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

/* Of MD_PEEK: does it look for its target's header, and no other? */
static inline bool mx_is_one(const struct mx_op *peek)
{
	return peek->width == 1 && peek->size == peek->target->id;
}

static inline bool mx_is_looked_for(const struct mx_op *peek, uint32_t word)
{
	return word - peek->size < peek->width;
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

/* ---- as a whole (memexpandfast.c) ---- */

enum mx_fast_code {
	MX_FAST_ACCESS,		/* at base + imm */
	MX_FAST_ACCESS_INDEX,
	MX_FAST_ACCESS_2,	/* this and the next are accesses */
	MX_FAST_ACCESS_3,
	MX_FAST_ACCESS_4,
	MX_FAST_VALUE,
	MX_FAST_VALUE_U32,
	MX_FAST_VALUE_S32,
	MX_FAST_ADD,		/* dst = base + imm */
	MX_FAST_LEA,
	MX_FAST_ADD4,
	MX_FAST_COMPUTE,	/* anything else; `lanes` is its code */
	MX_FAST_SUB_FLAGS,	/* b is index + imm; scale: struct mx_flags' shift */
	MX_FAST_AND_FLAGS,
	MX_FAST_GOTO,
	MX_FAST_PEEK,
	MX_FAST_NEXT,
	MX_FAST_IF,		/* + half of the condition, which is true for target */
	MX_FAST_IF_O = MX_FAST_IF,
	MX_FAST_IF_B,
	MX_FAST_IF_E,
	MX_FAST_IF_BE,
	MX_FAST_IF_S,
	MX_FAST_IF_P,
	MX_FAST_IF_L,
	MX_FAST_IF_LE,
	MX_FAST_CODES
};

/* Makes fast, lean and sums of @node at @at, which has room for 2 * (nops + 1); says how many it took. */
size_t mx_fast_make(struct mx_node *node, struct mx_op *at);

/* ---- loops (memexpandloop.c) ---- */

/* Sets `loop`, if it can be one.  False: no memory. */
bool mx_loop_make(const struct mx_code *code, struct mx_node *node);
void mx_loop_free(const struct mx_code *code, struct mx_node *node);

/* ---- what is read (memexpandlive.c) ---- */

/* Sets `live` of all nodes. */
void mx_live(struct mx_object *object);
/* General registers that are read from @op of @node on, before they are written: what they are is known there. */
uint32_t mx_live_at(const struct mx_node *node, uint32_t op);

#endif
