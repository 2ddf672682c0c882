/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions that compiled descriptions are made of (memtrace/compile/x86-64/compile.h); Intel's manual, vol. 2. */
#ifndef SONDE_MEMTRACE_COMPILE_X86_64_ASM_H
#define SONDE_MEMTRACE_COMPILE_X86_64_ASM_H

#include <stdbool.h>
#include <stdint.h>

enum mtc_reg {
	MTC_RAX, MTC_RCX, MTC_RDX, MTC_RBX, MTC_RSP, MTC_RBP, MTC_RSI, MTC_RDI,
	MTC_R8, MTC_R9, MTC_R10, MTC_R11, MTC_R12, MTC_R13, MTC_R14, MTC_R15,
	MTC_NONE,
};

/* What does not fit any more is dropped, and `full` says so. */
struct mtc_asm {
	uint8_t *at, *end;
	bool full;
};

/* base + (index << scale) + disp; base and index may be MTC_NONE, index not MTC_RSP. */
struct mtc_mem {
	uint8_t base, index, scale;
	int32_t disp;
};

void mtc_u8(struct mtc_asm *a, uint8_t v);
void mtc_u32(struct mtc_asm *a, uint32_t v);
void mtc_u64(struct mtc_asm *a, uint64_t v);

/*
 * An instruction with a ModRM byte.  @op: its opcode, with 0x0f00 for those of two bytes; @width: 8: REX.W, 2: prefix 66,
 * 1: byte registers; @reg: register, or opcode extension.
 */
void mtc_rm(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg, uint8_t rm);
void mtc_rm_mem(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg, struct mtc_mem m);
/* With an address relative to the next instruction; returns where its 4 bytes are. */
uint8_t *mtc_rm_rip(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg);

/* Register to register, both 64 bits. */
void mtc_mov(struct mtc_asm *a, uint8_t dst, uint8_t src);
/* In the shortest form; flags stay. */
void mtc_imm(struct mtc_asm *a, uint8_t dst, uint64_t v);
void mtc_load(struct mtc_asm *a, uint8_t dst, struct mtc_mem m);
void mtc_store(struct mtc_asm *a, struct mtc_mem m, uint8_t src);
void mtc_lea(struct mtc_asm *a, uint8_t dst, struct mtc_mem m);
/* @ext: of opcodes 81 and 83, 0 add ... 7 cmp; at @width. */
void mtc_alu_imm(struct mtc_asm *a, unsigned int width, unsigned int ext, uint8_t reg, int32_t v);

/* With room for 4 bytes of distance, whose place is returned. */
uint8_t *mtc_jmp(struct mtc_asm *a);
uint8_t *mtc_jcc(struct mtc_asm *a, unsigned int cc);
/* Sets such a distance. */
void mtc_to(uint8_t *place, const uint8_t *target);

static inline bool mtc_fits(int64_t v)
{
	return v == (int32_t)v;
}

#endif
