// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <cpuid.h>
#include <string.h>

#include "tests/unit/mememit/lanes.h"

/*
 * Components of the extended state, and where they are in a signal's frame: Intel SDM volume 1,
 * chapter 13.
 */
enum { YMM_HIGH = 2, MASKS = 5, ZMM_HIGH = 6, ZMM_16 = 7, HEADER_AT = 512, LEGACY_XMM_AT = 160 };

static const uint8_t *component(const ucontext_t *context, int number)
{
	static const uint8_t zeros[16 * 64];
	const uint8_t *area = (const uint8_t *)context->uc_mcontext.fpregs;
	unsigned int size, offset = 0, c, d;
	uint64_t present;

	memcpy(&present, area + HEADER_AT, sizeof(present));
	if (!(present >> number & 1))
		return zeros;
	__cpuid_count(0xd, (unsigned int)number, size, offset, c, d);
	return area + offset;
}

static void read_vector(const ucontext_t *context, unsigned int number, uint8_t *bytes)
{
	if (number >= 16) {
		memcpy(bytes, component(context, ZMM_16) + 64 * (number - 16), 64);
		return;
	}
	memcpy(bytes, (const uint8_t *)context->uc_mcontext.fpregs + LEGACY_XMM_AT + 16 * number, 16);
	memcpy(bytes + 16, component(context, YMM_HIGH) + 16 * number, 16);
	memcpy(bytes + 32, component(context, ZMM_HIGH) + 32 * number, 32);
}

static unsigned int vector_number(ZydisRegister reg)
{
	return (unsigned int)ZydisRegisterGetId(reg);
}

/* Lane i's bit: of a mask register, or the highest bit of a vector's lane. */
static uint64_t mask_bits(const ucontext_t *context, ZydisRegister reg, unsigned int lanes, unsigned int width)
{
	uint8_t bytes[64];
	uint64_t bits = 0;

	if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_MASK) {
		memcpy(&bits, component(context, MASKS) + 8 * vector_number(reg), sizeof(bits));
		return bits;
	}
	read_vector(context, vector_number(reg), bytes);
	for (unsigned int i = 0; i < lanes; i++)
		bits |= (uint64_t)(bytes[(i + 1) * width - 1] >> 7) << i;
	return bits;
}

static bool is_vex_masked(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_VPMASKMOVD || mnemonic == ZYDIS_MNEMONIC_VPMASKMOVQ ||
	       mnemonic == ZYDIS_MNEMONIC_VMASKMOVPS || mnemonic == ZYDIS_MNEMONIC_VMASKMOVPD;
}

/* Which operand is the mask; ZYDIS_REGISTER_NONE: all lanes are accessed at once. */
static ZydisRegister mask_of(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
			     const ZydisDecodedOperand *op)
{
	if (is_vex_masked(insn->mnemonic))
		return operands[1].reg.value;
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		if (insn->avx.mask.reg == ZYDIS_REGISTER_K0)
			return ZYDIS_REGISTER_NONE;
		return insn->avx.mask.reg;
	}
	return op->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? operands[2].reg.value : ZYDIS_REGISTER_NONE;
}

static int64_t index_at(const uint8_t *vector, unsigned int lane)
{
	int32_t index;

	memcpy(&index, vector + 4 * lane, sizeof(index));	/* all that are made up have 32 bits */
	return index;
}

bool lanes_expect(const ucontext_t *context, const ZydisDecodedInstruction *insn,
		  const ZydisDecodedOperand *operands, const ZydisDecodedOperand *op, uint64_t base,
		  const struct mt_access *like, struct mt_access *v, size_t *n)
{
	ZydisRegister mask = mask_of(insn, operands, op);
	bool gather = op->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
	/* The other operand is a whole vector. */
	const ZydisDecodedOperand *vector = op == operands ? &operands[2] : &operands[0];
	unsigned int width, lanes;
	uint8_t index[64] = { 0 };
	uint64_t bits;

	if (mask == ZYDIS_REGISTER_NONE)
		return false;
	width = vector->element_size / 8;
	lanes = vector->size / 8 / width;
	bits = mask_bits(context, mask, lanes, width);
	if (gather)
		read_vector(context, vector_number(op->mem.index), index);
	for (unsigned int i = 0; i < lanes; i++) {
		if (!(bits >> i & 1))
			continue;
		v[*n] = *like;
		v[*n].size = width;
		v[(*n)++].addr = base + (gather ? (uint64_t)(index_at(index, i) * op->mem.scale) :
						  (uint64_t)i * width);
	}
	return true;
}
