// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The bytes that decide what an instruction is: prefixes, opcode, ModRM, SIB (Intel SDM volume 2,
 * chapter 2 and appendix A).  Taking a byte too many does no harm, so that an opcode which is not known
 * counts as one with ModRM.
 */
#include "trampolines/flow/x86-64/key.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	PREFIXES_MAX = 4,
	KEY_MAX = 8,
	ESCAPE = 0x0f,
	ESCAPE_38 = 0x38,
	ESCAPE_3A = 0x3a,
	AMD_3DNOW = 0x0f,	/* its opcode comes last */
	AMD_XOP = 0x8f,		/* also pop of memory, which nobody misses */
	APX_REX2 = 0xd5,
	VEX2 = 0xc5,
	VEX3 = 0xc4,
	EVEX = 0x62,
	VZERO = 0x77,
	RM_SIB = 4,
};

/* Opcodes without ModRM. */
static const bool plain[256] = {
	[0x04 ... 0x07] = true, [0x0c ... 0x0e] = true, [0x14 ... 0x17] = true,
	[0x1c ... 0x1f] = true, [0x24 ... 0x25] = true, [0x27] = true, [0x2c ... 0x2d] = true,
	[0x2f] = true, [0x34 ... 0x35] = true, [0x37] = true, [0x3c ... 0x3d] = true,
	[0x3f] = true, [0x50 ... 0x61] = true, [0x68] = true, [0x6a] = true,
	[0x6c ... 0x7f] = true, [0x90 ... 0xbf] = true, [0xc2 ... 0xc3] = true,
	[0xc8 ... 0xcf] = true, [0xd4] = true, [0xd6 ... 0xd7] = true, [0xe0 ... 0xef] = true,
	[0xf1] = true, [0xf4 ... 0xf5] = true, [0xf8 ... 0xfd] = true,
};

static const bool plain_0f[256] = {
	[0x05 ... 0x09] = true, [0x0b] = true, [0x0e] = true, [0x30 ... 0x37] = true,
	[0x77] = true, [0x80 ... 0x8f] = true, [0xa0 ... 0xa2] = true, [0xa8 ... 0xaa] = true,
	[0xc8 ... 0xcf] = true,
};

/* Also one that REX must not precede. */
static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64 ... 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

static size_t skip_escape(const uint8_t *code, size_t at, bool *modrm)
{
	uint8_t opcode = code[at++];

	if (opcode == AMD_3DNOW)
		return 0;
	if (opcode == ESCAPE_38 || opcode == ESCAPE_3A)
		at++;
	else
		*modrm = !plain_0f[opcode];
	return at;
}

/* After the opcode; 0: not known. */
static size_t skip_opcode(const uint8_t *code, size_t at, bool *modrm)
{
	uint8_t opcode = code[at++];

	*modrm = true;
	switch (opcode) {
	case ESCAPE:
		return skip_escape(code, at, modrm);
	case VEX2:
		*modrm = code[at + 1] != VZERO;
		return at + 2;
	case VEX3:
		*modrm = code[at + 2] != VZERO;
		return at + 3;
	case EVEX:
		return at + 4;
	case AMD_XOP:
	case APX_REX2:
		return 0;
	default:
		*modrm = !plain[opcode];
		return is_prefix(opcode) || (opcode & 0xf0) == 0x40 ? 0 : at;
	}
}

uint64_t tramp_flow_key(const uint8_t code[FLOW_KEY_BYTES])
{
	size_t at = 0;
	uint64_t key;
	bool modrm;

	while (is_prefix(code[at])) {
		if (++at > PREFIXES_MAX)
			return 0;
	}
	if ((code[at] & 0xf0) == 0x40)
		at++;
	at = skip_opcode(code, at, &modrm);
	if (at == 0)
		return 0;
	if (modrm) {
		uint8_t byte = code[at++];

		if (byte >> 6 != 3 && (byte & 7) == RM_SIB)
			at++;
	}
	if (at > KEY_MAX)
		return 0;
	memcpy(&key, code, sizeof(key));
	return at == KEY_MAX ? key : key & ((UINT64_C(1) << (8 * at)) - 1);
}
