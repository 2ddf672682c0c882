/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One instruction as control flow and liveness see it.
 *
 * Zydis decodes an instruction in some tenths of a microsecond; what it says depends, displacement and
 * immediate apart, on the bytes up to ModRM and SIB alone.  A decoder remembers it by these.
 */
#ifndef SONDE_TRAMPOLINES_FLOW_X86_64_INSN_H
#define SONDE_TRAMPOLINES_FLOW_X86_64_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/flow/flow.h"
#include "trampolines/insn/x86-64/decode.h"

/* What matters for jump tables and the height of the stack. */
enum flow_shape {
	FLOW_OTHER,
	FLOW_MOV,		/* reg = base, whole */
	FLOW_MOV_IMM,		/* reg = immediate */
	FLOW_LEA,		/* reg = address of the memory operand */
	FLOW_LOAD,		/* reg = memory, 64 bits */
	FLOW_LOAD_SHORT,	/* reg = memory, 32 bits */
	FLOW_ADD,		/* reg += something that is no immediate */
	FLOW_ADD_IMM,		/* reg += immediate */
	FLOW_SUB_IMM,
	FLOW_AND_IMM,
	FLOW_OR_IMM,
	FLOW_EXTEND,		/* reg = 32 bits of a register or of memory, sign-extended */
	FLOW_STORE,		/* memory = index register `reg`, 64 bits */
	FLOW_PUSH,		/* of `reg`, if it is one */
	FLOW_POP,
	FLOW_PUSHF,
	FLOW_POPF,
	FLOW_LEAVE,
	FLOW_SHIFT_IMM,		/* leaves the flags alone if the immediate is 0 */
};

struct flow_insn {
	tramp_regs use, def;	/* see struct tramp_op */
	tramp_regs idle;	/* of use: what no compiler means to read; see below */
	uint8_t len;		/* 0: no instruction */
	uint8_t kind;		/* enum tramp_op_kind */
	uint8_t rel_at, rel_len; /* offset of what is relative to RIP; 0: nothing */
	uint8_t disp_at, disp_len; /* of a memory operand; 0: none */
	uint8_t imm_at, imm_len; /* 0: none */
	uint8_t shape;		/* enum flow_shape */
	uint8_t reg;		/* 0..15 or TRAMP_NO_REG */
	uint8_t base, index;	/* of the memory operand, or the source: 0..15 or TRAMP_NO_REG */
	uint8_t scale;		/* 0 without an index */
	bool rip;		/* the memory operand is RIP-relative */
	bool memory;		/* has a memory operand that can be seen */
	bool word;		/* push, pop: of 2 bytes */
	bool thread;		/* the memory operand is a constant distance from FS */
};

/*
 * What is idle: who writes the lower 8 or 16 bits of a register has done with the rest, which the processor keeps;
 * so is what scalar operations leave of a vector.
 */

struct flow_decoder;

/* NULL: no memory. */
struct flow_decoder *tramp_flow_decoder_new(void);

/*
 * The instruction at code[0]; false: none, or cut off.  *insn with another len than 0 only then.
 */
bool tramp_flow_decode(struct flow_decoder *decoder, const uint8_t *code, size_t avail,
		       struct flow_insn *insn);

/* The sign-extended displacement, immediate, or relative operand at `at`. */
int64_t tramp_flow_field(const uint8_t *code, uint8_t at, uint8_t len);

/* Where a direct branch leads, or what a RIP-relative operand is. */
static inline uint64_t tramp_flow_target(const uint8_t *code, uint64_t addr,
					 const struct flow_insn *insn)
{
	return addr + insn->len + (uint64_t)tramp_flow_field(code, insn->rel_at, insn->rel_len);
}

#endif
