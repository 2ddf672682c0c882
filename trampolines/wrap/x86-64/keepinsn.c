// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/wrap/x86-64/keepinsn.h"

#include <string.h>

#include <Zydis/Zydis.h>

enum { CANARY_OFFSET = 0x28, NOT_SAVED = 0xff };

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* By the processor's number. */
static const uint8_t gpr_index[16] = {
	KEEP_AX, KEEP_CX, KEEP_DX, NOT_SAVED, NOT_SAVED, NOT_SAVED, KEEP_SI, KEEP_DI,
	KEEP_8, KEEP_9, KEEP_10, KEEP_11, NOT_SAVED, NOT_SAVED, NOT_SAVED, NOT_SAVED,
};

static bool in_range(ZydisRegister reg, ZydisRegister first, ZydisRegister last)
{
	return reg >= first && reg <= last;
}

static keep_regs gpr_parts(unsigned int number, keep_regs per_ax)
{
	return gpr_index[number] == NOT_SAVED ? 0 : per_ax << gpr_index[number];
}

static keep_regs byte_parts(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_SPL)	/* spl.. bpl sil dil r8b..: behind ah ch dh bh */
		return gpr_parts(reg - ZYDIS_REGISTER_SPL + 4u, KEEP_LOW(0));
	if (reg >= ZYDIS_REGISTER_AH)
		return gpr_parts(reg - ZYDIS_REGISTER_AH, KEEP_MIDDLE(0));
	return gpr_parts(reg - ZYDIS_REGISTER_AL, KEEP_LOW(0));
}

static keep_regs vector_parts(unsigned int number, bool whole)
{
	if (number >= 16)
		return KEEP_HIVEC;
	return KEEP_XMM(number) | (whole ? KEEP_UPPER(number) : 0);
}

static keep_regs parts(ZydisRegister reg)
{
	if (in_range(reg, ZYDIS_REGISTER_AL, ZYDIS_REGISTER_R15B))
		return byte_parts(reg);
	if (in_range(reg, ZYDIS_REGISTER_AX, ZYDIS_REGISTER_R15W))
		return gpr_parts(reg - ZYDIS_REGISTER_AX, KEEP_LOW(0) | KEEP_MIDDLE(0));
	if (in_range(reg, ZYDIS_REGISTER_EAX, ZYDIS_REGISTER_R15D))
		return gpr_parts(reg - ZYDIS_REGISTER_EAX, KEEP_GPR(0));
	if (in_range(reg, ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R15))
		return gpr_parts(reg - ZYDIS_REGISTER_RAX, KEEP_GPR(0));
	if (in_range(reg, ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_XMM31))
		return vector_parts(reg - ZYDIS_REGISTER_XMM0, false);
	if (in_range(reg, ZYDIS_REGISTER_YMM0, ZYDIS_REGISTER_YMM31))
		return vector_parts(reg - ZYDIS_REGISTER_YMM0, true);
	if (in_range(reg, ZYDIS_REGISTER_ZMM0, ZYDIS_REGISTER_ZMM31))
		return vector_parts(reg - ZYDIS_REGISTER_ZMM0, true);
	if (in_range(reg, ZYDIS_REGISTER_K0, ZYDIS_REGISTER_K7))
		return KEEP_MASKS;
	return 0;
}

/* All vectors that legacy SSE does not encode are zeroed above what is written. */
static keep_regs written_parts(const struct decoded *d, ZydisRegister reg)
{
	if (d->insn.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	    in_range(reg, ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_XMM31))
		return vector_parts(reg - ZYDIS_REGISTER_XMM0, true);
	return parts(reg);
}

static bool is_register(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_imm(const ZydisDecodedOperand *o, int64_t value)
{
	return o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.value.s == value;
}

/* The result does not depend on the registers if both sources are the same one. */
static bool ignores_equal(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_SBB:	/* by the carry alone */
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

/*
 * Scalar operations that take the rest of their result from the destination (VEX: from the first
 * source). Compilers mean the scalar alone: to them nothing is read, and all is written.
 */
static bool merges(ZydisMnemonic m)
{
	switch (m) {
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

/* The index of an operand that is formally read, but means nothing; -1 = none, -2 = all. */
static int meaningless(const struct decoded *d)
{
	const ZydisDecodedOperand *o = d->operands;
	ZydisMnemonic m = d->insn.mnemonic;
	int sources = d->insn.operand_count_visible - 2;

	if (m == ZYDIS_MNEMONIC_NOP)
		return -2;
	if (merges(m))
		return d->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ? 0 : 1;
	if ((m == ZYDIS_MNEMONIC_OR && is_imm(&o[1], -1)) ||
	    (m == ZYDIS_MNEMONIC_AND && is_imm(&o[1], 0)))
		return 0;
	if (sources >= 0 && is_register(&o[sources]) && is_register(&o[sources + 1]) &&
	    o[sources].reg.value == o[sources + 1].reg.value &&
	    (ignores_equal(m) || m == ZYDIS_MNEMONIC_XCHG))
		return -2;
	return -1;
}

/*
 * Whoever writes the lower 8 or 16 bits of a register has done with the rest, which is then read
 * for no more than convenience: compilers calculate with 32 bits where 8 are meant.
 */
static void note_register(const struct decoded *d, int i, int skip, struct keep_op *op)
{
	const ZydisDecodedOperand *o = &d->operands[i];
	keep_regs written = written_parts(d, o->reg.value), low = written & KEEP_LOWS;

	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ && skip != i && skip != -2)
		op->use |= parts(o->reg.value);
	if (o->actions & ZYDIS_OPERAND_ACTION_WRITE)
		op->def |= written | low << 9 | low << 18;
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		op->touched |= written;
}

static void note_memory(const ZydisDecodedOperand *o, int skip, struct keep_op *op)
{
	if (skip == -2)
		return;
	op->use |= parts(o->mem.base) | parts(o->mem.index);
	if (o->mem.segment == ZYDIS_REGISTER_FS && o->mem.disp.value == CANARY_OFFSET)
		op->canary = true;
	if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
		return;
	if (o->mem.base == ZYDIS_REGISTER_RSP)
		op->base = KEEP_BASE_RSP;
	else if (o->mem.base == ZYDIS_REGISTER_RBP)
		op->base = KEEP_BASE_RBP;
	op->disp = (int32_t)o->mem.disp.value;
}

static void note_operands(const struct decoded *d, struct keep_op *op)
{
	int skip = meaningless(d);

	for (int i = 0; i < d->insn.operand_count; i++) {
		if (is_register(&d->operands[i]))
			note_register(d, i, skip, op);
		else if (d->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			note_memory(&d->operands[i], skip, op);
	}
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_NOP || d->insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		op->use = op->def = op->touched = 0;
}

static bool writes(const struct decoded *d, ZydisRegister reg)
{
	for (int i = 0; i < d->insn.operand_count_visible; i++) {
		if (is_register(&d->operands[i]) && d->operands[i].reg.value == reg &&
		    d->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return true;
	}
	return false;
}

static void set_stack(struct keep_op *op, enum keep_stack stack, int64_t amount)
{
	op->stack = (uint8_t)stack;
	op->amount = (int32_t)amount;
}

static void note_rsp_write(const struct decoded *d, struct keep_op *op)
{
	const ZydisDecodedOperand *from = &d->operands[1];

	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
		if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			set_stack(op, KEEP_STACK_MOVE, -from->imm.value.s);
		break;
	case ZYDIS_MNEMONIC_ADD:
		if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			set_stack(op, KEEP_STACK_MOVE, from->imm.value.s);
		break;
	case ZYDIS_MNEMONIC_AND:
		if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && (from->imm.value.s & 15) == 0)
			set_stack(op, KEEP_STACK_ALIGN, 0);
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (is_register(from) && from->reg.value == ZYDIS_REGISTER_RBP)
			set_stack(op, KEEP_STACK_FROM_RBP, 0);
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (from->mem.index != ZYDIS_REGISTER_NONE)
			break;
		if (from->mem.base == ZYDIS_REGISTER_RBP)
			set_stack(op, KEEP_STACK_FROM_RBP, from->mem.disp.value);
		else if (from->mem.base == ZYDIS_REGISTER_RSP)
			set_stack(op, KEEP_STACK_MOVE, from->mem.disp.value);
		op->base = KEEP_BASE_OTHER;
		break;
	default:
		break;
	}
}

static void note_rbp_write(const struct decoded *d, struct keep_op *op)
{
	const ZydisDecodedOperand *from = &d->operands[1];

	set_stack(op, KEEP_STACK_NO_RBP, 0);
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_MOV && is_register(from) &&
	    from->reg.value == ZYDIS_REGISTER_RSP)
		set_stack(op, KEEP_STACK_TO_RBP, 0);
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_LEA && from->mem.base == ZYDIS_REGISTER_RSP &&
	    from->mem.index == ZYDIS_REGISTER_NONE)
		set_stack(op, KEEP_STACK_TO_RBP, from->mem.disp.value);
}

static void note_stack(const struct decoded *d, struct keep_op *op)
{
	int width = d->insn.operand_width / 8;

	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		op->push = is_register(&d->operands[0]);
		set_stack(op, KEEP_STACK_MOVE, -width);
		break;
	case ZYDIS_MNEMONIC_PUSHFQ:
		set_stack(op, KEEP_STACK_MOVE, -8);
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		set_stack(op, KEEP_STACK_MOVE, 8);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (writes(d, ZYDIS_REGISTER_RBP))
			set_stack(op, KEEP_STACK_POP_RBP, 0);
		else
			set_stack(op, KEEP_STACK_MOVE, width);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		set_stack(op, KEEP_STACK_FROM_RBP, 8);
		break;
	default:
		if (writes(d, ZYDIS_REGISTER_RSP))
			note_rsp_write(d, op);
		else if (writes(d, ZYDIS_REGISTER_RBP) || writes(d, ZYDIS_REGISTER_EBP))
			note_rbp_write(d, op);
	}
}

static int gpr_number(ZydisRegister reg)
{
	if (!in_range(reg, ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R15))
		return -1;
	return (int)reg - ZYDIS_REGISTER_RAX;
}

/*
 * Jump tables are read as mov table(,%i,8),%r or, where they hold distances, movslq (%t,%i,4),%r
 * and add %t,%r. No pointer to a function comes from an addition; one from an array of functions
 * looks like the first, and is taken for a jump table.
 */
static void note_table(const struct decoded *d, uint32_t *tables)
{
	const ZydisDecodedOperand *o = d->operands;
	ZydisMnemonic m = d->insn.mnemonic;
	int to = is_register(&o[0]) ? gpr_number(o[0].reg.value) : -1;
	bool loads = (m == ZYDIS_MNEMONIC_MOV || m == ZYDIS_MNEMONIC_MOVSXD) &&
		     o[1].type == ZYDIS_OPERAND_TYPE_MEMORY && o[1].mem.scale >= 4;

	if (to < 0 || !(o[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	if (loads || (m == ZYDIS_MNEMONIC_ADD && is_register(&o[1])))
		*tables |= 1u << to;
	else
		*tables &= ~(1u << to);
}

static enum keep_flow indirect_jump(const struct decoded *d, uint32_t tables)
{
	const ZydisDecodedOperand *o = &d->operands[0];
	int number;

	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return o->mem.scale == 8 ? KEEP_JMP_TABLE : KEEP_JMP_OUT;
	number = is_register(o) ? gpr_number(o->reg.value) : -1;
	return number >= 0 && tables & 1u << number ? KEEP_JMP_TABLE : KEEP_JMP_OUT;
}

static enum keep_flow branch_flow(const struct decoded *d, uint32_t tables)
{
	bool direct = d->insn.raw.imm[0].is_relative;

	switch (d->insn.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return direct ? KEEP_CALL : KEEP_CALL_OUT;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? KEEP_JMP : indirect_jump(d, tables);
	case ZYDIS_CATEGORY_COND_BR:
		return direct ? KEEP_JCC : KEEP_BAD;
	case ZYDIS_CATEGORY_RET:
		return KEEP_RET;
	default:
		return KEEP_NEXT;
	}
}

static enum keep_flow flow_of(const struct decoded *d, uint32_t tables)
{
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		return KEEP_STOP;
	case ZYDIS_MNEMONIC_SYSCALL:
		return KEEP_SYSCALL;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_XABORT:
		return KEEP_BAD;
	default:
		return branch_flow(d, tables);
	}
}

static void note_special(const struct decoded *d, struct keep_op *op)
{
	const ZydisDecodedOperand *o = d->operands;

	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_VZEROUPPER:
		op->def = op->touched = KEEP_UPPERS;
		break;
	case ZYDIS_MNEMONIC_VZEROALL:
		op->def = op->touched = KEEP_UPPERS | (KEEP_UPPERS >> 16);
		break;
	case ZYDIS_MNEMONIC_SYSCALL:
		op->def |= KEEP_GPR(KEEP_AX) | KEEP_GPR(KEEP_CX) | KEEP_GPR(KEEP_11);
		op->touched |= op->def;
		op->use = KEEP_GPR(KEEP_AX);
		break;
	case ZYDIS_MNEMONIC_TEST:
		op->variadic = is_register(&o[0]) && is_register(&o[1]) &&
			       o[0].reg.value == ZYDIS_REGISTER_AL &&
			       o[1].reg.value == ZYDIS_REGISTER_AL;
		break;
	default:
		break;
	}
}

void tramp_keep_insn(const uint8_t *code, size_t avail, uint64_t addr, uint32_t *tables,
	       struct keep_op *op)
{
	ZydisDecoder decoder;
	struct decoded d;

	*op = (struct keep_op){ .length = 1, .flow = KEEP_BAD };
	memset(d.operands, 0, 2 * sizeof(d.operands[0]));	/* looked at whatever their number */
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, avail, &d.insn, d.operands)))
		return;
	op->length = d.insn.length;
	op->flow = (uint8_t)flow_of(&d, *tables);
	note_operands(&d, op);
	note_special(&d, op);
	if (op->flow == KEEP_NEXT) {
		note_stack(&d, op);
		note_table(&d, tables);
	} else if (d.insn.raw.imm[0].is_relative) {
		op->target = addr + d.insn.length + d.insn.raw.imm[0].value.u;
	}
}
