// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Flags that the machine can find out: all instructions that leave more than that are UNKNOWN.
 *
 * MD_FLAGS_SUB(a, b) is what CMP leaves, MD_FLAGS_AND(a, b) what TEST does: CF and OF are 0.
 */
#include "trampolines/memory/x86-64/facts.h"

#define CC(n) (1u << (n))

enum {
	CC_OVERFLOW = CC(0x0) | CC(0x1),
	CC_CARRY = CC(0x2) | CC(0x3) | CC(0x6) | CC(0x7),
	CC_RESULT = CC(0x4) | CC(0x5) | CC(0x8) | CC(0x9) | CC(0xa) | CC(0xb), /* ZF, SF, PF */
	CC_SIGNED = CC(0xc) | CC(0xd) | CC(0xe) | CC(0xf),
	CC_ALL = 0xffff,
	CC_NO_CARRY = CC_ALL & ~CC_CARRY,
};
_Static_assert((CC_OVERFLOW | CC_CARRY | CC_RESULT | CC_SIGNED) == CC_ALL, "conditions");

/* Of two values before the instruction. */
static void know(struct mem_insn *in, enum md_flags how, uint8_t a, uint8_t b, int64_t imm,
		 uint16_t valid)
{
	struct tramp_mem_facts *f = in->facts;

	f->flags = (struct md_op){
		.code = MD_FLAGS, .dst = (uint8_t)how, .base = a, .index = b,
		.width = (uint8_t)(in->z.o[0].size / 8), .imm = imm,
	};
	f->flags_effect = TRAMP_FLAGS_KNOWN;
	f->flags_valid = valid;
	f->flags_reads = mem_op_reads(&f->flags);
}

/* cmp and test. */
static void know_pair(struct mem_insn *in, enum md_flags how)
{
	const ZydisDecodedOperand *a = &in->z.o[0], *b = &in->z.o[1];

	if (!mem_is_usable(a))
		return;
	if (tramp_zydis_is_imm(b))
		know(in, how, tramp_zydis_gpr(a->reg.value), MD_NONE, b->imm.value.s, CC_ALL);
	else if (mem_is_usable(b))
		know(in, how, tramp_zydis_gpr(a->reg.value), tramp_zydis_gpr(b->reg.value), 0, CC_ALL);
}

/* Of the result, in operand 0.  It is known if what it is computed from is. */
static void know_result(struct mem_insn *in, uint16_t valid)
{
	struct tramp_mem_facts *f = in->facts;
	uint8_t reg = tramp_zydis_gpr(in->z.o[0].reg.value);

	if (!f->ncomputes)
		return;
	know(in, MD_FLAGS_AND, reg, reg, 0, valid);
	f->flags_after = true;
	for (int i = 0; i < f->ncomputes; i++) {
		if (f->writes[i] != TRAMP_REG(reg))
			continue;
		f->flags_reads = f->reads[i];
		f->flags_conds = f->conds[i];
	}
}

/* Carry: of a bit that computes[1] has found, 0 - bit. */
static void know_bit(struct mem_insn *in)
{
	struct tramp_mem_facts *f = in->facts;

	if (f->ncomputes < 2)
		return;
	know(in, MD_FLAGS_SUB, MD_NONE, f->computes[1].dst, 0, CC(0x2) | CC(0x3));
	f->flags.width = 8;
	f->flags_after = true;
	f->flags_reads = f->reads[1];
}

static bool is_least(int64_t imm, uint16_t bits)
{
	return (uint64_t)imm << (64 - bits) == UINT64_C(1) << 63;
}

/*
 * a + imm is a - (-imm), carry aside: but for the least number, whose negative is itself, so that
 * the overflow is another one.
 */
static void know_add(struct mem_insn *in)
{
	const ZydisDecodedOperand *b = &in->z.o[1];

	if (!mem_is_usable(&in->z.o[0]))
		return;
	if (tramp_zydis_is_imm(b) && !is_least(b->imm.value.s, in->z.o[0].size))
		know(in, MD_FLAGS_SUB, tramp_zydis_gpr(in->z.o[0].reg.value), MD_NONE,
		     (int64_t)-b->imm.value.u, CC_NO_CARRY);
	else
		know_result(in, CC_RESULT);
}

static void know_shift(struct mem_insn *in)
{
	const ZydisDecodedOperand *count = &in->z.o[1];

	if (!tramp_zydis_is_imm(count))
		return;
	if (!(count->imm.value.u & (in->z.o[0].size == 64 ? 63 : 31)))
		in->facts->flags_effect = TRAMP_FLAGS_KEPT;
	else if (mem_is_usable(&in->z.o[0]))
		know_result(in, CC_RESULT);
}

static void know_logic(struct mem_insn *in)
{
	if (mem_is_same(in) && in->z.insn.mnemonic == ZYDIS_MNEMONIC_XOR)
		know(in, MD_FLAGS_AND, MD_NONE, MD_NONE, 0, CC_ALL);
	else if (mem_is_usable(&in->z.o[0]))
		know_result(in, CC_ALL);
}

static void know_sub(struct mem_insn *in)
{
	if (mem_is_same(in))
		know(in, MD_FLAGS_SUB, MD_NONE, MD_NONE, 0, CC_ALL);
	else
		know_pair(in, MD_FLAGS_SUB);
}

static void know_step(struct mem_insn *in, int64_t minus)
{
	if (mem_is_usable(&in->z.o[0]))
		know(in, MD_FLAGS_SUB, tramp_zydis_gpr(in->z.o[0].reg.value), MD_NONE, minus, CC_NO_CARRY);
}

static void note_known(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_CMP:
		know_pair(in, MD_FLAGS_SUB);
		break;
	case ZYDIS_MNEMONIC_TEST:
		know_pair(in, MD_FLAGS_AND);
		break;
	case ZYDIS_MNEMONIC_SUB:
		know_sub(in);
		break;
	case ZYDIS_MNEMONIC_ADD:
		know_add(in);
		break;
	case ZYDIS_MNEMONIC_INC:
		know_step(in, -1);
		break;
	case ZYDIS_MNEMONIC_DEC:
		know_step(in, 1);
		break;
	case ZYDIS_MNEMONIC_NEG:
		if (mem_is_usable(&in->z.o[0]))
			know(in, MD_FLAGS_SUB, MD_NONE, tramp_zydis_gpr(in->z.o[0].reg.value), 0, CC_ALL);
		break;
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_ANDN:
		know_logic(in);
		break;
	case ZYDIS_MNEMONIC_BLSR:	/* CF says whether there was a bit, PF nothing */
		if (in->facts->ncomputes)
			know_result(in, CC_NO_CARRY & (uint16_t)~(CC(0xa) | CC(0xb)));
		break;
	case ZYDIS_MNEMONIC_ADC:
	case ZYDIS_MNEMONIC_SBB:
		if (mem_is_usable(&in->z.o[0]))
			know_result(in, CC_RESULT);
		break;
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		know_bit(in);
		break;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		know_shift(in);
		break;
	default:
		break;
	}
}

static bool changes_flags(const struct mem_insn *in)
{
	const ZydisAccessedFlags *f = in->z.insn.cpu_flags;

	return f && (f->modified | f->set_0 | f->set_1 | f->undefined) &
		    (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |
		     ZYDIS_CPUFLAG_OF);
}

/* The kernel returns with the flags as they were; debuggers and emulators may not. */
static bool enters_kernel(const struct mem_insn *in)
{
	return in->z.insn.mnemonic == ZYDIS_MNEMONIC_SYSCALL || in->z.insn.mnemonic == ZYDIS_MNEMONIC_INT;
}

void mem_note_flags(struct mem_insn *in)
{
	if (!changes_flags(in) && !enters_kernel(in)) {
		in->facts->flags_effect = TRAMP_FLAGS_KEPT;
		return;
	}
	in->facts->flags_effect = TRAMP_FLAGS_UNKNOWN;
	note_known(in);
}
