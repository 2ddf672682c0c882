// SPDX-License-Identifier: GPL-3.0-or-later
/* Encodings: Intel SDM volume 2, chapter 2 (REX, ModRM, SIB) and the instructions' own pages. */
#include "trampolines/insn/x86-64/asm.h"

#include <string.h>

enum { REX_W = 0x48, REX_R = 4, REX_X = 2, REX_B = 1, RSP = 4, GS = 0x65, FS = 0x64 };

static void rex(struct tramp_out *out, unsigned int reg, unsigned int index, unsigned int base)
{
	tramp_put_u8(out, (uint8_t)(REX_W | (reg & 8 ? REX_R : 0) | (index & 8 ? REX_X : 0) |
				    (base & 8 ? REX_B : 0)));
}

static void modrm(struct tramp_out *out, unsigned int mod, unsigned int reg, unsigned int rm)
{
	tramp_put_u8(out, (uint8_t)(mod << 6 | (reg & 7) << 3 | (rm & 7)));
}

/* disp(base), with 8 or 32 bits of displacement: rbp and r13 can have no other. */
static void mem(struct tramp_out *out, unsigned int reg, unsigned int base, int32_t disp, int wide)
{
	int small = !wide && disp == (int8_t)disp;

	modrm(out, small ? 1 : 2, reg, base);
	if ((base & 7) == RSP)
		tramp_put_u8(out, 0x24);
	if (small)
		tramp_put_u8(out, (uint8_t)disp);
	else
		tramp_put_u32(out, (uint32_t)disp);
}

/* An absolute address of 32 bits, for segments. */
static void absolute(struct tramp_out *out, unsigned int reg, int32_t offset)
{
	modrm(out, 0, reg, RSP);
	tramp_put_u8(out, 0x25);
	tramp_put_u32(out, (uint32_t)offset);
}

void asm_mov(struct tramp_out *out, unsigned int to, unsigned int from)
{
	rex(out, from, 0, to);
	tramp_put_u8(out, ASM_STORE);
	modrm(out, 3, from, to);
}

void asm_gs(struct tramp_out *out, enum asm_op op, unsigned int reg, int32_t offset)
{
	tramp_put_u8(out, GS);
	rex(out, reg, 0, 0);
	tramp_put_u8(out, (uint8_t)op);
	absolute(out, reg, offset);
}

void asm_gs_add(struct tramp_out *out, int32_t offset, int8_t value)
{
	tramp_put_u8(out, GS);
	rex(out, 0, 0, 0);
	tramp_put_u8(out, 0x83);
	absolute(out, 0, offset);
	tramp_put_u8(out, (uint8_t)value);
}

void asm_gs_sub32(struct tramp_out *out, int32_t offset, int32_t value)
{
	tramp_put_u8(out, GS);
	rex(out, 0, 0, 0);
	tramp_put_u8(out, 0x81);
	absolute(out, 5, offset);
	tramp_put_u32(out, (uint32_t)value);
}

void asm_gs_cmp0(struct tramp_out *out, int32_t offset)
{
	tramp_put_u8(out, GS);
	rex(out, 0, 0, 0);
	tramp_put_u8(out, 0x83);
	absolute(out, 7, offset);
	tramp_put_u8(out, 0);
}

void asm_mem(struct tramp_out *out, enum asm_op op, unsigned int reg, unsigned int base, int32_t disp)
{
	rex(out, reg, 0, base);
	tramp_put_u8(out, (uint8_t)op);
	mem(out, reg, base, disp, 0);
}

void asm_inc_mem(struct tramp_out *out, unsigned int base, int32_t disp)
{
	rex(out, 0, 0, base);
	tramp_put_u8(out, 0xff);
	mem(out, 0, base, disp, 1);
}

void asm_cmp_mem(struct tramp_out *out, unsigned int base, int32_t disp, int32_t value)
{
	rex(out, 7, 0, base);
	tramp_put_u8(out, 0x81);
	mem(out, 7, base, disp, 0);
	tramp_put_u32(out, (uint32_t)value);
}

void asm_mov_imm64(struct tramp_out *out, unsigned int reg, uint64_t value)
{
	rex(out, 0, 0, reg);
	tramp_put_u8(out, (uint8_t)(0xb8 | (reg & 7)));
	tramp_put_u64(out, value);
}

void asm_test(struct tramp_out *out, unsigned int reg)
{
	rex(out, reg, 0, reg);
	tramp_put_u8(out, 0x85);
	modrm(out, 3, reg, reg);
}

void asm_shl(struct tramp_out *out, unsigned int reg, uint8_t by)
{
	rex(out, 0, 0, reg);
	tramp_put_u8(out, 0xc1);
	modrm(out, 3, 4, reg);
	tramp_put_u8(out, by);
}

void asm_lea_sum(struct tramp_out *out, unsigned int to, unsigned int a, unsigned int b, int32_t disp)
{
	rex(out, to, b, a);
	tramp_put_u8(out, ASM_LEA);
	modrm(out, 2, to, RSP);
	tramp_put_u8(out, (uint8_t)((b & 7) << 3 | (a & 7)));
	tramp_put_u32(out, (uint32_t)disp);
}

void asm_fs_zero(struct tramp_out *out, unsigned int reg)
{
	tramp_put_u8(out, FS);
	rex(out, reg, 0, 0);
	tramp_put_u8(out, ASM_LOAD);
	absolute(out, reg, 0);
}

void asm_rdfsbase(struct tramp_out *out, unsigned int reg)
{
	tramp_put_u8(out, 0xf3);
	rex(out, 0, 0, reg);
	tramp_put_u8(out, 0x0f);
	tramp_put_u8(out, 0xae);
	modrm(out, 3, 0, reg);
}

void asm_thread(struct tramp_out *out, enum tramp_thread_id id, unsigned int reg)
{
	if (id == TRAMP_ID_FSBASE)
		asm_rdfsbase(out, reg);
	else
		asm_fs_zero(out, reg);
}

void asm_rdtsc(struct tramp_out *out)
{
	tramp_put_bytes(out, "\x0f\x31", 2);
}

void asm_flags_to_ax(struct tramp_out *out)
{
	tramp_put_bytes(out, "\x9f\x0f\x90\xc0", 4);
}

/* 0x7f + 1 overflows, 0x7f + 0 does not; sahf sets all the others. */
void asm_flags_from_ax(struct tramp_out *out)
{
	tramp_put_bytes(out, "\x04\x7f\x9e", 3);
}

uint32_t asm_jcc(struct tramp_out *out, enum asm_cc cc)
{
	tramp_put_u8(out, 0x0f);
	tramp_put_u8(out, (uint8_t)(0x80 | cc));
	tramp_put_u32(out, 0);
	return (uint32_t)out->len - 4;
}

void asm_land(struct tramp_out *out, uint32_t ref)
{
	uint32_t rel = (uint32_t)out->len - (ref + 4);

	if (out->status == TRAMP_OK)
		memcpy(out->buf + ref, &rel, sizeof(rel));
}
