// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Index registers by conditional moves, carries, rotations and the like; the flags are set in the same block or in
 * another one.  What comes out is an index again.
 */
#include "config.h"

#include <string.h>

#include "tests/unit/mememit/mixpriv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* As in mememit_mix.c, with numbers 0, 2, 9 and 10. */
static const struct { ZydisRegister byte, half, whole, full; } indices[] = {
	{ ZYDIS_REGISTER_AL, ZYDIS_REGISTER_AX, ZYDIS_REGISTER_EAX, ZYDIS_REGISTER_RAX },
	{ ZYDIS_REGISTER_DL, ZYDIS_REGISTER_DX, ZYDIS_REGISTER_EDX, ZYDIS_REGISTER_RDX },
	{ ZYDIS_REGISTER_R9B, ZYDIS_REGISTER_R9W, ZYDIS_REGISTER_R9D, ZYDIS_REGISTER_R9 },
	{ ZYDIS_REGISTER_R10B, ZYDIS_REGISTER_R10W, ZYDIS_REGISTER_R10D, ZYDIS_REGISTER_R10 },
};

static const uint16_t moves[] = {
	ZYDIS_MNEMONIC_CMOVO, ZYDIS_MNEMONIC_CMOVNO, ZYDIS_MNEMONIC_CMOVB, ZYDIS_MNEMONIC_CMOVNB,
	ZYDIS_MNEMONIC_CMOVZ, ZYDIS_MNEMONIC_CMOVNZ, ZYDIS_MNEMONIC_CMOVBE, ZYDIS_MNEMONIC_CMOVNBE,
	ZYDIS_MNEMONIC_CMOVS, ZYDIS_MNEMONIC_CMOVNS, ZYDIS_MNEMONIC_CMOVP, ZYDIS_MNEMONIC_CMOVNP,
	ZYDIS_MNEMONIC_CMOVL, ZYDIS_MNEMONIC_CMOVNL, ZYDIS_MNEMONIC_CMOVLE, ZYDIS_MNEMONIC_CMOVNLE,
};

static const uint16_t sets[] = {
	ZYDIS_MNEMONIC_SETO, ZYDIS_MNEMONIC_SETNO, ZYDIS_MNEMONIC_SETB, ZYDIS_MNEMONIC_SETNB,
	ZYDIS_MNEMONIC_SETZ, ZYDIS_MNEMONIC_SETNZ, ZYDIS_MNEMONIC_SETBE, ZYDIS_MNEMONIC_SETNBE,
	ZYDIS_MNEMONIC_SETS, ZYDIS_MNEMONIC_SETNS, ZYDIS_MNEMONIC_SETP, ZYDIS_MNEMONIC_SETNP,
	ZYDIS_MNEMONIC_SETL, ZYDIS_MNEMONIC_SETNL, ZYDIS_MNEMONIC_SETLE, ZYDIS_MNEMONIC_SETNLE,
};

static ZydisEncoderOperand imm(int64_t value)
{
	ZydisEncoderOperand op = { .type = ZYDIS_OPERAND_TYPE_IMMEDIATE };

	op.imm.s = value;
	return op;
}

static void put2(struct mix *x, ZydisMnemonic mnemonic, ZydisEncoderOperand a, ZydisEncoderOperand b)
{
	mix_put(x, mnemonic, 0, 2, (const ZydisEncoderOperand[]){ a, b });
}

/* Flags, most often of what the reader knows. */
static void set_flags(struct mix *x, uint32_t i, uint32_t j)
{
	switch (mix_pick(x, 7)) {
	case 0:
		put2(x, ZYDIS_MNEMONIC_CMP, mix_memory(x, 4), imm(mix_pick(x, 100)));
		break;
	case 1:
		put2(x, ZYDIS_MNEMONIC_CMP, mix_reg(indices[i].byte), imm(mix_pick(x, 128)));
		break;
	case 2:
		put2(x, ZYDIS_MNEMONIC_TEST, mix_reg(indices[i].whole), mix_reg(indices[i].whole));
		break;
	case 3:
		put2(x, ZYDIS_MNEMONIC_SUB, mix_reg(indices[i].half), mix_reg(indices[j].half));
		break;
	case 4:
		put2(x, ZYDIS_MNEMONIC_ADD, mix_reg(indices[i].whole), imm(mix_pick(x, 64)));
		break;
	default:
		put2(x, ZYDIS_MNEMONIC_CMP, mix_reg(indices[i].full), mix_reg(indices[j].full));
	}
}

/* Past an instruction that leaves the flags as they are. */
static void skip(struct mix *x)
{
	size_t at;

	x->code[x->len++] = (uint8_t)(0x70 | mix_pick(x, 16));
	at = x->len++;
	put2(x, ZYDIS_MNEMONIC_MOV, mix_reg(ZYDIS_REGISTER_R11D), mix_memory(x, 4));
	x->code[at] = (uint8_t)(x->len - at - 1);
}

static void by_flags(struct mix *x, uint32_t i, uint32_t j)
{
	uint32_t cc = mix_pick(x, 16);

	switch (mix_pick(x, 6)) {
	case 0:
		mix_put(x, (ZydisMnemonic)sets[cc], 0, 1, (const ZydisEncoderOperand[]){ mix_reg(indices[i].byte) });
		break;
	case 1:
		put2(x, ZYDIS_MNEMONIC_SBB, mix_reg(indices[i].whole), mix_reg(indices[i].whole));
		break;
	case 2:
		put2(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_ADC : ZYDIS_MNEMONIC_SBB, mix_reg(indices[i].half),
		     mix_reg(indices[j].half));
		break;
	case 3:
		put2(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_ADC : ZYDIS_MNEMONIC_SBB, mix_reg(indices[i].full),
		     imm(mix_pick(x, 64)));
		break;
	case 4:
		put2(x, (ZydisMnemonic)moves[cc], mix_reg(indices[i].full), mix_memory(x, 8));
		break;
	default:
		put2(x, (ZydisMnemonic)moves[cc], mix_reg(indices[i].whole), mix_reg(indices[j].whole));
	}
}

static void by_bits(struct mix *x, uint32_t i, uint32_t j)
{
	static const uint16_t bits[] = { ZYDIS_MNEMONIC_BT, ZYDIS_MNEMONIC_BTS, ZYDIS_MNEMONIC_BTR,
					 ZYDIS_MNEMONIC_BTC };

	switch (mix_pick(x, 5)) {
	case 0:
		put2(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_ROL : ZYDIS_MNEMONIC_ROR, mix_reg(indices[i].half),
		     mix_pick(x, 2) ? mix_reg(ZYDIS_REGISTER_CL) : imm(mix_pick(x, 32)));
		break;
	case 1:
		mix_put(x, ZYDIS_MNEMONIC_BSWAP, 0, 1, (const ZydisEncoderOperand[]){ mix_reg(indices[i].full) });
		break;
	case 2:
		mix_put(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_MUL : ZYDIS_MNEMONIC_IMUL, 0, 1,
			(const ZydisEncoderOperand[]){ mix_reg(indices[j].whole) });
		break;
	case 3:
		put2(x, ZYDIS_MNEMONIC_BT, mix_reg(indices[i].full), mix_reg(indices[j].full));
		put2(x, ZYDIS_MNEMONIC_CMOVB, mix_reg(indices[i].full), mix_reg(indices[j].full));
		break;
	default:
		put2(x, (ZydisMnemonic)bits[mix_pick(x, COUNT(bits))], mix_reg(indices[i].whole), imm(mix_pick(x, 64)));
		put2(x, ZYDIS_MNEMONIC_SBB, mix_reg(indices[j].whole), imm(mix_pick(x, 8)));
	}
}

void mix_flags(struct mix *x)
{
	uint32_t i = mix_pick(x, COUNT(indices)), j = mix_pick(x, COUNT(indices));

	if (mix_pick(x, 3)) {
		set_flags(x, i, j);
		if (mix_pick(x, 3) == 0)
			skip(x);
		by_flags(x, i, j);
	} else {
		by_bits(x, i, j);
	}
	for (uint32_t k = 0; k < COUNT(indices); k++)
		put2(x, ZYDIS_MNEMONIC_AND, mix_reg(indices[k].whole), imm(127));
}
