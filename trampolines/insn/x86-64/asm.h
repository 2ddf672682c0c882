/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The few instructions that probes are made of, all on 64-bit operands.  Registers are numbered as in
 * enum of trampolines/flow/flow.h: the processor's own numbers.
 */
#ifndef SONDE_TRAMPOLINES_INSN_X86_64_ASM_H
#define SONDE_TRAMPOLINES_INSN_X86_64_ASM_H

#include <stdint.h>

#include "trampolines/trampoline.h"
#include "trampolines/insn/x86-64/emit.h"

enum asm_op {
	ASM_ADD_STORE = 0x01,	/* add reg, mem */
	ASM_SUB_LOAD = 0x2b,
	ASM_CMP_LOAD = 0x3b,	/* cmp mem, reg */
	ASM_CMP_STORE = 0x39,	/* cmp reg, mem */
	ASM_STORE = 0x89,
	ASM_LOAD = 0x8b,
	ASM_LEA = 0x8d,
};

enum asm_cc { ASM_B = 2, ASM_AE = 3, ASM_E = 4, ASM_NE = 5, ASM_BE = 6, ASM_A = 7, ASM_S = 8,
	      ASM_NS = 9 };

void asm_mov(struct tramp_out *out, unsigned int to, unsigned int from);
void asm_gs(struct tramp_out *out, enum asm_op op, unsigned int reg, int32_t offset);
void asm_gs_add(struct tramp_out *out, int32_t offset, int8_t value);
void asm_gs_sub32(struct tramp_out *out, int32_t offset, int32_t value);
void asm_gs_cmp0(struct tramp_out *out, int32_t offset);	/* cmpq $0, %gs:offset */
void asm_mem(struct tramp_out *out, enum asm_op op, unsigned int reg, unsigned int base, int32_t disp);
void asm_store_vector(struct tramp_out *out, unsigned int xmm, unsigned int base, int32_t disp); /* movq %xmm0..7, mem */
void asm_inc_mem(struct tramp_out *out, unsigned int base, int32_t disp); /* always 4 bytes of disp */
void asm_far(struct tramp_out *out, enum asm_op op, unsigned int reg, unsigned int base, int32_t disp); /* likewise */
void asm_cmp_mem(struct tramp_out *out, unsigned int base, int32_t disp, int32_t value);
void asm_cmp_byte(struct tramp_out *out, unsigned int base, uint8_t value); /* cmpb $value, (base) */
void asm_mov_imm32(struct tramp_out *out, unsigned int reg, int32_t value); /* sign-extended */
void asm_mov_imm64(struct tramp_out *out, unsigned int reg, uint64_t value);
void asm_test(struct tramp_out *out, unsigned int reg);
void asm_shl(struct tramp_out *out, unsigned int reg, uint8_t by);
void asm_shr(struct tramp_out *out, unsigned int reg, uint8_t by);
void asm_lea_sum(struct tramp_out *out, unsigned int to, unsigned int a, unsigned int b, int32_t disp);
void asm_fs_zero(struct tramp_out *out, unsigned int reg);	/* mov %fs:0, reg */
void asm_rdfsbase(struct tramp_out *out, unsigned int reg);
void asm_thread(struct tramp_out *out, enum tramp_thread_id id, unsigned int reg); /* either of them */
void asm_rdtsc(struct tramp_out *out);
void asm_flags_to_ax(struct tramp_out *out);	/* lahf; seto %al */
void asm_flags_from_ax(struct tramp_out *out);	/* clobbers al */

/* A branch to somewhere later: the offset of its 4 bytes; and what is emitted next is where that leads. */
uint32_t asm_jcc(struct tramp_out *out, enum asm_cc cc);
void asm_land(struct tramp_out *out, uint32_t ref);

/* Likewise, of one byte, not farther than 127 bytes. */
uint32_t asm_jrcxz(struct tramp_out *out);
void asm_land_short(struct tramp_out *out, uint32_t ref);

#endif
