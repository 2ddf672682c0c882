// SPDX-License-Identifier: GPL-3.0-or-later
/* Which instructions change the course of events: opcodes from the Intel manual, volume 2, appendix A. */
#include "tests/oracle/oracle.h"

static bool legacy_prefix(uint8_t b)
{
	switch (b) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65:
	case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3:
		return true;
	}
	return false;
}

/* Bytes of ModRM, SIB and displacement. */
static unsigned int modrm_len(const uint8_t *p)
{
	unsigned int mod = p[0] >> 6, rm = p[0] & 7;

	if (mod == 3)
		return 1;
	if (mod == 0 && rm == 5)
		return 5;
	if (rm == 4)
		return 2 + (mod == 1 ? 1 : mod == 2 || (p[1] & 7) == 5 ? 4 : 0);
	return 1 + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static enum insn one_byte(uint8_t op, unsigned int *len)
{
	*len = 0;
	switch (op) {
	case 0xc3: *len = 1; return INSN_RET;
	case 0xc2: *len = 3; return INSN_RET;
	case 0xe8: *len = 5; return INSN_CALL;
	case 0xe9: *len = 5; return INSN_JMP;
	case 0xeb: *len = 2; return INSN_JMP;
	case 0xcc: case 0xcd: case 0xf1: return INSN_TRAP;
	}
	if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0) {
		*len = 2;
		return INSN_JCC;
	}
	return INSN_OTHER;
}

enum insn insn_read(const uint8_t *bytes, size_t left, unsigned int *len)
{
	uint8_t p[32] = { 0 };
	unsigned int n = 0;
	enum insn kind;

	for (size_t i = 0; i < left && i < 16; i++)
		p[i] = bytes[i];
	while (n < 14 && legacy_prefix(p[n]))
		n++;
	if ((p[n] & 0xf0) == 0x40)
		n++;
	kind = one_byte(p[n], len);
	if (p[n] == 0x0f && p[n + 1] == 0x05) {
		*len = 2;
		kind = INSN_SYSCALL;
	} else if (p[n] == 0x0f && (p[n + 1] & 0xf0) == 0x80) {
		*len = 6;
		kind = INSN_JCC;
	} else if (p[n] == 0xff && (p[n + 1] >> 3 & 7) >= 2 && (p[n + 1] >> 3 & 7) <= 5) {
		*len = 1 + modrm_len(p + n + 1);
		kind = (p[n + 1] >> 3 & 7) <= 3 ? INSN_CALL : INSN_JMP;
	}
	if (*len)
		*len += n;
	return kind;
}
