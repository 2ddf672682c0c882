/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What struct tramp_flow keeps for itself, and the steps of building it. */
#ifndef SONDE_TRAMPOLINES_FLOW_PRIVATE_H
#define SONDE_TRAMPOLINES_FLOW_PRIVATE_H

#include "trampolines/flow/flow.h"
#include "trampolines/flow/code.h"
#include "trampolines/flow/x86-64/insn.h"

#define FLOW_REGS6(a, b, c, d, e, f) \
	(TRAMP_REG(a) | TRAMP_REG(b) | TRAMP_REG(c) | TRAMP_REG(d) | TRAMP_REG(e) | TRAMP_REG(f))

/* Vectors of these numbers, bit = number. */
#define FLOW_VECTORS(set) ((tramp_regs)(set) << TRAMP_XMM | (tramp_regs)(set) << TRAMP_UPPER)

/* System V ABI, AMD64 supplement, figure 3.4. */
#define FLOW_ARGS \
	(FLOW_REGS6(TRAMP_RDI, TRAMP_RSI, TRAMP_RDX, TRAMP_RCX, TRAMP_R8, TRAMP_R9) | \
	 TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_R10) | FLOW_VECTORS(0xff))
#define FLOW_SAVED \
	(FLOW_REGS6(TRAMP_RBX, TRAMP_RBP, TRAMP_R12, TRAMP_R13, TRAMP_R14, TRAMP_R15) | \
	 TRAMP_REG(TRAMP_RSP) | TRAMP_REG(TRAMP_DF))
#define FLOW_ABI_CLOBBERS (FLOW_ARGS | TRAMP_REG(TRAMP_R11) | TRAMP_STATUS | TRAMP_VECTORS)

/* Given away by the ABI, and no result. */
#define FLOW_FREE_GPRS \
	(FLOW_REGS6(TRAMP_RCX, TRAMP_RSI, TRAMP_RDI, TRAMP_R8, TRAMP_R9, TRAMP_R10) | \
	 TRAMP_REG(TRAMP_R11))
#define FLOW_FREE_AT_EXIT (FLOW_FREE_GPRS | (TRAMP_VECTORS & ~FLOW_VECTORS(3)))

/* A piece of the function: contiguous bytes. */
struct flow_range {
	uint64_t addr;
	const uint8_t *bytes;
	size_t left;		/* bytes from addr on, >= len */
	uint32_t len;
	uint32_t padding;	/* bytes after it that belong to nobody */
	uint32_t first;		/* index of its first byte in marks[] */
};

enum flow_mark {
	FLOW_MARK_OP = 1,	/* an instruction starts */
	FLOW_MARK_LEADER = 2,	/* a block does */
};

struct flow_buffer {
	void *items;
	size_t bytes;
};

struct flow_priv {
	struct flow_decoder *decoder;
	bool borrowed;		/* another flow's */
	struct flow_range *ranges; /* ascending */
	size_t nranges;
	uint32_t nbytes;	/* of all ranges */
	struct flow_buffer range_room, mark_room, stack_room, op_room, block_room, loop_room, work_room,
		work2_room;
	tramp_regs saved, loaded; /* to the stack and from there */
	uint8_t *marks;		/* enum flow_mark, for each byte */
	uint32_t *stack;	/* offsets still to be decoded */
	size_t nstack;
	bool jumps;		/* there are indirect jumps, but for those through the GOT */
};

/* At least `n` items of `size` bytes; what was in is kept.  NULL: no memory. */
void *tramp_flow_reserve(struct flow_buffer *buffer, size_t n, size_t size) TRAMP_MUST_CHECK;

/* The range that holds an address, or NULL. */
struct flow_range *tramp_flow_range(const struct flow_priv *p, uint64_t addr);

/* The instruction at an offset of the function. */
bool tramp_flow_insn_at(const struct tramp_flow *flow, uint32_t off, struct flow_insn *insn,
			const uint8_t **bytes);

/* How blocks end, but for indirect jumps; what the function's calls and instructions destroy. */
void tramp_flow_ends(struct tramp_flow *flow);

/* What the indirect jumps of the function are.  False: no memory. */
bool tramp_flow_jumps(struct tramp_flow *flow) TRAMP_MUST_CHECK;

#define FLOW_HEIGHT_UNKNOWN INT32_MAX

/* Where a register points on the stack. */
struct flow_level {
	int32_t height;		/* bytes below RSP at the function's entry */
	uint8_t low;		/* the address modulo 16, if RSP was 8 at the entry */
	bool aligned;		/* `low` holds whatever it was */
};

struct flow_stack {
	struct flow_level rsp, rbp;
	bool has_rbp;		/* rbp points to the stack */
};

#define FLOW_STACK_AT_ENTRY ((struct flow_stack){ .rsp = { .low = 8 } })

/* What an instruction, which is none that leaves the function, does to the stack. */
void tramp_flow_stack(struct flow_stack *stack, const struct flow_insn *insn, const uint8_t *bytes);

static inline struct flow_priv *flow_priv(const struct tramp_flow *flow)
{
	return flow->priv;
}

static inline uint64_t flow_addr(const struct tramp_flow *flow, uint32_t off)
{
	return flow->code->base + off;
}

static inline const struct tramp_op *flow_last_op(const struct tramp_flow *flow,
						  const struct tramp_block *b)
{
	return &flow->ops[b->op + b->nops - 1];
}

#endif
