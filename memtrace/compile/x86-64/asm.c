// SPDX-License-Identifier: GPL-3.0-or-later
#include "memtrace/compile/x86-64/asm.h"

#include <string.h>

#include "trampolines/insn/x86-64/encode.h"

_Static_assert((int)MTC_NONE == X86_NONE, "no register");

void mtc_u8(struct mtc_asm *a, uint8_t v)
{
	if (a->at < a->end)
		*a->at++ = v;
	else
		a->full = true;
}

static void bytes(struct mtc_asm *a, const void *v, unsigned int n)
{
	if ((uint64_t)(a->end - a->at) < n) {
		a->full = true;
		return;
	}
	memcpy(a->at, v, n);
	a->at += n;
}

void mtc_u32(struct mtc_asm *a, uint32_t v)
{
	bytes(a, &v, sizeof(v));
}

void mtc_u64(struct mtc_asm *a, uint64_t v)
{
	bytes(a, &v, sizeof(v));
}

/* Prefixes and opcode; r, x, b: the numbers whose fourth bits they are. */
static void head(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t r, uint8_t x, uint8_t b)
{
	uint8_t rex = x86_rex(width == 8, r, x, b);

	if (width == 2)
		mtc_u8(a, 0x66);
	/* With any REX, numbers 4 to 7 of byte registers are the low bytes of rsp, rbp, rsi, rdi. */
	if (rex != 0x40 || width == 1)
		mtc_u8(a, rex);
	if (op >> 8)
		mtc_u8(a, (uint8_t)(op >> 8));
	mtc_u8(a, (uint8_t)op);
}

void mtc_rm(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg, uint8_t rm)
{
	head(a, width, op, reg, 0, rm);
	mtc_u8(a, x86_modrm(3, reg, rm));
}

uint8_t *mtc_rm_rip(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg)
{
	head(a, width, op, reg, 0, 0);
	mtc_u8(a, x86_modrm(0, reg, 5));
	mtc_u32(a, 0);
	return a->at - 4;
}

void mtc_rm_mem(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg, struct mtc_mem m)
{
	struct x86_mem to = { .base = m.base, .index = m.index, .scale = m.scale, .disp = m.disp };
	uint8_t mem[X86_MEM_MAX];

	head(a, width, op, reg, m.index, m.base);
	bytes(a, mem, x86_put_mem(mem, reg, to, X86_DISP0));
}

void mtc_mov(struct mtc_asm *a, uint8_t dst, uint8_t src)
{
	if (dst != src)
		mtc_rm(a, 8, 0x8b, dst, src);
}

void mtc_imm(struct mtc_asm *a, uint8_t dst, uint64_t v)
{
	if (v <= UINT32_MAX) {
		if (dst >= 8)
			mtc_u8(a, 0x41);
		mtc_u8(a, (uint8_t)(0xb8 | (dst & 7)));
		mtc_u32(a, (uint32_t)v);
	} else if (mtc_fits((int64_t)v)) {
		mtc_rm(a, 8, 0xc7, 0, dst);
		mtc_u32(a, (uint32_t)v);
	} else {
		mtc_u8(a, dst >= 8 ? 0x49 : 0x48);
		mtc_u8(a, (uint8_t)(0xb8 | (dst & 7)));
		mtc_u64(a, v);
	}
}

void mtc_load(struct mtc_asm *a, uint8_t dst, struct mtc_mem m)
{
	mtc_rm_mem(a, 8, 0x8b, dst, m);
}

void mtc_store(struct mtc_asm *a, struct mtc_mem m, uint8_t src)
{
	mtc_rm_mem(a, 8, 0x89, src, m);
}

void mtc_lea(struct mtc_asm *a, uint8_t dst, struct mtc_mem m)
{
	mtc_rm_mem(a, 8, 0x8d, dst, m);
}

void mtc_alu_imm(struct mtc_asm *a, unsigned int width, unsigned int ext, uint8_t reg, int32_t v)
{
	if (width == 1) {
		mtc_rm(a, 1, 0x80, (uint8_t)ext, reg);
		mtc_u8(a, (uint8_t)v);
	} else if (v == (int8_t)v) {
		mtc_rm(a, width, 0x83, (uint8_t)ext, reg);
		mtc_u8(a, (uint8_t)v);
	} else {
		mtc_rm(a, width, 0x81, (uint8_t)ext, reg);
		if (width == 2) {
			mtc_u8(a, (uint8_t)v);
			mtc_u8(a, (uint8_t)(v >> 8));
		} else {
			mtc_u32(a, (uint32_t)v);
		}
	}
}

uint8_t *mtc_jmp(struct mtc_asm *a)
{
	mtc_u8(a, 0xe9);
	mtc_u32(a, 0);
	return a->at - 4;
}

uint8_t *mtc_jcc(struct mtc_asm *a, unsigned int cc)
{
	mtc_u8(a, 0x0f);
	mtc_u8(a, (uint8_t)(0x80 | cc));
	mtc_u32(a, 0);
	return a->at - 4;
}

void mtc_to(uint8_t *place, const uint8_t *target)
{
	int32_t distance = (int32_t)(target - (place + 4));

	memcpy(place, &distance, sizeof(distance));
}
