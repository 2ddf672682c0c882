// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/flow/x86-64/insn.h"

#include <stdlib.h>
#include <string.h>

#include "trampolines/flow/x86-64/key.h"
#include "trampolines/insn/x86-64/zydis.h"

enum {
	SLOTS_LOG2 = 13,
	SLOTS = 1 << SLOTS_LOG2,
};

struct slot {
	uint64_t key;
	struct flow_insn insn;
};

struct flow_decoder {
	struct slot slots[SLOTS];
};

struct flow_decoder *tramp_flow_decoder_new(void)
{
	return calloc(1, sizeof(struct flow_decoder));
}

static tramp_regs gpr(ZydisRegister reg)
{
	uint8_t number = tramp_zydis_gpr(reg);

	return number == TRAMP_NO_REG ? 0 : TRAMP_REG(number);
}

static tramp_regs vector(unsigned int number, bool whole)
{
	if (number >= 16)
		return TRAMP_REG(TRAMP_HIGH_VECTORS);
	return TRAMP_REG(TRAMP_XMM + number) | (whole ? TRAMP_REG(TRAMP_UPPER + number) : 0);
}

static bool is_xmm(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_XMM0 && reg <= ZYDIS_REGISTER_XMM31;
}

static tramp_regs register_set(ZydisRegister reg)
{
	if (is_xmm(reg))
		return vector(reg - ZYDIS_REGISTER_XMM0, false);
	if (reg >= ZYDIS_REGISTER_YMM0 && reg <= ZYDIS_REGISTER_YMM31)
		return vector(reg - ZYDIS_REGISTER_YMM0, true);
	if (reg >= ZYDIS_REGISTER_ZMM0 && reg <= ZYDIS_REGISTER_ZMM31)
		return vector(reg - ZYDIS_REGISTER_ZMM0, true);
	if (reg >= ZYDIS_REGISTER_K0 && reg <= ZYDIS_REGISTER_K7)
		return TRAMP_REG(TRAMP_K + (reg - ZYDIS_REGISTER_K0));
	return gpr(reg);
}

/* The 64-bit register, or TRAMP_NO_REG. */
static uint8_t wide_register(const ZydisDecodedOperand *o)
{
	if (!tramp_zydis_is_reg(o) || o->reg.value < ZYDIS_REGISTER_RAX ||
	    o->reg.value > ZYDIS_REGISTER_R15)
		return TRAMP_NO_REG;
	return tramp_zydis_gpr(o->reg.value);
}

static tramp_regs flags(ZydisAccessedFlagsMask mask)
{
	return (mask & ZYDIS_CPUFLAG_CF ? TRAMP_REG(TRAMP_CF) : 0) |
	       (mask & ZYDIS_CPUFLAG_PF ? TRAMP_REG(TRAMP_PF) : 0) |
	       (mask & ZYDIS_CPUFLAG_AF ? TRAMP_REG(TRAMP_AF) : 0) |
	       (mask & ZYDIS_CPUFLAG_ZF ? TRAMP_REG(TRAMP_ZF) : 0) |
	       (mask & ZYDIS_CPUFLAG_SF ? TRAMP_REG(TRAMP_SF) : 0) |
	       (mask & ZYDIS_CPUFLAG_OF ? TRAMP_REG(TRAMP_OF) : 0) |
	       (mask & ZYDIS_CPUFLAG_DF ? TRAMP_REG(TRAMP_DF) : 0);
}

/* By a count that may be zero, or not at all: then all flags stay as they are. */
static bool may_keep_flags(const struct tramp_zydis *d)
{
	bool repeated = d->insn.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
					      ZYDIS_ATTRIB_HAS_REPNE);

	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
		return tramp_zydis_is_reg(&d->o[1]);
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return tramp_zydis_is_reg(&d->o[2]);
	default:
		return repeated;
	}
}

static void note_flags(const struct tramp_zydis *d, struct flow_insn *insn)
{
	const ZydisAccessedFlags *f = d->insn.cpu_flags;

	if (!f)
		return;
	insn->use |= flags(f->tested);
	if (!may_keep_flags(d))
		insn->def |= flags(f->modified | f->set_0 | f->set_1 | f->undefined);
}

/* The result does not depend on the sources if both are the same register. */
static bool ignores_equal(const struct tramp_zydis *d)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_SBB:	/* the carry alone */
		return d->o[0].size >= 32;
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VPXORD:
	case ZYDIS_MNEMONIC_VPXORQ:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VXORPD:
	case ZYDIS_MNEMONIC_PSUBB:
	case ZYDIS_MNEMONIC_PSUBW:
	case ZYDIS_MNEMONIC_PSUBD:
	case ZYDIS_MNEMONIC_PSUBQ:
	case ZYDIS_MNEMONIC_PCMPEQB:
	case ZYDIS_MNEMONIC_PCMPEQW:
	case ZYDIS_MNEMONIC_PCMPEQD:
	case ZYDIS_MNEMONIC_PCMPGTB:
	case ZYDIS_MNEMONIC_PCMPGTW:
	case ZYDIS_MNEMONIC_PCMPGTD:
	case ZYDIS_MNEMONIC_VPCMPEQB:
	case ZYDIS_MNEMONIC_VPCMPEQW:
	case ZYDIS_MNEMONIC_VPCMPEQD:
	case ZYDIS_MNEMONIC_VPCMPEQQ:
	case ZYDIS_MNEMONIC_KXORB:
	case ZYDIS_MNEMONIC_KXORW:
	case ZYDIS_MNEMONIC_KXORD:
	case ZYDIS_MNEMONIC_KXORQ:
		return true;
	default:
		return false;
	}
}

/* Each is read by nobody: the result is the same, or a constant. */
static bool is_idiom(const struct tramp_zydis *d)
{
	const ZydisDecodedOperand *o = d->o;
	int sources = d->insn.operand_count_visible - 2;

	if (sources < 0 || !tramp_zydis_is_reg(&o[sources]) || !tramp_zydis_is_reg(&o[sources + 1]) ||
	    o[sources].reg.value != o[sources + 1].reg.value)
		return false;
	return ignores_equal(d);
}

/*
 * Scalar operations that take the rest of their result from the destination (VEX: from the first source).
 * Compilers mean the scalar alone.
 */
static bool merges(const struct tramp_zydis *d)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CVTSI2SD:
	case ZYDIS_MNEMONIC_CVTSI2SS:
	case ZYDIS_MNEMONIC_CVTSD2SS:
	case ZYDIS_MNEMONIC_CVTSS2SD:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_SQRTSS:
	case ZYDIS_MNEMONIC_ROUNDSD:
	case ZYDIS_MNEMONIC_ROUNDSS:
	case ZYDIS_MNEMONIC_RCPSS:
	case ZYDIS_MNEMONIC_RSQRTSS:
	case ZYDIS_MNEMONIC_VCVTSI2SD:
	case ZYDIS_MNEMONIC_VCVTSI2SS:
	case ZYDIS_MNEMONIC_VCVTUSI2SD:
	case ZYDIS_MNEMONIC_VCVTUSI2SS:
	case ZYDIS_MNEMONIC_VCVTSD2SS:
	case ZYDIS_MNEMONIC_VCVTSS2SD:
	case ZYDIS_MNEMONIC_VSQRTSD:
	case ZYDIS_MNEMONIC_VSQRTSS:
	case ZYDIS_MNEMONIC_VROUNDSD:
	case ZYDIS_MNEMONIC_VROUNDSS:
	case ZYDIS_MNEMONIC_VRCPSS:
	case ZYDIS_MNEMONIC_VRSQRTSS:
		return true;
	default:
		return false;
	}
}

/* The operand of which an operation that merges() takes the rest. */
static int merged_operand(const struct tramp_zydis *d)
{
	if (!merges(d))
		return -1;
	return d->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ? 0 : 1;
}

/* Keep the destination in some cases, whatever the operand's description says. */
static bool may_keep_destination(const struct tramp_zydis *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_BSF || d->insn.mnemonic == ZYDIS_MNEMONIC_BSR;
}

/* Encodings other than legacy SSE zero vectors above what they write. */
static tramp_regs written_set(const struct tramp_zydis *d, ZydisRegister reg)
{
	if (is_xmm(reg) && d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return vector(reg - ZYDIS_REGISTER_XMM0, true);
	return register_set(reg);
}

/* No processor leaves anything of what is written as it was. */
static bool writes_whole(const struct tramp_zydis *d, const ZydisDecodedOperand *o)
{
	bool vex = d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;

	if (!(o->actions & ZYDIS_OPERAND_ACTION_WRITE))
		return false;
	return o->size >= (is_xmm(o->reg.value) && !vex ? 128 : 32) || vex;
}

static void note_written(const struct tramp_zydis *d, const ZydisDecodedOperand *o, bool reads,
			 struct flow_insn *insn)
{
	tramp_regs reg = written_set(d, o->reg.value), kept = reg;

	insn->def |= reg;
	if (writes_whole(d, o) && !may_keep_destination(d))
		kept &= TRAMP_REG(TRAMP_HIGH_VECTORS);	/* which is many */
	insn->use |= kept;
	if (!reads && !may_keep_destination(d) && o->actions & ZYDIS_OPERAND_ACTION_WRITE)
		insn->idle |= kept;
}

/* Which operand is read for real decides: a register may be both. */
static void note_register(const struct tramp_zydis *d, int i, tramp_regs *real, struct flow_insn *insn)
{
	const ZydisDecodedOperand *o = &d->o[i];
	bool reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ && !is_idiom(d);

	if (o->encoding == ZYDIS_OPERAND_ENCODING_MASK && o->reg.value == ZYDIS_REGISTER_K0)
		return;		/* stands for no mask */
	if (reads) {
		insn->use |= register_set(o->reg.value);
		if (i == merged_operand(d))
			insn->idle |= register_set(o->reg.value);
		else
			*real |= register_set(o->reg.value);
	}
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		note_written(d, o, reads, insn);
}

static void note_operands(const struct tramp_zydis *d, struct flow_insn *insn)
{
	tramp_regs real = 0;

	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &d->o[i];

		if (tramp_zydis_is_reg(o))
			note_register(d, i, &real, insn);
		else if (tramp_zydis_is_memory(o))	/* with vectors as indices, of gathers */
			real |= register_set(o->mem.base) | register_set(o->mem.index);
	}
	insn->use |= real;
	insn->idle &= ~real;
}

/* What enters the kernel or a hypervisor may read anything. */
static bool reads_everything(const struct tramp_zydis *d)
{
	switch (d->insn.meta.category) {
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_PCONFIG:
	case ZYDIS_CATEGORY_PADLOCK:
		return true;
	case ZYDIS_CATEGORY_SYSCALL:
		return d->insn.mnemonic != ZYDIS_MNEMONIC_SYSCALL;
	case ZYDIS_CATEGORY_RET:
		return d->insn.mnemonic != ZYDIS_MNEMONIC_RET;
	default:
		return d->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	}
}

/* Linux: number and six arguments; rcx and r11 are lost (AMD APM volume 3, SYSCALL). */
static void note_syscall(struct flow_insn *insn)
{
	insn->use |= TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDI) | TRAMP_REG(TRAMP_RSI) |
		     TRAMP_REG(TRAMP_RDX) | TRAMP_REG(TRAMP_R10) | TRAMP_REG(TRAMP_R8) |
		     TRAMP_REG(TRAMP_R9) | TRAMP_REG(TRAMP_RSP);
	insn->def = TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RCX) | TRAMP_REG(TRAMP_R11);
}

static void note_special(const struct tramp_zydis *d, struct flow_insn *insn)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_ENDBR32:
		insn->use = insn->def = insn->idle = 0;
		break;
	case ZYDIS_MNEMONIC_SYSCALL:
		note_syscall(insn);
		break;
	case ZYDIS_MNEMONIC_VZEROUPPER:
		insn->use = 0;
		insn->def = TRAMP_UPPERS;
		break;
	case ZYDIS_MNEMONIC_VZEROALL:
		insn->use = 0;
		insn->def = TRAMP_XMMS | TRAMP_UPPERS;
		break;
	case ZYDIS_MNEMONIC_XCHG:	/* 32 bits of a register with themselves clear the rest */
		if (tramp_zydis_is_reg(&d->o[0]) && tramp_zydis_is_reg(&d->o[1]) &&
		    d->o[0].size != 32 &&
		    d->o[0].reg.value == d->o[1].reg.value)
			insn->use = insn->def = insn->idle = 0;
		break;
	case ZYDIS_MNEMONIC_FXSAVE:
	case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		insn->use |= TRAMP_VECTORS;
		break;
	case ZYDIS_MNEMONIC_XBEGIN:	/* eax is written on one of two paths only */
		insn->def = 0;
		break;
	default:
		break;
	}
	if (reads_everything(d)) {
		insn->use = TRAMP_ALL_REGS;
		insn->def = insn->idle = 0;
	}
}

static void note_memory(const struct tramp_zydis *d, const ZydisDecodedOperand *o,
			struct flow_insn *insn)
{
	insn->memory = true;
	insn->base = tramp_zydis_gpr(o->mem.base);
	insn->index = tramp_zydis_gpr(o->mem.index);
	insn->scale = insn->index == TRAMP_NO_REG ? 0 : o->mem.scale;
	insn->thread = o->mem.segment == ZYDIS_REGISTER_FS && o->mem.base == ZYDIS_REGISTER_NONE &&
		       o->mem.index == ZYDIS_REGISTER_NONE;
	insn->rip = o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP;
	if (!d->insn.raw.disp.size)
		return;
	insn->disp_at = d->insn.raw.disp.offset;
	insn->disp_len = d->insn.raw.disp.size / 8;
	if (insn->rip) {
		insn->rel_at = insn->disp_at;
		insn->rel_len = insn->disp_len;
	}
}

static uint8_t mov_shape(const struct tramp_zydis *d, struct flow_insn *insn)
{
	const ZydisDecodedOperand *to = &d->o[0], *from = &d->o[1];

	if (tramp_zydis_is_memory(to)) {
		insn->reg = wide_register(from);
		return insn->reg == TRAMP_NO_REG ? FLOW_OTHER : FLOW_STORE;
	}
	if (!tramp_zydis_is_reg(to) || to->size < 32)
		return FLOW_OTHER;
	if (tramp_zydis_is_imm(from))
		return FLOW_MOV_IMM;
	if (tramp_zydis_is_memory(from))
		return to->size == 64 ? FLOW_LOAD : FLOW_LOAD_SHORT;
	if (to->size < 64 || gpr(from->reg.value) == 0)
		return FLOW_OTHER;
	insn->base = tramp_zydis_gpr(from->reg.value);
	return FLOW_MOV;
}

static uint8_t sum_shape(const struct tramp_zydis *d)
{
	bool imm = tramp_zydis_is_imm(&d->o[1]);

	if (wide_register(&d->o[0]) == TRAMP_NO_REG)
		return FLOW_OTHER;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_ADD)
		return imm ? FLOW_ADD_IMM : FLOW_ADD;
	return imm ? FLOW_SUB_IMM : FLOW_OTHER;
}

static uint8_t mask_shape(const struct tramp_zydis *d, enum flow_shape shape)
{
	bool imm = tramp_zydis_is_imm(&d->o[1]);

	return imm && tramp_zydis_is_reg(&d->o[0]) && d->o[0].size >= 32 ? shape : FLOW_OTHER;
}

static uint8_t find_shape(const struct tramp_zydis *d, struct flow_insn *insn)
{
	const ZydisDecodedOperand *o = d->o;

	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return mov_shape(d, insn);
	case ZYDIS_MNEMONIC_MOVSXD:
		return FLOW_EXTEND;
	case ZYDIS_MNEMONIC_CDQE:
		return FLOW_EXTEND;
	case ZYDIS_MNEMONIC_LEA:
		return insn->reg == TRAMP_NO_REG || o[0].size < 64 ? FLOW_OTHER : FLOW_LEA;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return sum_shape(d);
	case ZYDIS_MNEMONIC_AND:
		return mask_shape(d, FLOW_AND_IMM);
	case ZYDIS_MNEMONIC_OR:
		return mask_shape(d, FLOW_OR_IMM);
	case ZYDIS_MNEMONIC_PUSH:
		insn->word = d->insn.operand_width == 16;
		return FLOW_PUSH;
	case ZYDIS_MNEMONIC_POP:
		insn->word = d->insn.operand_width == 16;
		return FLOW_POP;
	case ZYDIS_MNEMONIC_PUSHFQ:
		return FLOW_PUSHF;
	case ZYDIS_MNEMONIC_POPFQ:
		return FLOW_POPF;
	case ZYDIS_MNEMONIC_LEAVE:
		return FLOW_LEAVE;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return insn->imm_at ? FLOW_SHIFT_IMM : FLOW_OTHER;
	default:
		return FLOW_OTHER;
	}
}

static void note_shape(const struct tramp_zydis *d, struct flow_insn *insn)
{
	insn->reg = insn->base = insn->index = TRAMP_NO_REG;
	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		if (tramp_zydis_is_memory(&d->o[i]))
			note_memory(d, &d->o[i], insn);
	}
	if (d->insn.operand_count && tramp_zydis_is_reg(&d->o[0]))
		insn->reg = tramp_zydis_gpr(d->o[0].reg.value);
	if (d->insn.raw.imm[0].size) {
		insn->imm_at = d->insn.raw.imm[0].offset;
		insn->imm_len = d->insn.raw.imm[0].size / 8;
	}
	insn->shape = find_shape(d, insn);
}

static void note_kind(const struct tramp_zydis *d, struct flow_insn *insn)
{
	insn->kind = tramp_zydis_kind(&d->insn);
	if (d->insn.raw.imm[0].is_relative) {
		insn->rel_at = d->insn.raw.imm[0].offset;
		insn->rel_len = d->insn.raw.imm[0].size / 8;
	} else if (insn->kind == TRAMP_OP_PLAIN && insn->rip) {
		insn->kind = TRAMP_OP_RIP;
	}
}

static void decode_slowly(const uint8_t *code, size_t avail, struct flow_insn *insn)
{
	struct tramp_zydis d;

	memset(insn, 0, sizeof(*insn));
	if (!tramp_zydis(code, avail, &d))
		return;
	insn->len = d.insn.length;
	note_operands(&d, insn);
	note_flags(&d, insn);
	note_shape(&d, insn);
	note_kind(&d, insn);
	note_special(&d, insn);
}

int64_t tramp_flow_field(const uint8_t *code, uint8_t at, uint8_t len)
{
	int64_t value = 0;

	if (len == 0)
		return 0;
	memcpy(&value, code + at, len);
	return (int64_t)((uint64_t)value << (64 - 8 * len)) >> (64 - 8 * len);
}

/*
 * What depends on the immediate.  A count of 0 (of 32 in operations on 32 bits, too) leaves the flags; and $0
 * and or $-1 read nothing.
 */
static void mind_immediate(const uint8_t *code, struct flow_insn *insn)
{
	switch (insn->shape) {
	case FLOW_SHIFT_IMM:
		if ((code[insn->imm_at] & 31) == 0)
			insn->def &= ~TRAMP_STATUS;
		break;
	case FLOW_AND_IMM:
	case FLOW_OR_IMM:
		if (tramp_flow_field(code, insn->imm_at, insn->imm_len) ==
		    (insn->shape == FLOW_AND_IMM ? 0 : -1))
			insn->use = 0;
		break;
	default:
		break;
	}
}

bool tramp_flow_decode(struct flow_decoder *decoder, const uint8_t *code, size_t avail,
		       struct flow_insn *insn)
{
	uint8_t copy[FLOW_KEY_BYTES] = { 0 };
	const uint8_t *bytes = code;
	struct slot *slot;
	uint64_t key;

	if (avail < FLOW_KEY_BYTES) {
		memcpy(copy, code, avail);
		bytes = copy;
	}
	key = tramp_flow_key(bytes);
	slot = &decoder->slots[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOTS_LOG2)];
	if (key && slot->key == key) {
		*insn = slot->insn;
	} else {
		decode_slowly(bytes, FLOW_KEY_BYTES, insn);
		if (key)
			*slot = (struct slot){ .key = key, .insn = *insn };
	}
	mind_immediate(bytes, insn);
	if (insn->len <= avail)
		return insn->len != 0;
	insn->len = 0;
	return false;
}
