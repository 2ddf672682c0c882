// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/mememit/mixpriv.h"

enum { LANE_SCALE = 4 };

#define OPERANDS(...) (const ZydisEncoderOperand[]){ __VA_ARGS__ }

/* [r15 + index * 4 + middle]: indices are below 256. */
static ZydisEncoderOperand spread(ZydisRegister index, unsigned int bytes)
{
	ZydisEncoderOperand op = { .type = ZYDIS_OPERAND_TYPE_MEMORY };

	op.mem.base = ZYDIS_REGISTER_R15;
	op.mem.index = index;
	op.mem.scale = LANE_SCALE;
	op.mem.displacement = MIX_DATA / 2;
	op.mem.size = (ZyanU16)bytes;
	return op;
}

static void gather(struct mix *x)
{
	ZydisEncoderOperand mask = mix_reg(ZYDIS_REGISTER_YMM9);

	mix_put(x, ZYDIS_MNEMONIC_VMOVUPS, 0, 2, OPERANDS(mask, mix_memory(x, 32)));
	if (mix_pick(x, 2)) {
		mix_put(x, ZYDIS_MNEMONIC_VPMOVZXBD, 0, 2,
			OPERANDS(mix_reg(ZYDIS_REGISTER_YMM10), mix_memory(x, 8)));
		mix_put(x, ZYDIS_MNEMONIC_VPGATHERDD, 0, 3,
			OPERANDS(mix_reg(ZYDIS_REGISTER_YMM3), spread(ZYDIS_REGISTER_YMM10, 4), mask));
	} else {
		mix_put(x, ZYDIS_MNEMONIC_VPMOVZXBD, 0, 2,
			OPERANDS(mix_reg(ZYDIS_REGISTER_XMM4), mix_memory(x, 4)));
		mix_put(x, ZYDIS_MNEMONIC_VGATHERDPD, 0, 3,
			OPERANDS(mix_reg(ZYDIS_REGISTER_YMM11), spread(ZYDIS_REGISTER_XMM4, 8), mask));
	}
}

static void masked(struct mix *x)
{
	ZydisEncoderOperand mask = mix_reg(ZYDIS_REGISTER_YMM12), value = mix_reg(ZYDIS_REGISTER_YMM5);

	mix_put(x, ZYDIS_MNEMONIC_VMOVUPS, 0, 2, OPERANDS(mask, mix_memory(x, 32)));
	switch (mix_pick(x, 3)) {
	case 0:
		mix_put(x, ZYDIS_MNEMONIC_VPMASKMOVD, 0, 3, OPERANDS(value, mask, mix_memory(x, 32)));
		break;
	case 1:
		mix_put(x, ZYDIS_MNEMONIC_VMASKMOVPD, 0, 3, OPERANDS(value, mask, mix_memory(x, 32)));
		break;
	default:
		mix_put(x, ZYDIS_MNEMONIC_VPMASKMOVQ, 0, 3, OPERANDS(mix_memory(x, 32), mask, value));
	}
}

static void with_mask_register(struct mix *x)
{
	ZydisEncoderOperand k = mix_reg(ZYDIS_REGISTER_K3), value = mix_reg(ZYDIS_REGISTER_ZMM7);

	mix_put(x, ZYDIS_MNEMONIC_KMOVW, 0, 2, OPERANDS(k, mix_memory(x, 2)));
	switch (mix_pick(x, 3)) {
	case 0:
		mix_put(x, ZYDIS_MNEMONIC_VMOVDQU32, 0, 3, OPERANDS(value, k, mix_memory(x, 64)));
		break;
	case 1:
		mix_put(x, ZYDIS_MNEMONIC_VMOVUPD, 0, 3, OPERANDS(mix_memory(x, 64), k, value));
		break;
	default:
		mix_put(x, ZYDIS_MNEMONIC_VPMOVZXBD, 0, 3,
			OPERANDS(mix_reg(ZYDIS_REGISTER_ZMM20), mix_reg(ZYDIS_REGISTER_K0),
				 mix_memory(x, 16)));
		mix_put(x, ZYDIS_MNEMONIC_VPSCATTERDD, 0, 3,
			OPERANDS(spread(ZYDIS_REGISTER_ZMM20, 4), k, mix_reg(ZYDIS_REGISTER_ZMM8)));
	}
}

void mix_lanes(struct mix *x)
{
	switch (mix_pick(x, x->avx512 ? 3 : 2)) {
	case 0:
		gather(x);
		break;
	case 1:
		masked(x);
		break;
	default:
		with_mask_register(x);
	}
}
