/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions that compiled descriptions are made of (trampolines/x86-64/memcompile.h); Intel's manual, vol. 2. */
#ifndef SONDE_TRAMPOLINES_X86_64_MEMCOMPILEASM_H
#define SONDE_TRAMPOLINES_X86_64_MEMCOMPILEASM_H

#include <stdbool.h>
#include <stdint.h>

enum mxc_reg {
	MXC_RAX, MXC_RCX, MXC_RDX, MXC_RBX, MXC_RSP, MXC_RBP, MXC_RSI, MXC_RDI,
	MXC_R8, MXC_R9, MXC_R10, MXC_R11, MXC_R12, MXC_R13, MXC_R14, MXC_R15,
	MXC_NONE,
};

/* What does not fit any more is dropped, and `full` says so. */
struct mxc_asm {
	uint8_t *at, *end;
	bool full;
};

/* base + (index << scale) + disp; base and index may be MXC_NONE, index not MXC_RSP. */
struct mxc_mem {
	uint8_t base, index, scale;
	int32_t disp;
};

void mxc_u8(struct mxc_asm *a, uint8_t v);
void mxc_u32(struct mxc_asm *a, uint32_t v);
void mxc_u64(struct mxc_asm *a, uint64_t v);

/*
 * An instruction with a ModRM byte.  @op: its opcode, with 0x0f00 for those of two bytes; @width: 8: REX.W, 2: prefix 66,
 * 1: byte registers; @reg: register, or opcode extension.
 */
void mxc_rm(struct mxc_asm *a, unsigned int width, unsigned int op, uint8_t reg, uint8_t rm);
void mxc_rm_mem(struct mxc_asm *a, unsigned int width, unsigned int op, uint8_t reg, struct mxc_mem m);
/* With an address relative to the next instruction; returns where its 4 bytes are. */
uint8_t *mxc_rm_rip(struct mxc_asm *a, unsigned int width, unsigned int op, uint8_t reg);

/* Register to register, both 64 bits. */
void mxc_mov(struct mxc_asm *a, uint8_t dst, uint8_t src);
/* In the shortest form; flags stay. */
void mxc_imm(struct mxc_asm *a, uint8_t dst, uint64_t v);
void mxc_load(struct mxc_asm *a, uint8_t dst, struct mxc_mem m);
void mxc_store(struct mxc_asm *a, struct mxc_mem m, uint8_t src);
void mxc_lea(struct mxc_asm *a, uint8_t dst, struct mxc_mem m);
/* @ext: of opcodes 81 and 83, 0 add ... 7 cmp; at @width. */
void mxc_alu_imm(struct mxc_asm *a, unsigned int width, unsigned int ext, uint8_t reg, int32_t v);

/* With room for 4 bytes of distance, whose place is returned. */
uint8_t *mxc_jmp(struct mxc_asm *a);
uint8_t *mxc_jcc(struct mxc_asm *a, unsigned int cc);
/* Sets such a distance. */
void mxc_to(uint8_t *place, const uint8_t *target);

static inline bool mxc_fits(int64_t v)
{
	return v == (int32_t)v;
}

#endif
