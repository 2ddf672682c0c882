// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/flow/x86-64/insn.h"

#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "trampolines/flow/x86-64/key.h"

enum {
	SLOTS_LOG2 = 13,
	SLOTS = 1 << SLOTS_LOG2,
};

struct slot {
	uint64_t key;
	struct flow_insn insn;
};

struct flow_decoder {
	ZydisDecoder zydis;
	struct slot slots[SLOTS];
};

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

struct flow_decoder *tramp_flow_decoder_new(void)
{
	struct flow_decoder *decoder = calloc(1, sizeof(*decoder));

	if (decoder)
		ZydisDecoderInit(&decoder->zydis, ZYDIS_MACHINE_MODE_LONG_64,
				 ZYDIS_STACK_WIDTH_64);
	return decoder;
}

/* 0..15, rax first; FLOW_NO_REG: no general register. */
static uint8_t gpr_number(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_SPL && reg <= ZYDIS_REGISTER_R15B)
		return (uint8_t)(reg - ZYDIS_REGISTER_SPL + TRAMP_RSP);
	if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
		return (uint8_t)(reg - ZYDIS_REGISTER_AH);
	if (reg >= ZYDIS_REGISTER_AL && reg <= ZYDIS_REGISTER_BL)
		return (uint8_t)(reg - ZYDIS_REGISTER_AL);
	if (reg >= ZYDIS_REGISTER_AX && reg <= ZYDIS_REGISTER_R15W)
		return (uint8_t)(reg - ZYDIS_REGISTER_AX);
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return (uint8_t)(reg - ZYDIS_REGISTER_EAX);
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return (uint8_t)(reg - ZYDIS_REGISTER_RAX);
	return FLOW_NO_REG;
}

static tramp_regs gpr(ZydisRegister reg)
{
	uint8_t number = gpr_number(reg);

	return number == FLOW_NO_REG ? 0 : TRAMP_REG(number);
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

static bool is_register(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_memory(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* The 64-bit register, or FLOW_NO_REG. */
static uint8_t wide_register(const ZydisDecodedOperand *o)
{
	if (!is_register(o) || o->reg.value < ZYDIS_REGISTER_RAX ||
	    o->reg.value > ZYDIS_REGISTER_R15)
		return FLOW_NO_REG;
	return gpr_number(o->reg.value);
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
static bool may_keep_flags(const struct decoded *d)
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
		return is_register(&d->operands[1]);
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return is_register(&d->operands[2]);
	default:
		return repeated;
	}
}

static void note_flags(const struct decoded *d, struct flow_insn *insn)
{
	const ZydisAccessedFlags *f = d->insn.cpu_flags;

	if (!f)
		return;
	insn->use |= flags(f->tested);
	if (!may_keep_flags(d))
		insn->def |= flags(f->modified | f->set_0 | f->set_1 | f->undefined);
}

/* The result does not depend on the sources if both are the same register. */
static bool ignores_equal(const struct decoded *d)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_SBB:	/* the carry alone */
		return d->operands[0].size >= 32;
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
static bool is_idiom(const struct decoded *d)
{
	const ZydisDecodedOperand *o = d->operands;
	int sources = d->insn.operand_count_visible - 2;

	if (sources < 0 || !is_register(&o[sources]) || !is_register(&o[sources + 1]) ||
	    o[sources].reg.value != o[sources + 1].reg.value)
		return false;
	return ignores_equal(d);
}

/* Keep the destination in some cases, whatever the operand's description says. */
static bool may_keep_destination(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_BSF || d->insn.mnemonic == ZYDIS_MNEMONIC_BSR;
}

/* Encodings other than legacy SSE zero vectors above what they write. */
static tramp_regs written_set(const struct decoded *d, ZydisRegister reg)
{
	if (is_xmm(reg) && d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return vector(reg - ZYDIS_REGISTER_XMM0, true);
	return register_set(reg);
}

/* No processor leaves anything of what is written as it was. */
static bool writes_whole(const struct decoded *d, const ZydisDecodedOperand *o)
{
	bool vex = d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;

	if (!(o->actions & ZYDIS_OPERAND_ACTION_WRITE))
		return false;
	return o->size >= (is_xmm(o->reg.value) && !vex ? 128 : 32) || vex;
}

static void note_register(const struct decoded *d, const ZydisDecodedOperand *o, struct flow_insn *insn)
{
	tramp_regs written = written_set(d, o->reg.value);

	if (o->encoding == ZYDIS_OPERAND_ENCODING_MASK && o->reg.value == ZYDIS_REGISTER_K0)
		return;		/* stands for no mask */
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ && !is_idiom(d))
		insn->use |= register_set(o->reg.value);
	if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	insn->def |= written;
	if (writes_whole(d, o) && !may_keep_destination(d))
		written &= TRAMP_REG(TRAMP_HIGH_VECTORS);	/* which is many */
	insn->use |= written;
}

static void note_operands(const struct decoded *d, struct flow_insn *insn)
{
	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &d->operands[i];

		if (is_register(o))
			note_register(d, o, insn);
		else if (is_memory(o))	/* with vectors as indices, of gathers */
			insn->use |= register_set(o->mem.base) | register_set(o->mem.index);
	}
}

static uint8_t relative_kind(const struct decoded *d)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
		return TRAMP_OP_JMP;
	case ZYDIS_MNEMONIC_CALL:
		return TRAMP_OP_CALL;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
		return TRAMP_OP_LOOP;
	default:
		return TRAMP_OP_JCC;
	}
}

static uint8_t other_kind(const struct decoded *d)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return TRAMP_OP_CALL_IND;
	case ZYDIS_MNEMONIC_JMP:
		return TRAMP_OP_JMP_IND;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_RSM:
		return TRAMP_OP_RET;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return TRAMP_OP_STOP;
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
		return TRAMP_OP_TRAP;
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
		return TRAMP_OP_SYSCALL;
	default:
		return TRAMP_OP_PLAIN;
	}
}

/* What enters the kernel or a hypervisor may read anything. */
static bool reads_everything(const struct decoded *d)
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

static void note_special(const struct decoded *d, struct flow_insn *insn)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_ENDBR32:
		insn->use = insn->def = 0;
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
		if (is_register(&d->operands[0]) && is_register(&d->operands[1]) &&
		    d->operands[0].size != 32 &&
		    d->operands[0].reg.value == d->operands[1].reg.value)
			insn->use = insn->def = 0;
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
	case ZYDIS_MNEMONIC_XBEGIN:	/* eax is written on one of two ways only */
		insn->def = 0;
		break;
	default:
		break;
	}
	if (reads_everything(d)) {
		insn->use = TRAMP_ALL_REGS;
		insn->def = 0;
	}
}

static void note_memory(const struct decoded *d, const ZydisDecodedOperand *o,
			struct flow_insn *insn)
{
	insn->memory = true;
	insn->base = gpr_number(o->mem.base);
	insn->index = gpr_number(o->mem.index);
	insn->scale = insn->index == FLOW_NO_REG ? 0 : o->mem.scale;
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

static uint8_t mov_shape(const struct decoded *d, struct flow_insn *insn)
{
	const ZydisDecodedOperand *to = &d->operands[0], *from = &d->operands[1];

	if (is_memory(to)) {
		insn->reg = wide_register(from);
		return insn->reg == FLOW_NO_REG ? FLOW_OTHER : FLOW_STORE;
	}
	if (!is_register(to) || to->size < 32)
		return FLOW_OTHER;
	if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return FLOW_MOV_IMM;
	if (is_memory(from))
		return to->size == 64 ? FLOW_LOAD : FLOW_LOAD_SHORT;
	if (to->size < 64 || gpr(from->reg.value) == 0)
		return FLOW_OTHER;
	insn->base = gpr_number(from->reg.value);
	return FLOW_MOV;
}

static uint8_t sum_shape(const struct decoded *d)
{
	bool imm = d->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	if (wide_register(&d->operands[0]) == FLOW_NO_REG)
		return FLOW_OTHER;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_ADD)
		return imm ? FLOW_ADD_IMM : FLOW_ADD;
	return imm ? FLOW_SUB_IMM : FLOW_OTHER;
}

static uint8_t mask_shape(const struct decoded *d, enum flow_shape shape)
{
	bool imm = d->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	return imm && is_register(&d->operands[0]) && d->operands[0].size >= 32 ? shape : FLOW_OTHER;
}

static uint8_t find_shape(const struct decoded *d, struct flow_insn *insn)
{
	const ZydisDecodedOperand *o = d->operands;

	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return mov_shape(d, insn);
	case ZYDIS_MNEMONIC_MOVSXD:
		return FLOW_EXTEND;
	case ZYDIS_MNEMONIC_CDQE:
		return FLOW_EXTEND;
	case ZYDIS_MNEMONIC_LEA:
		return insn->reg == FLOW_NO_REG || o[0].size < 64 ? FLOW_OTHER : FLOW_LEA;
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

static void note_shape(const struct decoded *d, struct flow_insn *insn)
{
	insn->reg = insn->base = insn->index = FLOW_NO_REG;
	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		if (is_memory(&d->operands[i]))
			note_memory(d, &d->operands[i], insn);
	}
	if (d->insn.operand_count && is_register(&d->operands[0]))
		insn->reg = gpr_number(d->operands[0].reg.value);
	if (d->insn.raw.imm[0].size) {
		insn->imm_at = d->insn.raw.imm[0].offset;
		insn->imm_len = d->insn.raw.imm[0].size / 8;
	}
	insn->shape = find_shape(d, insn);
}

static void note_kind(const struct decoded *d, struct flow_insn *insn)
{
	if (d->insn.raw.imm[0].is_relative) {
		insn->kind = relative_kind(d);
		insn->rel_at = d->insn.raw.imm[0].offset;
		insn->rel_len = d->insn.raw.imm[0].size / 8;
		return;
	}
	insn->kind = other_kind(d);
	if (insn->kind == TRAMP_OP_PLAIN && insn->rip)
		insn->kind = TRAMP_OP_RIP;
}

static void decode_slowly(struct flow_decoder *decoder, const uint8_t *code, size_t avail,
			  struct flow_insn *insn)
{
	struct decoded d;

	memset(insn, 0, sizeof(*insn));
	memset(d.operands, 0, 3 * sizeof(d.operands[0])); /* looked at whatever their number */
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder->zydis, code, avail, &d.insn, d.operands)))
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
		decode_slowly(decoder, bytes, FLOW_KEY_BYTES, insn);
		if (key)
			*slot = (struct slot){ .key = key, .insn = *insn };
	}
	mind_immediate(bytes, insn);
	if (insn->len <= avail)
		return insn->len != 0;
	insn->len = 0;
	return false;
}
