// SPDX-License-Identifier: GPL-3.0-or-later
#include "memtrace/compile/x86-64/asm.h"

#include <string.h>

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
	uint8_t rex = (uint8_t)((width == 8 ? 8 : 0) | (r >> 3 & 1) << 2 | (x >> 3 & 1) << 1 | (b >> 3 & 1));

	if (width == 2)
		mtc_u8(a, 0x66);
	/* With any REX, numbers 4 to 7 of byte registers are the low bytes of rsp, rbp, rsi, rdi. */
	if (rex || width == 1)
		mtc_u8(a, 0x40 | rex);
	if (op >> 8)
		mtc_u8(a, (uint8_t)(op >> 8));
	mtc_u8(a, (uint8_t)op);
}

void mtc_rm(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg, uint8_t rm)
{
	head(a, width, op, reg, 0, rm);
	mtc_u8(a, (uint8_t)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}

uint8_t *mtc_rm_rip(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg)
{
	head(a, width, op, reg, 0, 0);
	mtc_u8(a, (uint8_t)((reg & 7) << 3 | 5));
	mtc_u32(a, 0);
	return a->at - 4;
}

static void disp(struct mtc_asm *a, unsigned int mod, int32_t v)
{
	if (mod == 1)
		mtc_u8(a, (uint8_t)v);
	else if (mod == 2)
		mtc_u32(a, (uint32_t)v);
}

void mtc_rm_mem(struct mtc_asm *a, unsigned int width, unsigned int op, uint8_t reg, struct mtc_mem m)
{
	uint8_t base = m.base == MTC_NONE ? 0 : m.base, index = m.index == MTC_NONE ? 0 : m.index;
	uint8_t field = (uint8_t)((reg & 7) << 3);
	unsigned int mod = m.disp == (int8_t)m.disp ? 1 : 2;

	head(a, width, op, reg, index, base);
	if (m.base == MTC_NONE) {	/* SIB without a base */
		mtc_u8(a, field | 4);
		mtc_u8(a, (uint8_t)(m.scale << 6 | (m.index == MTC_NONE ? 4 : index & 7) << 3 | 5));
		mtc_u32(a, (uint32_t)m.disp);
		return;
	}
	if (m.disp == 0 && (base & 7) != MTC_RBP)
		mod = 0;
	if (m.index == MTC_NONE && (base & 7) != MTC_RSP) {
		mtc_u8(a, (uint8_t)(mod << 6 | field | (base & 7)));
	} else {
		mtc_u8(a, (uint8_t)(mod << 6 | field | 4));
		mtc_u8(a, (uint8_t)(m.scale << 6 | (m.index == MTC_NONE ? 4 : index & 7) << 3 | (base & 7)));
	}
	disp(a, mod, m.disp);
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
