// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/mememit/mix.h"

#include <err.h>
#include <string.h>

#include "tests/unit/mememit/mixpriv.h"
#include "tests/unit/wrap/machine.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { FRAME = 64, MIDDLE = MIX_DATA / 2, DEPTH = 2 };

/* What each register is for: addresses in the data, small numbers, anything. */
static const uint8_t pointers[] = { RBX, RBP, RSI, RDI, R8 };
static const uint8_t indices[] = { RAX, RDX, R9, R10 };
static const uint8_t any[] = { R11, R14, RCX };
static const uint8_t counters[DEPTH] = { R12, R13 };

uint32_t mix_pick(struct mix *x, uint32_t n)
{
	return random_below(x->source, n);
}

/* ---- operands ---- */

static ZydisRegister gpr(uint8_t number, unsigned int bytes)
{
	static const uint16_t first[] = { [1] = ZYDIS_REGISTER_AL, [2] = ZYDIS_REGISTER_AX,
					  [4] = ZYDIS_REGISTER_EAX, [8] = ZYDIS_REGISTER_RAX };

	if (bytes == 1 && number >= 4)	/* ah to bh come in between */
		return (ZydisRegister)(ZYDIS_REGISTER_SPL + number - 4);
	return (ZydisRegister)(first[bytes] + number);
}

ZydisEncoderOperand mix_reg(ZydisRegister reg)
{
	ZydisEncoderOperand op = { .type = ZYDIS_OPERAND_TYPE_REGISTER };

	op.reg.value = reg;
	return op;
}

static ZydisEncoderOperand imm_operand(int64_t value)
{
	ZydisEncoderOperand op = { .type = ZYDIS_OPERAND_TYPE_IMMEDIATE };

	op.imm.s = value;
	return op;
}

static ZydisEncoderOperand address(uint8_t base, ZydisRegister index, uint8_t scale, int64_t disp, unsigned int bytes)
{
	ZydisEncoderOperand op = { .type = ZYDIS_OPERAND_TYPE_MEMORY };

	op.mem.base = gpr(base, 8);
	op.mem.index = index;
	op.mem.scale = index == ZYDIS_REGISTER_NONE ? 0 : scale;
	op.mem.displacement = disp;
	op.mem.size = (ZyanU16)bytes;
	return op;
}

static ZydisRegister any_index(struct mix *x)
{
	return gpr(indices[mix_pick(x, COUNT(indices))], 8);
}

/* Everything in the data's middle, whatever its registers are. */
ZydisEncoderOperand mix_memory(struct mix *x, unsigned int bytes)
{
	uint8_t p = pointers[mix_pick(x, COUNT(pointers))];
	int64_t small = (int64_t)mix_pick(x, 200) - 100;
	ZydisEncoderOperand op;

	switch (mix_pick(x, 8)) {
	case 0:
		return address(p, ZYDIS_REGISTER_NONE, 0, 0, bytes);
	case 1:
	case 2:
		return address(p, ZYDIS_REGISTER_NONE, 0, small, bytes);
	case 3:
		return address(p, any_index(x), (uint8_t)(1 << mix_pick(x, 4)), small, bytes);
	case 4:
		return address(R15, any_index(x), (uint8_t)(1 << mix_pick(x, 4)), MIDDLE + 8 * small, bytes);
	case 5:
		op = address(RSP, ZYDIS_REGISTER_NONE, 0, 0, bytes);
		op.mem.base = ZYDIS_REGISTER_RIP;
		op.mem.displacement = (int64_t)(x->data + MIDDLE + 16 * mix_pick(x, 64));
		return op;
	case 6:
		if (bytes <= 16)
			return address(RSP, ZYDIS_REGISTER_NONE, 0, 8 * mix_pick(x, FRAME / 8 - 2), bytes);
		return address(R15, ZYDIS_REGISTER_NONE, 0, MIDDLE, bytes);
	default:
		return address(R15, ZYDIS_REGISTER_NONE, 0, MIDDLE + 8 * small, bytes);
	}
}

/* ---- instructions ---- */

void mix_put(struct mix *x, ZydisMnemonic mnemonic, ZydisInstructionAttributes prefixes, int n,
		const ZydisEncoderOperand *operands)
{
	ZydisEncoderRequest req = { .machine_mode = ZYDIS_MACHINE_MODE_LONG_64, .mnemonic = mnemonic,
				    .prefixes = prefixes, .operand_count = (ZyanU8)n };
	ZyanUSize len = x->room - x->len;

	memcpy(req.operands, operands, (size_t)n * sizeof(*operands));
	if (x->room - x->len < 64 ||
	    ZYAN_FAILED(ZydisEncoderEncodeInstructionAbsolute(&req, x->code + x->len, &len,
							      (ZyanU64)(x->code + x->len))))
		errx(99, "cannot encode %s", ZydisMnemonicGetString(mnemonic));
	x->len += len;
	x->left--;
}

static void put0(struct mix *x, ZydisMnemonic mnemonic, ZydisInstructionAttributes prefixes)
{
	mix_put(x, mnemonic, prefixes, 0, (const ZydisEncoderOperand[1]){ 0 });
}

static void put1(struct mix *x, ZydisMnemonic mnemonic, ZydisEncoderOperand a)
{
	mix_put(x, mnemonic, 0, 1, &a);
}

static void put2(struct mix *x, ZydisMnemonic mnemonic, ZydisEncoderOperand a, ZydisEncoderOperand b)
{
	mix_put(x, mnemonic, 0, 2, (const ZydisEncoderOperand[]){ a, b });
}

static unsigned int any_width(struct mix *x)
{
	return 1u << mix_pick(x, 4);
}

static ZydisRegister any_value(struct mix *x, unsigned int bytes)
{
	uint32_t k = mix_pick(x, COUNT(any) + COUNT(indices));

	return gpr(k < COUNT(any) ? any[k] : indices[k - COUNT(any)], bytes);
}

static ZydisRegister any_target(struct mix *x, unsigned int bytes)
{
	return gpr(any[mix_pick(x, COUNT(any))], bytes);
}

/* Index registers stay small. */
static void set_index(struct mix *x)
{
	uint8_t i = indices[mix_pick(x, COUNT(indices))], j = indices[mix_pick(x, COUNT(indices))];

	switch (mix_pick(x, 7)) {
	case 0:
		put2(x, ZYDIS_MNEMONIC_MOV, mix_reg(gpr(i, 4)), imm_operand(mix_pick(x, 128)));
		break;
	case 1:
		put2(x, ZYDIS_MNEMONIC_MOVZX, mix_reg(gpr(i, 4)), mix_memory(x, 1));
		break;
	case 2:
		put2(x, ZYDIS_MNEMONIC_MOVSX, mix_reg(gpr(i, 8)), mix_memory(x, 1));
		break;
	case 3:
		put2(x, ZYDIS_MNEMONIC_XOR, mix_reg(gpr(i, 4)), mix_reg(gpr(i, 4)));
		break;
	case 4:
		put2(x, ZYDIS_MNEMONIC_MOV, mix_reg(gpr(i, 8)), mix_reg(gpr(j, 8)));
		break;
	case 5:
		put2(x, ZYDIS_MNEMONIC_ADD, mix_reg(gpr(i, 4)), mix_reg(gpr(j, 4)));
		put2(x, ZYDIS_MNEMONIC_AND, mix_reg(gpr(i, 4)), imm_operand(127));
		break;
	default:
		put2(x, ZYDIS_MNEMONIC_SHR, mix_reg(gpr(i, mix_pick(x, 2) ? 4 : 8)), imm_operand(1));
		put2(x, ZYDIS_MNEMONIC_AND, mix_reg(gpr(i, 4)), imm_operand(127));
	}
}

static void set_pointer(struct mix *x)
{
	uint8_t p = pointers[mix_pick(x, COUNT(pointers))], q = pointers[mix_pick(x, COUNT(pointers))];
	int64_t small = (int64_t)mix_pick(x, 64) - 32;

	switch (mix_pick(x, 6)) {
	case 0:
	case 1:
		put2(x, ZYDIS_MNEMONIC_MOV, mix_reg(gpr(p, 8)),
		     address(R15, ZYDIS_REGISTER_NONE, 0, 8 * mix_pick(x, MIX_POINTERS), 8));
		break;
	case 2:
		put2(x, ZYDIS_MNEMONIC_LEA, mix_reg(gpr(p, 8)),
		     address(R15, any_index(x), 4, MIDDLE + 8 * small, 8));
		break;
	case 3:
		if (x->depth == 0)
			put2(x, ZYDIS_MNEMONIC_MOV, mix_reg(gpr(p, 8)), mix_reg(gpr(q, 8)));
		break;
	case 4:
		put2(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_ADD : ZYDIS_MNEMONIC_SUB, mix_reg(gpr(p, 8)),
		     imm_operand(mix_pick(x, 64)));
		break;
	default:
		put2(x, ZYDIS_MNEMONIC_LEA, mix_reg(gpr(p, 8)),
		     address(p, ZYDIS_REGISTER_NONE, 0, small, 8));
	}
}

static void general(struct mix *x)
{
	static const uint16_t two[] = {
		ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_ADD,
		ZYDIS_MNEMONIC_SUB, ZYDIS_MNEMONIC_AND, ZYDIS_MNEMONIC_OR, ZYDIS_MNEMONIC_XOR,
		ZYDIS_MNEMONIC_CMP, ZYDIS_MNEMONIC_TEST, ZYDIS_MNEMONIC_ADC, ZYDIS_MNEMONIC_SBB,
	};
	ZydisMnemonic mnemonic = (ZydisMnemonic)two[mix_pick(x, COUNT(two))];
	unsigned int bytes = any_width(x);

	switch (mnemonic == ZYDIS_MNEMONIC_TEST ? 1 : mix_pick(x, 3)) {
	case 0:
		put2(x, mnemonic, mix_reg(any_target(x, bytes)), mix_memory(x, bytes));
		break;
	case 1:
		put2(x, mnemonic, mix_memory(x, bytes), mix_reg(any_value(x, bytes)));
		break;
	default:
		put2(x, mnemonic, mix_memory(x, bytes), imm_operand(mix_pick(x, 100)));
	}
}

/* Of the flags, only carry and zero are read: shifts and bit tests leave others undefined. */
static void one(struct mix *x)
{
	static const uint16_t ones[] = { ZYDIS_MNEMONIC_INC, ZYDIS_MNEMONIC_DEC, ZYDIS_MNEMONIC_NEG,
					 ZYDIS_MNEMONIC_NOT };
	unsigned int bytes = any_width(x);

	switch (mix_pick(x, 4)) {
	case 0:
		put1(x, (ZydisMnemonic)ones[mix_pick(x, COUNT(ones))], mix_memory(x, bytes));
		break;
	case 1:
		put2(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_SHL : ZYDIS_MNEMONIC_SAR, mix_memory(x, bytes),
		     imm_operand(1 + mix_pick(x, 5)));
		break;
	case 2:
		put1(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_SETZ : ZYDIS_MNEMONIC_SETBE, mix_memory(x, 1));
		break;
	default:
		put2(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_CMOVZ : ZYDIS_MNEMONIC_CMOVBE,
		     mix_reg(any_target(x, 8)), mix_memory(x, 8));
	}
}

static void special(struct mix *x)
{
	ZydisEncoderOperand wide = mix_memory(x, 8), value = mix_reg(any_target(x, 8));

	switch (mix_pick(x, 9)) {
	case 0:
		put2(x, ZYDIS_MNEMONIC_XCHG, wide, value);
		break;
	case 1:
		mix_put(x, ZYDIS_MNEMONIC_XADD, ZYDIS_ATTRIB_HAS_LOCK, 2,
		    (const ZydisEncoderOperand[]){ wide, value });
		break;
	case 2:
		put2(x, ZYDIS_MNEMONIC_IMUL, value, wide);
		put2(x, ZYDIS_MNEMONIC_TEST, value, value);	/* some flags are undefined */
		break;
	case 3:
		put1(x, ZYDIS_MNEMONIC_PUSH, wide);
		put1(x, ZYDIS_MNEMONIC_POP, mix_reg(gpr(any[mix_pick(x, COUNT(any))], 8)));
		break;
	case 4:
		put1(x, ZYDIS_MNEMONIC_PUSH, mix_reg(any_value(x, 8)));
		put1(x, ZYDIS_MNEMONIC_POP, address(R15, ZYDIS_REGISTER_NONE, 0, MIDDLE, 8));
		break;
	case 5:
		put2(x, ZYDIS_MNEMONIC_MOVZX, mix_reg(any_target(x, 4)), mix_memory(x, 2));
		break;
	case 6:
		put2(x, ZYDIS_MNEMONIC_MOVSXD, value, mix_memory(x, 4));
		break;
	case 7:
		put2(x, ZYDIS_MNEMONIC_BTS, mix_memory(x, 8), imm_operand(mix_pick(x, 64)));
		break;
	default:
		put2(x, ZYDIS_MNEMONIC_LEA, value, mix_memory(x, 8));
	}
}

static ZydisEncoderOperand any_vector(struct mix *x, ZydisRegister first, unsigned int n)
{
	return mix_reg((ZydisRegister)(first + mix_pick(x, n)));
}

static void vector(struct mix *x)
{
	static const struct { uint16_t mnemonic; uint8_t bytes; } ops[] = {
		{ ZYDIS_MNEMONIC_MOVUPS, 16 }, { ZYDIS_MNEMONIC_MOVDQU, 16 }, { ZYDIS_MNEMONIC_MOVSS, 4 },
		{ ZYDIS_MNEMONIC_MOVQ, 8 }, { ZYDIS_MNEMONIC_MOVLPS, 8 }, { ZYDIS_MNEMONIC_MOVHPD, 8 },
	};
	ZydisEncoderOperand reg = any_vector(x, ZYDIS_REGISTER_XMM0, 16);
	uint32_t k = mix_pick(x, COUNT(ops));

	switch (mix_pick(x, x->avx512 ? 6 : x->avx ? 5 : 3)) {
	case 0:
		put2(x, (ZydisMnemonic)ops[k].mnemonic, reg, mix_memory(x, ops[k].bytes));
		break;
	case 1:
		put2(x, (ZydisMnemonic)ops[k].mnemonic, mix_memory(x, ops[k].bytes), reg);
		break;
	case 2:
		put2(x, ZYDIS_MNEMONIC_CVTSI2SD, reg, mix_memory(x, 4));
		break;
	case 3:
		put2(x, ZYDIS_MNEMONIC_VMOVUPS, any_vector(x, ZYDIS_REGISTER_YMM0, 16), mix_memory(x, 32));
		break;
	case 4:
		put2(x, ZYDIS_MNEMONIC_VMOVDQU, mix_memory(x, 32), any_vector(x, ZYDIS_REGISTER_YMM0, 16));
		break;
	default:
		mix_put(x, ZYDIS_MNEMONIC_VMOVUPS, 0, 3, (const ZydisEncoderOperand[]){
			any_vector(x, ZYDIS_REGISTER_ZMM0, 32), mix_reg(ZYDIS_REGISTER_K0),
			mix_memory(x, 64) });
	}
}

static void string(struct mix *x)
{
	static const uint16_t ops[] = { ZYDIS_MNEMONIC_MOVSB, ZYDIS_MNEMONIC_MOVSQ, ZYDIS_MNEMONIC_STOSD,
					ZYDIS_MNEMONIC_STOSB, ZYDIS_MNEMONIC_LODSD };
	static const uint16_t compares[] = { ZYDIS_MNEMONIC_CMPSB, ZYDIS_MNEMONIC_SCASB };

	put2(x, ZYDIS_MNEMONIC_LEA, mix_reg(ZYDIS_REGISTER_RDI),
	     address(R15, any_index(x), 8, MIDDLE, 8));
	if (mix_pick(x, 2))
		put2(x, ZYDIS_MNEMONIC_LEA, mix_reg(ZYDIS_REGISTER_RSI),
		     address(R15, any_index(x), 8, MIDDLE, 8));
	if (mix_pick(x, 3) == 0) {
		put0(x, (ZydisMnemonic)ops[mix_pick(x, COUNT(ops))], 0);
		goto out;
	}
	if (mix_pick(x, 2))
		put2(x, ZYDIS_MNEMONIC_MOVZX, mix_reg(ZYDIS_REGISTER_ECX), mix_memory(x, 1));
	else
		put2(x, ZYDIS_MNEMONIC_MOV, mix_reg(ZYDIS_REGISTER_ECX), imm_operand(mix_pick(x, 20)));
	if (mix_pick(x, 2))
		put0(x, (ZydisMnemonic)ops[mix_pick(x, COUNT(ops))], ZYDIS_ATTRIB_HAS_REP);
	else
		put0(x, (ZydisMnemonic)compares[mix_pick(x, 2)],
		     mix_pick(x, 2) ? ZYDIS_ATTRIB_HAS_REPE : ZYDIS_ATTRIB_HAS_REPNE);
out:	/* rax may be anything now */
	put2(x, ZYDIS_MNEMONIC_AND, mix_reg(ZYDIS_REGISTER_EAX), imm_operand(127));
	put2(x, ZYDIS_MNEMONIC_LEA, mix_reg(ZYDIS_REGISTER_RDI),
	     address(R15, ZYDIS_REGISTER_NONE, 0, MIDDLE, 8));
	put2(x, ZYDIS_MNEMONIC_LEA, mix_reg(ZYDIS_REGISTER_RSI),
	     address(R15, ZYDIS_REGISTER_NONE, 0, MIDDLE, 8));
}

static void straight(struct mix *x)
{
	switch (mix_pick(x, 10)) {
	case 0:
		set_index(x);
		break;
	case 1:
		set_pointer(x);
		break;
	case 2:
		one(x);
		break;
	case 3:
		special(x);
		break;
	case 4:
		vector(x);
		break;
	case 5:
		if (mix_pick(x, 3) == 0)
			string(x);
		else if (x->avx2 && mix_pick(x, 2))
			mix_lanes(x);
		break;
	case 6:
		mix_flags(x);
		break;
	default:
		general(x);
	}
}

/* ---- control ---- */

static void body(struct mix *x);

static void put_jump_back(struct mix *x, ZydisMnemonic mnemonic, size_t top)
{
	put1(x, mnemonic, imm_operand((int64_t)(x->code + top)));
}

/* Up or down, its end constant or in memory. */
static void loop(struct mix *x)
{
	uint8_t counter = counters[x->depth];
	unsigned int bytes = mix_pick(x, 2) ? 4 : 8;
	bool up = mix_pick(x, 2);
	int64_t n = 1 + mix_pick(x, 6);
	size_t top;

	put2(x, ZYDIS_MNEMONIC_MOV, mix_reg(gpr(counter, 4)), imm_operand(up ? 0 : n));
	top = x->len;
	x->depth++;
	for (uint32_t k = mix_pick(x, 4); k; k--)
		body(x);
	x->depth--;
	if (up) {
		put2(x, ZYDIS_MNEMONIC_ADD, mix_reg(gpr(counter, bytes)), imm_operand(1));
		put2(x, ZYDIS_MNEMONIC_CMP, mix_reg(gpr(counter, bytes)), imm_operand(n));
		put_jump_back(x, mix_pick(x, 2) ? ZYDIS_MNEMONIC_JL : ZYDIS_MNEMONIC_JB, top);
	} else {
		put2(x, ZYDIS_MNEMONIC_SUB, mix_reg(gpr(counter, bytes)), imm_operand(1));
		put_jump_back(x, ZYDIS_MNEMONIC_JNZ, top);
	}
}

/* Over something, on flags from memory or registers. */
static void branch(struct mix *x)
{
	uint8_t cc = (uint8_t)mix_pick(x, 16);
	size_t at;
	uint32_t rel;

	switch (mix_pick(x, 3)) {
	case 0:
		put2(x, ZYDIS_MNEMONIC_CMP, mix_memory(x, 4), imm_operand(mix_pick(x, 100)));
		break;
	case 1:
		put2(x, ZYDIS_MNEMONIC_CMP, mix_reg(gpr(indices[0], 4)), imm_operand(mix_pick(x, 128)));
		break;
	default:
		put2(x, ZYDIS_MNEMONIC_TEST, mix_reg(gpr(indices[1], 8)), mix_reg(gpr(indices[2], 8)));
	}
	x->code[x->len++] = 0x0f;
	x->code[x->len++] = 0x80 | cc;
	at = x->len;
	x->len += 4;
	for (uint32_t k = mix_pick(x, 4); k; k--)
		body(x);
	rel = (uint32_t)(x->len - at - 4);
	memcpy(x->code + at, &rel, 4);
}

static void body(struct mix *x)
{
	if (x->left <= 0)
		return;
	switch (mix_pick(x, 8)) {
	case 0:
		if (x->depth < DEPTH) {
			loop(x);
			break;
		}
		__attribute__((fallthrough));
	case 1:
		branch(x);
		break;
	default:
		for (uint32_t k = 1 + mix_pick(x, 5); k; k--)
			straight(x);
	}
}

static const uint8_t saved[] = { RBX, RBP, R12, R13, R14, R15 };

static void prologue(struct mix *x)
{
	for (size_t i = 0; i < COUNT(saved); i++)
		put1(x, ZYDIS_MNEMONIC_PUSH, mix_reg(gpr(saved[i], 8)));
	put2(x, ZYDIS_MNEMONIC_SUB, mix_reg(ZYDIS_REGISTER_RSP), imm_operand(FRAME));
	for (int i = 0; i < 16 && !x->avx; i++) {
		ZydisEncoderOperand xmm = mix_reg((ZydisRegister)(ZYDIS_REGISTER_XMM0 + i));

		put2(x, ZYDIS_MNEMONIC_XORPS, xmm, xmm);
	}
	if (x->avx)
		put0(x, ZYDIS_MNEMONIC_VZEROALL, 0);
	for (size_t i = 0; i < COUNT(pointers); i++)
		put2(x, ZYDIS_MNEMONIC_LEA, mix_reg(gpr(pointers[i], 8)),
		     address(R15, ZYDIS_REGISTER_NONE, 0, MIDDLE + 64 * (int64_t)i, 8));
	for (size_t i = 0; i < COUNT(indices); i++)
		put2(x, ZYDIS_MNEMONIC_AND, mix_reg(gpr(indices[i], 4)), imm_operand(127));
}

static void epilogue(struct mix *x)
{
	put2(x, ZYDIS_MNEMONIC_ADD, mix_reg(ZYDIS_REGISTER_RSP), imm_operand(FRAME));
	for (size_t i = COUNT(saved); i-- > 0;)
		put1(x, ZYDIS_MNEMONIC_POP, mix_reg(gpr(saved[i], 8)));
	put0(x, ZYDIS_MNEMONIC_RET, 0);
}

size_t mix_generate(uint8_t *code, size_t room, uint64_t data, struct random_source *source)
{
	struct mix x = {
		.code = code, .room = room, .data = data, .source = source,
		.avx = __builtin_cpu_supports("avx"), .avx512 = __builtin_cpu_supports("avx512f"),
		.avx2 = __builtin_cpu_supports("avx2"),
	};

	prologue(&x);
	x.left = (int)(20 + mix_pick(&x, 150));
	while (x.left > 0)
		body(&x);
	epilogue(&x);
	return x.len;
}
