// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Stores into the stream; none of them changes flags.  Encodings: Intel SDM volume 2, chapter 2,
 * and the pages of MOV, MOVUPS, MOVLPS, KMOV, MOVQ.
 */
#include "trampolines/insn/x86-64/encode.h"
#include "trampolines/memory/x86-64/emit.h"

enum {
	MOV_STORE = 0x89, MOV_IMM = 0xc7,
	MOVUPS_STORE = 0x11, MOVLPS_STORE = 0x13, MOVQ_STORE = 0x7f, KMOV_STORE = 0x91,
};

/* disp(base), as short as it can be; @wide: always with 32 bits. */
static void put_mem(struct tramp_out *out, unsigned int reg, unsigned int base, int32_t disp, bool wide)
{
	struct x86_mem m = { .base = (uint8_t)base, .index = X86_NONE, .disp = disp };
	uint8_t bytes[X86_MEM_MAX];

	tramp_put_bytes(out, bytes, x86_put_mem(bytes, reg, m, wide ? X86_DISP32 : X86_DISP0));
}

static void put_rex(struct tramp_out *out, unsigned int reg, unsigned int base, bool wide)
{
	uint8_t rex = x86_rex(wide, reg, 0, base);

	if (rex != 0x40)
		tramp_put_u8(out, rex);
}

void mem_put_id(struct tramp_out *out, unsigned int base, int32_t at, uint32_t id)
{
	put_rex(out, 0, base, false);
	tramp_put_u8(out, MOV_IMM);
	put_mem(out, 0, base, at, false);
	tramp_put_u32(out, id);
}

void mem_put_store(struct tramp_out *out, unsigned int reg, unsigned int base, int32_t at, bool wide)
{
	put_rex(out, reg, base, wide);
	tramp_put_u8(out, MOV_STORE);
	put_mem(out, reg, base, at, false);
}

/* ---- vector registers ---- */

static void put_legacy(struct tramp_out *out, uint8_t opcode, unsigned int reg, unsigned int base, int32_t at)
{
	put_rex(out, reg, base, false);
	tramp_put_u8(out, 0x0f);
	tramp_put_u8(out, opcode);
	put_mem(out, reg, base, at, false);
}

/* Map 0F, no prefix, no second source. */
static void put_vex(struct tramp_out *out, uint8_t opcode, bool w, unsigned int length, unsigned int reg,
		    unsigned int base, int32_t at)
{
	tramp_put_u8(out, 0xc4);
	tramp_put_u8(out, (uint8_t)((reg & 8 ? 0 : 0x80) | 0x40 | (base & 8 ? 0 : 0x20) | 1));
	tramp_put_u8(out, (uint8_t)((w ? 0x80 : 0) | 0x78 | length << 2));
	tramp_put_u8(out, opcode);
	put_mem(out, reg, base, at, false);
}

/* A displacement of 8 bits would be scaled. */
static void put_evex(struct tramp_out *out, uint8_t opcode, unsigned int length, unsigned int reg,
		     unsigned int base, int32_t at)
{
	tramp_put_u8(out, 0x62);
	tramp_put_u8(out, (uint8_t)((reg & 8 ? 0 : 0x80) | 0x40 | (base & 8 ? 0 : 0x20) |
				    (reg & 16 ? 0 : 0x10) | 1));
	tramp_put_u8(out, 0x7c);
	tramp_put_u8(out, (uint8_t)(length << 5 | 8));
	tramp_put_u8(out, opcode);
	put_mem(out, reg, base, at, true);
}

static void put_vector(struct tramp_out *out, uint8_t opcode, unsigned int length, unsigned int reg,
		       unsigned int base, int32_t at, bool vex)
{
	if (reg >= 16 || length == 2)
		put_evex(out, opcode, length, reg, base, at);
	else if (vex || length)
		put_vex(out, opcode, false, length, reg, base, at);
	else
		put_legacy(out, opcode, reg, base, at);
}

/* Without AVX512BW masks have 16 bits. */
static void put_mask(struct tramp_out *out, unsigned int reg, unsigned int base, int32_t at)
{
	bool wide = __builtin_cpu_supports("avx512bw");

	if (!wide) {
		put_rex(out, 0, base, true);
		tramp_put_u8(out, MOV_IMM);
		put_mem(out, 0, base, at, false);
		tramp_put_u32(out, 0);
	}
	put_vex(out, KMOV_STORE, wide, 0, reg, base, at);
}

void mem_put_extra(struct tramp_out *out, enum tramp_mem_store what, unsigned int reg, unsigned int base,
		   int32_t at, bool vex)
{
	switch (what) {
	case TRAMP_STORE_XMM:
		put_vector(out, MOVUPS_STORE, 0, reg, base, at, vex);
		break;
	case TRAMP_STORE_YMM:
		put_vector(out, MOVUPS_STORE, 1, reg, base, at, vex);
		break;
	case TRAMP_STORE_ZMM:
		put_vector(out, MOVUPS_STORE, 2, reg, base, at, vex);
		break;
	case TRAMP_STORE_XMM_LOW:
		put_vector(out, MOVLPS_STORE, 0, reg, base, at, vex);
		break;
	case TRAMP_STORE_MASK:
		put_mask(out, reg, base, at);
		break;
	case TRAMP_STORE_GPR_AFTER:
		mem_put_store(out, reg, base, at, true);
		break;
	case TRAMP_STORE_TIME: /* mem_put_time() */
		break;
	case TRAMP_STORE_MMX:
		put_legacy(out, MOVQ_STORE, reg, base, at);
		break;
	}
}
