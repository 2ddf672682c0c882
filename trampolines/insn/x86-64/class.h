/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What kind of work an instruction does. */
#ifndef SONDE_TRAMPOLINES_INSN_X86_64_CLASS_H
#define SONDE_TRAMPOLINES_INSN_X86_64_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each instruction has one. */
enum tramp_class {
	TRAMP_CLASS_BRANCH,	/* jumps */
	TRAMP_CLASS_CALL,
	TRAMP_CLASS_RETURN,
	TRAMP_CLASS_INTEGER,	/* arithmetic, comparisons, conversions, lea */
	TRAMP_CLASS_LOGIC,	/* and, or, xor, not, test, bits */
	TRAMP_CLASS_SHIFT,	/* shifts and rotations */
	TRAMP_CLASS_MOVE,	/* moves, push and pop, of general registers; string instructions */
	TRAMP_CLASS_FLOAT,	/* arithmetic that counts as floating point operations */
	TRAMP_CLASS_VECTOR,	/* all else that is done in vector or x87 registers: moves, conversions, integers */
	TRAMP_CLASS_NOP,
	TRAMP_CLASS_SYSTEM,	/* system calls, traps, special registers, hints */
	TRAMP_CLASSES
};

/* Widths of vectors: 128, 256, 512 bits. */
#define TRAMP_WIDTHS 3

struct tramp_work {
	uint8_t class;		/* enum tramp_class */
	uint8_t flops;		/* floating point operations, of all lanes; two for a multiplication with an addition */
	bool scalar;		/* of those: of one lane */
	uint8_t width;		/* of a vector of several lanes that it works on: 1 to TRAMP_WIDTHS; 0: it does on none */
	bool of_floats;		/* these are floating point numbers */
};

/* False: no instruction, or cut off by @avail. */
bool tramp_work(const uint8_t *code, size_t avail, struct tramp_work *work);

#endif
