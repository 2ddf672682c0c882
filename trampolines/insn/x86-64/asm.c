// SPDX-License-Identifier: GPL-3.0-or-later
/* Encodings: Intel SDM volume 2, chapter 2 (REX, ModRM, SIB) and the instructions' own pages. */
#include "trampolines/insn/x86-64/asm.h"

#include <string.h>

#include "trampolines/insn/x86-64/encode.h"

enum { GS = 0x65, FS = 0x64 };

static void rex(struct tramp_out *out, unsigned int reg, unsigned int index, unsigned int base)
{
	tramp_put_u8(out, x86_rex(true, reg, index, base));
}

static void modrm(struct tramp_out *out, unsigned int mod, unsigned int reg, unsigned int rm)
{
	tramp_put_u8(out, x86_modrm(mod, reg, rm));
}

static void mem(struct tramp_out *out, unsigned int reg, struct x86_mem m, enum x86_disp least)
{
	uint8_t bytes[X86_MEM_MAX];

	tramp_put_bytes(out, bytes, x86_put_mem(bytes, reg, m, least));
}

static void based(struct tramp_out *out, unsigned int reg, unsigned int base, int32_t disp, enum x86_disp least)
{
	mem(out, reg, (struct x86_mem){ .base = (uint8_t)base, .index = X86_NONE, .disp = disp }, least);
}

/* An absolute address of 32 bits, for segments. */
static void absolute(struct tramp_out *out, unsigned int reg, int32_t offset)
{
	mem(out, reg, (struct x86_mem){ .base = X86_NONE, .index = X86_NONE, .disp = offset }, X86_DISP32);
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
	based(out, reg, base, disp, X86_DISP8);
}

void asm_far(struct tramp_out *out, enum asm_op op, unsigned int reg, unsigned int base, int32_t disp)
{
	rex(out, reg, 0, base);
	tramp_put_u8(out, (uint8_t)op);
	based(out, reg, base, disp, X86_DISP32);
}

void asm_store_vector(struct tramp_out *out, unsigned int xmm, unsigned int base, int32_t disp)
{
	tramp_put_u8(out, 0x66);
	tramp_put_u8(out, x86_rex(false, xmm, 0, base));
	tramp_put_bytes(out, "\x0f\xd6", 2);
	based(out, xmm, base, disp, X86_DISP8);
}

void asm_inc_mem(struct tramp_out *out, unsigned int base, int32_t disp)
{
	rex(out, 0, 0, base);
	tramp_put_u8(out, 0xff);
	based(out, 0, base, disp, X86_DISP32);
}

void asm_cmp_mem(struct tramp_out *out, unsigned int base, int32_t disp, int32_t value)
{
	rex(out, 7, 0, base);
	tramp_put_u8(out, 0x81);
	based(out, 7, base, disp, X86_DISP8);
	tramp_put_u32(out, (uint32_t)value);
}

void asm_cmp_byte(struct tramp_out *out, unsigned int base, uint8_t value)
{
	rex(out, 7, 0, base);
	tramp_put_u8(out, 0x80);
	based(out, 7, base, 0, X86_DISP8);
	tramp_put_u8(out, value);
}

void asm_mov_imm32(struct tramp_out *out, unsigned int reg, int32_t value)
{
	rex(out, 0, 0, reg);
	tramp_put_u8(out, 0xc7);
	modrm(out, 3, 0, reg);
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

static void shift(struct tramp_out *out, unsigned int how, unsigned int reg, uint8_t by)
{
	rex(out, 0, 0, reg);
	tramp_put_u8(out, 0xc1);
	modrm(out, 3, how, reg);
	tramp_put_u8(out, by);
}

void asm_shl(struct tramp_out *out, unsigned int reg, uint8_t by)
{
	shift(out, 4, reg, by);
}

void asm_shr(struct tramp_out *out, unsigned int reg, uint8_t by)
{
	shift(out, 5, reg, by);
}

void asm_lea_sum(struct tramp_out *out, unsigned int to, unsigned int a, unsigned int b, int32_t disp)
{
	rex(out, to, b, a);
	tramp_put_u8(out, ASM_LEA);
	mem(out, to, (struct x86_mem){ .base = (uint8_t)a, .index = (uint8_t)b, .disp = disp }, X86_DISP32);
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

uint32_t asm_jrcxz(struct tramp_out *out)
{
	tramp_put_bytes(out, "\xe3\x00", 2);
	return (uint32_t)out->len - 1;
}

void asm_land_short(struct tramp_out *out, uint32_t ref)
{
	if (out->status == TRAMP_OK)
		out->buf[ref] = (uint8_t)(out->len - (ref + 1));
}

void asm_land(struct tramp_out *out, uint32_t ref)
{
	uint32_t rel = (uint32_t)out->len - (ref + 4);

	if (out->status == TRAMP_OK)
		memcpy(out->buf + ref, &rel, sizeof(rel));
}
