// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What instructions on single bits compute, those that reverse bytes or bits, and those that read flags.
 */
#include "trampolines/memory/x86-64/facts.h"

enum { TEMP = MD_TEMP, OTHER_TEMP, CARRY = 2 /* the condition */ };

/* ---- by flags ---- */

static uint8_t condition(const struct mem_insn *in)
{
	return in->z.insn.opcode & 0xf;
}

static bool is_ordinary(const struct mem_insn *in)
{
	return in->z.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
}

static void note_cmov(struct mem_insn *in)
{
	uint8_t dst = mem_reg_of(&in->z.o[0]);

	if (is_ordinary(in) && mem_is_usable(&in->z.o[1]))
		mem_add_compute(in, (struct md_op){
			.code = MD_SELECT, .dst = dst, .base = dst, .index = mem_reg_of(&in->z.o[1]),
			.scale = condition(in), .width = mem_bytes_of(&in->z.o[0]),
		});
}

static void note_set(struct mem_insn *in)
{
	if (is_ordinary(in) && mem_is_usable(&in->z.o[0]))
		mem_add_compute(in, (struct md_op){
			.code = MD_SELECT, .dst = mem_reg_of(&in->z.o[0]), .base = MD_NONE,
			.index = MD_NONE, .scale = condition(in), .width = 1, .imm = 1,
		});
}

static void add_carry(struct mem_insn *in, uint8_t dst, int64_t imm, uint8_t width)
{
	mem_add_compute(in, (struct md_op){
		.code = MD_SELECT, .dst = dst, .base = MD_NONE, .index = MD_NONE, .scale = CARRY,
		.width = width, .imm = imm,
	});
}

/* dst + (b + carry) */
static void note_adc(struct mem_insn *in)
{
	uint8_t dst = mem_reg_of(&in->z.o[0]);
	const ZydisDecodedOperand *b = &in->z.o[1];

	if (!mem_is_usable(&in->z.o[0]) || !(mem_is_usable(b) || tramp_zydis_is_imm(b)))
		return;
	add_carry(in, TEMP, 1, 8);
	mem_add_lea(in, OTHER_TEMP, tramp_zydis_is_imm(b) ? MD_NONE : mem_reg_of(b),
		    tramp_zydis_is_imm(b) ? b->imm.value.s : 0, 8);
	mem_add_compute(in, (struct md_op){
		.code = MD_LEA, .dst = TEMP, .base = TEMP, .index = OTHER_TEMP, .width = 8,
	});
	mem_add_compute(in, (struct md_op){
		.code = MD_LEA, .dst = dst, .base = dst, .index = TEMP,
		.width = mem_bytes_of(&in->z.o[0]),
	});
}

/* (dst - carry) - b; of a register with itself, whatever it holds, what was borrowed. */
static void note_sbb(struct mem_insn *in)
{
	uint8_t dst = mem_reg_of(&in->z.o[0]), width = mem_bytes_of(&in->z.o[0]);
	const ZydisDecodedOperand *b = &in->z.o[1];

	if (!mem_is_usable(&in->z.o[0]) || !(mem_is_usable(b) || tramp_zydis_is_imm(b)))
		return;
	if (mem_is_same(in)) {
		add_carry(in, dst, -1, width);
		return;
	}
	add_carry(in, TEMP, -1, 8);
	mem_add_compute(in, (struct md_op){
		.code = MD_LEA, .dst = TEMP, .base = dst, .index = TEMP, .width = 8,
	});
	mem_add_compute(in, (struct md_op){
		.code = MD_SUB, .dst = dst, .base = TEMP,
		.index = tramp_zydis_is_imm(b) ? MD_NONE : mem_reg_of(b), .width = width,
		.imm = tramp_zydis_is_imm(b) ? b->imm.value.s : 0,
	});
}

/* ---- bits ---- */

/* Finds the bit, for the carry flag (memory/x86-64/facts-flags.c).  False: it is not known. */
static bool note_bit(struct mem_insn *in)
{
	const ZydisDecodedOperand *bit = &in->z.o[1];
	uint8_t width = mem_bytes_of(&in->z.o[0]);
	bool imm = tramp_zydis_is_imm(bit);

	if (!mem_is_usable(&in->z.o[0]) || !(imm || mem_is_usable(bit)) || width < 4)
		return false;
	mem_add_compute(in, (struct md_op){
		.code = MD_SHR, .dst = TEMP, .base = mem_reg_of(&in->z.o[0]),
		.index = imm ? MD_NONE : mem_reg_of(bit), .width = width,
		.imm = imm ? bit->imm.value.s : 0,
	});
	mem_add_compute(in, (struct md_op){
		.code = MD_AND, .dst = TEMP, .base = TEMP, .index = MD_NONE, .width = 8, .imm = 1,
	});
	return true;
}

static void note_set_bit(struct mem_insn *in, enum md_code code)
{
	uint8_t dst = mem_reg_of(&in->z.o[0]), width = mem_bytes_of(&in->z.o[0]);
	uint64_t bit = UINT64_C(1) << (in->z.o[1].imm.value.u & (width == 8 ? 63 : 31));

	if (tramp_zydis_is_imm(&in->z.o[1]) && note_bit(in))
		mem_add_compute(in, (struct md_op){
			.code = (uint8_t)code, .dst = dst, .base = dst, .index = MD_NONE,
			.width = width, .imm = (int64_t)(code == MD_AND ? ~bit : bit),
		});
}

static void note_bswap(struct mem_insn *in)
{
	uint8_t dst = mem_reg_of(&in->z.o[0]), width = mem_bytes_of(&in->z.o[0]);

	if (width >= 4)
		mem_add_compute(in, (struct md_op){
			.code = MD_BSWAP, .dst = dst, .base = dst, .index = MD_NONE, .width = width,
		});
}

/* To the left by @count, or to the right: to the left by its negative. */
static void note_rotate(struct mem_insn *in, const ZydisDecodedOperand *from,
			const ZydisDecodedOperand *count, bool right)
{
	struct md_op op = { .code = MD_ROL, .dst = mem_reg_of(&in->z.o[0]), .base = mem_reg_of(from),
			    .index = MD_NONE, .width = mem_bytes_of(&in->z.o[0]) };

	if (!mem_is_usable(&in->z.o[0]) || !mem_is_usable(from) ||
	    !(mem_is_usable(count) || tramp_zydis_is_imm(count)))
		return;
	if (tramp_zydis_is_imm(count)) {
		op.imm = right ? -count->imm.value.s : count->imm.value.s;
	} else if (!right) {
		op.index = mem_reg_of(count);
	} else {
		mem_add_compute(in, (struct md_op){
			.code = MD_SUB, .dst = TEMP, .base = MD_NONE, .index = mem_reg_of(count),
			.width = 8,
		});
		op.index = TEMP;
	}
	mem_add_compute(in, op);
}

/* ---- all ---- */

static bool note_bit_insn(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_BT:
		note_bit(in);
		return true;
	case ZYDIS_MNEMONIC_BTS:
		note_set_bit(in, MD_OR);
		return true;
	case ZYDIS_MNEMONIC_BTR:
		note_set_bit(in, MD_AND);
		return true;
	case ZYDIS_MNEMONIC_BTC:
		note_set_bit(in, MD_XOR);
		return true;
	case ZYDIS_MNEMONIC_BSWAP:
		note_bswap(in);
		return true;
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		note_rotate(in, &in->z.o[0], &in->z.o[1], in->z.insn.mnemonic == ZYDIS_MNEMONIC_ROR);
		return true;
	case ZYDIS_MNEMONIC_RORX:
		note_rotate(in, &in->z.o[1], &in->z.o[2], true);
		return true;
	case ZYDIS_MNEMONIC_ADC:
		note_adc(in);
		return true;
	case ZYDIS_MNEMONIC_SBB:
		note_sbb(in);
		return true;
	default:
		return false;
	}
}

static bool note_conditional(struct mem_insn *in)
{
	if (in->z.insn.meta.category == ZYDIS_CATEGORY_CMOV)
		note_cmov(in);
	else if (in->z.insn.meta.category == ZYDIS_CATEGORY_SETCC)
		note_set(in);
	else
		return false;
	return true;
}

bool mem_note_bits(struct mem_insn *in)
{
	return note_bit_insn(in) || note_conditional(in);
}
