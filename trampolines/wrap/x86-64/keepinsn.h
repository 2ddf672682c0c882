/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one instruction does to the caller-saved registers and to the stack pointer. */
#ifndef SONDE_TRAMPOLINES_WRAP_X86_64_KEEPINSN_H
#define SONDE_TRAMPOLINES_WRAP_X86_64_KEEPINSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of parts of caller-saved registers:
 *
 *	 0.. 8	bits 0-7 of rax rcx rdx rsi rdi r8 r9 r10 r11
 *	 9..17	bits 8-15
 *	18..26	bits 16-63: whoever writes 32 bits writes all
 *	27..42	bits 0-127 of xmm0..15
 *	43..58	what AVX adds to them
 *	59	any of xmm16..31
 *	60	any mask register
 *
 * The last two stand for classes: a write to one of a class counts as one to all.
 */
typedef uint64_t keep_regs;

enum keep_gpr { KEEP_AX, KEEP_CX, KEEP_DX, KEEP_SI, KEEP_DI, KEEP_8, KEEP_9, KEEP_10, KEEP_11,
		KEEP_NGPR };

#define KEEP_LOW(i) (1ull << (i))
#define KEEP_MIDDLE(i) (1ull << ((i) + 9))
#define KEEP_HIGH(i) (1ull << ((i) + 18))
#define KEEP_GPR(i) (KEEP_LOW(i) | KEEP_MIDDLE(i) | KEEP_HIGH(i))
#define KEEP_XMM(i) (1ull << ((i) + 27))
#define KEEP_UPPER(i) (1ull << ((i) + 43))
#define KEEP_LOWS 0x1ffull
#define KEEP_UPPERS (0xffffull << 43)
#define KEEP_HIVEC (1ull << 59)
#define KEEP_MASKS (1ull << 60)
#define KEEP_ALL ((1ull << 61) - 1)

enum keep_flow {
	KEEP_NEXT,
	KEEP_JMP,		/* direct */
	KEEP_JCC,		/* direct, conditional */
	KEEP_CALL,		/* direct */
	KEEP_CALL_OUT,		/* through register or memory */
	KEEP_JMP_TABLE,		/* inside the function, by all appearances */
	KEEP_JMP_OUT,		/* through register or memory, to another function */
	KEEP_RET,
	KEEP_STOP,		/* ud2, hlt, int3 */
	KEEP_SYSCALL,		/* goes on behind itself */
	KEEP_BAD,		/* undecodable, or of no program */
};

/* What happens to RSP and RBP. */
enum keep_stack {
	KEEP_STACK_NONE,
	KEEP_STACK_MOVE,	/* rsp += amount */
	KEEP_STACK_ALIGN,	/* rsp is rounded down to a multiple of 16 or more */
	KEEP_STACK_TO_RBP,	/* rbp = rsp + amount */
	KEEP_STACK_FROM_RBP,	/* rsp = rbp + amount */
	KEEP_STACK_POP_RBP,	/* rsp += 8, rbp something else */
	KEEP_STACK_NO_RBP,	/* rbp = something else */
};

enum keep_base { KEEP_BASE_OTHER, KEEP_BASE_RSP, KEEP_BASE_RBP };

struct keep_op {
	keep_regs use;		/* parts read */
	keep_regs def;		/* parts written, nothing of them left */
	keep_regs touched;	/* parts written at all */
	uint64_t target;	/* of a direct branch */
	uint32_t at;		/* offset in the body */
	int32_t amount;		/* for `stack` */
	int32_t disp;		/* of the memory operand, if its base is the stack's or frame's */
	uint8_t length;
	uint8_t flow;		/* enum keep_flow */
	uint8_t stack;		/* enum keep_stack */
	uint8_t base;		/* enum keep_base: of the memory operand */
	bool canary;		/* compares with the stack protector's word */
	bool push;		/* stores a register by push */
	bool variadic;		/* test %al,%al */
	bool leader;		/* a jump may lead here */
};

/*
 * The instruction at code[0], which is at `addr`. *tables: registers that hold an address from a
 * jump table, bit = number; 0 at first, then what the instructions before left there.
 */
void tramp_keep_insn(const uint8_t *code, size_t avail, uint64_t addr, uint32_t *tables,
	       struct keep_op *op);

#endif
