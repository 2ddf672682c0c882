/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one place that decodes.  An instruction reduced to what moving it and following it takes; who wants more of it
 * (trampolines/flow: registers, trampolines/memory: operands) reads what Zydis says: zydis.h.
 */
#ifndef SONDE_TRAMPOLINES_INSN_X86_64_DECODE_H
#define SONDE_TRAMPOLINES_INSN_X86_64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/trampoline.h"

#define TRAMP_NO_REG 0xff /* where 0..15 are general registers */

struct tramp_decoded {
	uint8_t length;
	uint8_t kind;		/* enum tramp_op_kind */
	bool nop;		/* no effect at all, whatever its operands */
	bool unmovable;		/* of use only where it is */
	bool rip_relative;	/* disp_offset, rel are those of a memory operand */
	uint8_t disp_offset;	/* of a rel32 operand, or of a direct branch's displacement */
	uint8_t disp_size;	/* its bytes: 1 or 4; 0 = nothing relative */
	uint8_t modrm_offset;	/* 0 = no ModRM byte */
	int32_t rel;		/* relative to the instruction's end */
};

/* False: undecodable, or cut off by `avail`. */
bool tramp_decode(const uint8_t *code, size_t avail, struct tramp_decoded *insn);

/* Bytes of the endbr64 at code[0]: 4 or 0. */
size_t tramp_endbr64_size(const uint8_t *code, size_t avail);

/* Is it mov $15, %rax or %eax; syscall: what signal handlers return to, which unwinders know by its bytes? */
bool tramp_is_sigreturn(const uint8_t *code, size_t avail);

#endif
