/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * REX, ModRM and SIB bytes and displacements (Intel SDM volume 2, chapter 2), for all that emit code: the instructions that
 * each of them needs are its own.  Registers have the processor's numbers.
 */
#ifndef SONDE_TRAMPOLINES_INSN_X86_64_ENCODE_H
#define SONDE_TRAMPOLINES_INSN_X86_64_ENCODE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define X86_NONE 16 /* no base, no index */
#define X86_MEM_MAX 6

/* base + (index << scale) + disp; index is not 4 (rsp). */
struct x86_mem {
	uint8_t base, index, scale;
	int32_t disp;
};

/* At least how many bytes of displacement there are, where there is a base. */
enum x86_disp { X86_DISP0, X86_DISP8, X86_DISP32 };

/* 0x40 if none is needed.  For X86_NONE, 0. */
static inline uint8_t x86_rex(bool w, unsigned int reg, unsigned int index, unsigned int base)
{
	return (uint8_t)(0x40 | w << 3 | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 | (base >> 3 & 1));
}

static inline uint8_t x86_modrm(unsigned int mod, unsigned int reg, unsigned int rm)
{
	return (uint8_t)(mod << 6 | (reg & 7) << 3 | (rm & 7));
}

/* ModRM and what belongs to it, to @to, which has X86_MEM_MAX bytes.  Returns how many. */
static inline unsigned int x86_put_mem(uint8_t *to, unsigned int reg, struct x86_mem m, enum x86_disp least)
{
	enum { SP = 4, BP = 5 }; /* the low bits of what means SIB, and none, in their place */
	unsigned int mod = m.disp == (int8_t)m.disp ? X86_DISP8 : X86_DISP32, n = 0;
	bool sib = m.base == X86_NONE || m.index != X86_NONE || (m.base & 7) == SP;

	if (m.disp == 0 && (m.base & 7) != BP)
		mod = X86_DISP0;
	if (mod < least)
		mod = least;
	if (m.base == X86_NONE)
		mod = X86_DISP0;
	to[n++] = x86_modrm(mod, reg, sib ? SP : m.base);
	if (sib)
		to[n++] = x86_modrm(m.scale, m.index == X86_NONE ? SP : m.index, m.base == X86_NONE ? BP : m.base);
	if (mod == X86_DISP8) {
		to[n++] = (uint8_t)m.disp;
	} else if (mod == X86_DISP32 || m.base == X86_NONE) {
		memcpy(to + n, &m.disp, sizeof(m.disp));
		n += sizeof(m.disp);
	}
	return n;
}

#endif
