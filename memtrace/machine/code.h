/* SPDX-License-Identifier: MIT */
/*
 * Descriptions (memtrace/description.h) in the form in which the machine of memtrace/machine.h runs them.
 */
#ifndef SONDE_MEMTRACE_MACHINE_CODE_H
#define SONDE_MEMTRACE_MACHINE_CODE_H

#include <stdbool.h>

#include "memtrace/machine.h"

enum {
	MT_ZERO = MD_REGS,	/* a slot after the registers that is always 0: what MD_NONE becomes */
	MT_SLOTS = 24,
	/* After the registers, for loops; see memtrace/machine/loop.h. */
	MT_CUTS = 12,
	MT_SYM_CUT = MT_SLOTS,
	MT_SYM_VALUE = MT_SYM_CUT + MT_CUTS,
};

struct mt_node;
struct mt_loop;

/* An operation.  MD_SIZE is gone, and so is MD_OBJECT where an immediate can hold it. */
struct mt_op {
	uint8_t code;		/* enum md_code, enum mt_fast_code */
	uint8_t dst;		/* register; MD_FLAGS, MD_STRING: as in md_op; lanes: how many */
	uint8_t base, index;	/* slots */
	uint8_t scale, width;
	uint16_t offset;	/* of the instruction from the node's start */
	uint32_t size;		/* from here to `words`: as in struct mt_access */
	uint8_t kind;
	uint8_t lanes;		/* enum md_mask; the upper half: bytes of an index */
	uint16_t words;		/* bytes of the stream that it takes */
	union {
		int64_t imm;
		const struct mt_node *target;	/* MD_GOTO; MD_IF: if the condition is true; MD_PEEK: if it is the next */
	};
	union {
		uint64_t insn;	/* address in the program */
		const struct mt_node *other;	/* MD_IF, MD_PEEK: if not */
	};
};
_Static_assert(sizeof(struct mt_op) == 32, "mt_op");

struct mt_node {
	const struct mt_op *ops;	/* nops + 1, the end included */
	uint32_t nops;			/* without the end */
	uint32_t id;
	uint16_t words;			/* bytes in the stream, header included */
	bool header;
	bool varies;			/* strings or lanes: not known beforehand how many accesses */
	bool reads_flags;		/* that were set before it */
	bool peeks;			/* ends with MD_PEEK */
	bool compiles;			/* it may be: see memtrace/machine/verify.h */
	uint32_t accesses;		/* the others */
	uint16_t live_in, live_out;	/* general registers that are read from its beginning, its end on, before they are written */
	/* For nodes that are run as a whole; NULL: it cannot be. */
	const struct mt_op *fast;	/* enum mt_fast_code */
	const struct mt_op *lean;	/* the same without accesses */
	uint64_t sums[2][2];		/* its accesses and bytes, see MT_PACKED; [1]: without the stack's */
	uint16_t weight;		/* how many times MT_PACKED_MAX each of them is at most, from 1 on */
	const struct mt_loop *loop;	/* it is a loop that can be computed; NULL: no */
};

/*
 * Loads, stores and modifications beside each other in a word.  Those of nodes of so much weight together can be added
 * without a carry; no node has more than MT_WEIGHT_MAX.
 */
enum { MT_PACKED_BITS = 21, MT_PACKED_MAX = 2047, MT_PACKED_WEIGHT = 1023, MT_WEIGHT_MAX = 16 };

struct mt_object {
	struct mt_object *next;
	struct mt_node *nodes;
	struct mt_op *ops;
	uint32_t first, nnodes;
	size_t op_bytes;
	uint64_t load;
	bool reads_flags;		/* one of the nodes does */
};

struct mt_code {
	struct mt_allocator allocator;
	struct mt_object *objects;	/* published last; those in it stay */
	bool fetches;			/* mt_code_fetches() */
	struct mt_engine *engine;	/* of its machines; NULL: none; see memtrace/machine/fast.h */
};

static inline void *mt_alloc(const struct mt_code *code, size_t bytes)
{
	return code->allocator.alloc(code->allocator.arg, bytes);
}

static inline void mt_release(const struct mt_code *code, void *p, size_t bytes)
{
	if (p)
		code->allocator.release(code->allocator.arg, p, bytes);
}

/* The node of an id; NULL: none. */
static inline const struct mt_node *mt_find(const struct mt_code *code, uint32_t id)
{
	const struct mt_object *object = __atomic_load_n(&code->objects, __ATOMIC_ACQUIRE);

	for (; object; object = object->next) {
		if (id - object->first < object->nnodes)
			return &object->nodes[id - object->first];
	}
	return NULL;
}

static inline const struct mt_op *mt_end(const struct mt_node *node)
{
	return &node->ops[node->nops];
}

/* ---- making it (machine/translate.c) ---- */

/* How many operations @node, which is verified, has then at most. */
uint32_t mt_translated_room(const struct md_node *node, const struct md_op *ops);
/* Puts them at @at, and sets what follows from them in @made. */
void mt_translate(struct mt_object *object, uint64_t start, const struct md_node *node, const struct md_op *ops,
		  struct mt_op *at, struct mt_node *made);

/* ---- as a whole (machine/fast.c) ---- */

enum mt_fast_code {
	MT_FAST_ACCESS,		/* at base + imm */
	MT_FAST_ACCESS_INDEX,
	MT_FAST_ACCESS_2,	/* this and the next are accesses */
	MT_FAST_ACCESS_3,
	MT_FAST_ACCESS_4,
	MT_FAST_VALUE,
	MT_FAST_VALUE_U32,
	MT_FAST_VALUE_S32,
	MT_FAST_ADD,		/* dst = base + imm */
	MT_FAST_LEA,
	MT_FAST_ADD4,
	MT_FAST_COMPUTE,	/* anything else; `lanes` is its code */
	MT_FAST_SUB_FLAGS,	/* b is index + imm; scale: struct mt_flags' shift */
	MT_FAST_AND_FLAGS,
	MT_FAST_GOTO,
	MT_FAST_PEEK,
	MT_FAST_NEXT,
	MT_FAST_IF,		/* + half of the condition, which is true for target */
	MT_FAST_IF_O = MT_FAST_IF,
	MT_FAST_IF_B,
	MT_FAST_IF_E,
	MT_FAST_IF_BE,
	MT_FAST_IF_S,
	MT_FAST_IF_P,
	MT_FAST_IF_L,
	MT_FAST_IF_LE,
	MT_FAST_CODES
};

/* Makes fast, lean and sums of @node at @at, which has room for 2 * (nops + 1); says how many it took. */
size_t mt_fast_make(struct mt_node *node, struct mt_op *at);

/* ---- loops (machine/loop.c) ---- */

/* Sets `loop`, if it can be one.  False: no memory. */
bool mt_loop_make(const struct mt_code *code, struct mt_node *node);
void mt_loop_free(const struct mt_code *code, struct mt_node *node);

/* ---- what is read (machine/live.c) ---- */

/* Sets `live` of all nodes. */
void mt_live(struct mt_object *object);
/* General registers that are read from @op of @node on, before they are written: what they are is known there. */
uint32_t mt_live_at(const struct mt_node *node, uint32_t op);

#endif
