// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/memory/x86-64/facts.h"

enum { TEMP = MD_TEMP };

/* ---- arithmetic ---- */

/* dst = a op b; b is a register or an immediate. */
static void note_op(struct mem_insn *in, enum md_code code, const ZydisDecodedOperand *a,
		    const ZydisDecodedOperand *b)
{
	const ZydisDecodedOperand *dst = &in->z.o[0];
	struct md_op op = {
		.code = (uint8_t)code, .width = mem_bytes_of(dst), .index = MD_NONE,
	};

	if (!mem_is_usable(dst) || !mem_is_usable(a) || !(mem_is_usable(b) || tramp_zydis_is_imm(b)))
		return;
	op.dst = mem_reg_of(dst);
	op.base = mem_reg_of(a);
	if (tramp_zydis_is_imm(b))
		op.imm = b->imm.value.s;
	else
		op.index = mem_reg_of(b);
	mem_add_compute(in, op);
}

static void note_difference(struct mem_insn *in, enum md_code code)
{
	if (!mem_is_same(in))
		note_op(in, code, &in->z.o[0], &in->z.o[1]);
	else if (mem_is_usable(&in->z.o[0]))
		mem_add_lea(in, mem_reg_of(&in->z.o[0]), MD_NONE, 0, mem_bytes_of(&in->z.o[0]));
}

static void note_plus(struct mem_insn *in, int64_t imm)
{
	if (mem_is_usable(&in->z.o[0]))
		mem_add_lea(in, mem_reg_of(&in->z.o[0]), mem_reg_of(&in->z.o[0]), imm,
			    mem_bytes_of(&in->z.o[0]));
}

static void note_neg(struct mem_insn *in)
{
	if (mem_is_usable(&in->z.o[0]))
		mem_add_compute(in, (struct md_op){
			.code = MD_SUB, .dst = mem_reg_of(&in->z.o[0]), .base = MD_NONE,
			.index = mem_reg_of(&in->z.o[0]), .width = mem_bytes_of(&in->z.o[0]),
		});
}

static void note_not(struct mem_insn *in)
{
	if (mem_is_usable(&in->z.o[0]))
		mem_add_compute(in, (struct md_op){
			.code = MD_XOR, .dst = mem_reg_of(&in->z.o[0]), .base = mem_reg_of(&in->z.o[0]),
			.index = MD_NONE, .width = mem_bytes_of(&in->z.o[0]), .imm = -1,
		});
}

/* By a count in cl or an immediate: the processor takes it modulo 32, or 64. */
static void note_shift(struct mem_insn *in, enum md_code code)
{
	ZydisDecodedOperand *count = &in->z.o[1];

	if (tramp_zydis_is_imm(count)) {
		count->imm.value.u &= in->z.o[0].size == 64 ? 63 : 31;
		if (count->imm.value.u >= in->z.o[0].size)
			return;
	} else if (in->z.o[0].size < 32) {
		return;
	}
	note_op(in, code, &in->z.o[0], count);
}

/* shlx and the like. */
static void note_shift3(struct mem_insn *in, enum md_code code)
{
	note_op(in, code, &in->z.o[1], &in->z.o[2]);
}

/* Into rdx:rax. */
static void note_wide_product(struct mem_insn *in, enum md_code upper)
{
	uint8_t src = mem_reg_of(&in->z.o[0]), width = mem_bytes_of(&in->z.o[0]);

	if (!mem_is_usable(&in->z.o[0]) || width == 1)
		return;
	mem_add_compute(in, (struct md_op){
		.code = (uint8_t)upper, .dst = TEMP, .base = TRAMP_RAX, .index = src,
		.width = width,
	});
	mem_add_compute(in, (struct md_op){
		.code = MD_MUL, .dst = TRAMP_RAX, .base = TRAMP_RAX, .index = src, .width = width,
	});
	mem_add_lea(in, TRAMP_RDX, TEMP, 0, width);
}

static void note_imul(struct mem_insn *in)
{
	if (in->z.insn.operand_count_visible == 3)
		note_op(in, MD_MUL, &in->z.o[1], &in->z.o[2]);
	else if (in->z.insn.operand_count_visible == 2)
		note_op(in, MD_MUL, &in->z.o[0], &in->z.o[1]);
	else
		note_wide_product(in, MD_MULHS);
}

/* If both results are the same register, it is the upper half. */
static void note_mulx(struct mem_insn *in)
{
	uint8_t src = mem_reg_of(&in->z.o[2]), width = mem_bytes_of(&in->z.o[0]);

	if (!mem_is_usable(&in->z.o[2]))
		return;
	mem_add_compute(in, (struct md_op){
		.code = MD_MULHU, .dst = TEMP, .base = TRAMP_RDX, .index = src, .width = width,
	});
	mem_add_compute(in, (struct md_op){
		.code = MD_MUL, .dst = mem_reg_of(&in->z.o[1]), .base = TRAMP_RDX, .index = src,
		.width = width,
	});
	mem_add_lea(in, mem_reg_of(&in->z.o[0]), TEMP, 0, width);
}

static void note_andn(struct mem_insn *in)
{
	uint8_t width = mem_bytes_of(&in->z.o[0]);

	if (!mem_is_usable(&in->z.o[2]))
		return;
	mem_add_compute(in, (struct md_op){
		.code = MD_XOR, .dst = TEMP, .base = mem_reg_of(&in->z.o[1]), .index = MD_NONE,
		.width = width, .imm = -1,
	});
	mem_add_compute(in, (struct md_op){
		.code = MD_AND, .dst = mem_reg_of(&in->z.o[0]), .base = TEMP,
		.index = mem_reg_of(&in->z.o[2]), .width = width,
	});
}

/* blsr: a & (a - 1); blsmsk: a ^ (a - 1) */
static void note_lowest(struct mem_insn *in, enum md_code code)
{
	uint8_t width = mem_bytes_of(&in->z.o[0]);

	if (!mem_is_usable(&in->z.o[1]))
		return;
	mem_add_lea(in, TEMP, mem_reg_of(&in->z.o[1]), -1, width);
	mem_add_compute(in, (struct md_op){
		.code = (uint8_t)code, .dst = mem_reg_of(&in->z.o[0]), .base = TEMP,
		.index = mem_reg_of(&in->z.o[1]), .width = width,
	});
}

/* ---- moves ---- */

static void note_mov(struct mem_insn *in)
{
	const ZydisDecodedOperand *to = &in->z.o[0], *from = &in->z.o[1];

	if (!mem_is_usable(to))
		return;
	if (tramp_zydis_is_imm(from))
		mem_add_lea(in, mem_reg_of(to), MD_NONE, from->imm.value.s, mem_bytes_of(to));
	else if (mem_is_usable(from))
		mem_add_lea(in, mem_reg_of(to), mem_reg_of(from), 0, mem_bytes_of(to));
}

/* movzx %ah, %ecx: the machine has no name for the source. */
static void note_high(struct mem_insn *in, enum md_code code)
{
	mem_add_compute(in, (struct md_op){
		.code = MD_SHR, .dst = TEMP, .base = mem_reg_of(&in->z.o[1]), .index = MD_NONE,
		.width = 8, .imm = 8,
	});
	mem_add_compute(in, (struct md_op){
		.code = (uint8_t)code, .dst = mem_reg_of(&in->z.o[0]), .base = TEMP, .index = MD_NONE,
		.scale = in->z.o[0].size == 32 ? 2 : 0, .width = 1,
	});
}

static void extend(struct mem_insn *in, enum md_code code, uint8_t dst, uint8_t src, uint8_t width,
		   uint16_t bits)
{
	mem_add_compute(in, (struct md_op){
		.code = (uint8_t)code, .dst = dst, .base = src, .index = MD_NONE,
		.scale = bits == 32 ? 2 : 0, .width = width,
	});
}

static void note_extend(struct mem_insn *in, enum md_code code)
{
	const ZydisDecodedOperand *to = &in->z.o[0], *from = &in->z.o[1];

	if (!tramp_zydis_is_reg(from) || to->size < 32)
		return;
	if (tramp_zydis_is_high(from->reg.value))
		note_high(in, code);
	else
		extend(in, code, mem_reg_of(to), mem_reg_of(from), mem_bytes_of(from), to->size);
}

static void note_lea(struct mem_insn *in)
{
	struct mem_place p = mem_operand(in, &in->z.o[1]);
	uint8_t width = mem_bytes_of(&in->z.o[0]);

	mem_add_compute(in, (struct md_op){
		.code = MD_LEA, .dst = mem_reg_of(&in->z.o[0]), .base = p.base, .index = p.index,
		.scale = p.scale, .imm = p.disp,
		.width = in->z.insn.address_width == 32 && width > 4 ? 4 : width,
	});
}

/* Into rdx what rax has for a sign. */
static void note_sign(struct mem_insn *in, uint8_t width)
{
	mem_add_compute(in, (struct md_op){
		.code = MD_SAR, .dst = TRAMP_RDX, .base = TRAMP_RAX, .index = MD_NONE,
		.width = width, .imm = 8 * width - 1,
	});
}

static void note_xchg(struct mem_insn *in)
{
	uint8_t a = mem_reg_of(&in->z.o[0]), b = mem_reg_of(&in->z.o[1]),
			       width = mem_bytes_of(&in->z.o[0]);

	if (!mem_is_usable(&in->z.o[0]) || !mem_is_usable(&in->z.o[1]))
		return;
	mem_add_lea(in, TEMP, a, 0, 8);
	mem_add_lea(in, a, b, 0, width);
	mem_add_lea(in, b, TEMP, 0, width);
}

/* ---- the stack pointer ---- */

static void move_rsp(struct mem_insn *in, int64_t by)
{
	mem_add_lea(in, TRAMP_RSP, TRAMP_RSP, by, 8);
}

static int64_t word(const struct mem_insn *in)
{
	return in->z.insn.operand_width == 16 ? 2 : 8;
}

static void note_pop(struct mem_insn *in)
{
	if (!tramp_zydis_is_reg(&in->z.o[0]) || mem_reg_of(&in->z.o[0]) != TRAMP_RSP)
		move_rsp(in, word(in));
}

static void note_ret(struct mem_insn *in)
{
	move_rsp(in, tramp_zydis_is_imm(&in->z.o[0]) ? 8 + (int64_t)(in->z.o[0].imm.value.u & 0xffff) : 8);
}

static void note_enter(struct mem_insn *in)
{
	mem_add_lea(in, TRAMP_RBP, TRAMP_RSP, -8, 8);
	move_rsp(in, -8 - (int64_t)(in->z.o[0].imm.value.u & 0xffff));
}

static bool note_stack(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		move_rsp(in, -word(in));
		return true;
	case ZYDIS_MNEMONIC_CALL:
		move_rsp(in, -8);
		return true;
	case ZYDIS_MNEMONIC_POP:
		note_pop(in);
		return true;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		move_rsp(in, word(in));
		return true;
	case ZYDIS_MNEMONIC_RET:
		note_ret(in);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		mem_add_lea(in, TRAMP_RSP, TRAMP_RBP, 8, 8);
		return true;
	case ZYDIS_MNEMONIC_ENTER:
		note_enter(in);
		return true;
	default:
		return false;
	}
}

/* ---- all ---- */

static bool note_arithmetic(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		if (tramp_zydis_is_imm(&in->z.o[1]))
			note_plus(in, in->z.o[1].imm.value.s);
		else if (mem_is_usable(&in->z.o[0]) && mem_is_usable(&in->z.o[1]))
			mem_add_compute(in, (struct md_op){
				.code = MD_LEA, .dst = mem_reg_of(&in->z.o[0]),
				.base = mem_reg_of(&in->z.o[0]), .index = mem_reg_of(&in->z.o[1]),
				.width = mem_bytes_of(&in->z.o[0]),
			});
		return true;
	case ZYDIS_MNEMONIC_SUB:
		note_difference(in, MD_SUB);
		return true;
	case ZYDIS_MNEMONIC_XOR:
		note_difference(in, MD_XOR);
		return true;
	case ZYDIS_MNEMONIC_AND:
		note_op(in, MD_AND, &in->z.o[0], &in->z.o[1]);
		return true;
	case ZYDIS_MNEMONIC_OR:
		note_op(in, MD_OR, &in->z.o[0], &in->z.o[1]);
		return true;
	case ZYDIS_MNEMONIC_INC:
		note_plus(in, 1);
		return true;
	case ZYDIS_MNEMONIC_DEC:
		note_plus(in, -1);
		return true;
	case ZYDIS_MNEMONIC_NEG:
		note_neg(in);
		return true;
	case ZYDIS_MNEMONIC_NOT:
		note_not(in);
		return true;
	case ZYDIS_MNEMONIC_IMUL:
		note_imul(in);
		return true;
	case ZYDIS_MNEMONIC_MUL:
		note_wide_product(in, MD_MULHU);
		return true;
	case ZYDIS_MNEMONIC_MULX:
		note_mulx(in);
		return true;
	case ZYDIS_MNEMONIC_ANDN:
		note_andn(in);
		return true;
	case ZYDIS_MNEMONIC_BLSR:
		note_lowest(in, MD_AND);
		return true;
	case ZYDIS_MNEMONIC_BLSMSK:
		note_lowest(in, MD_XOR);
		return true;
	default:
		return false;
	}
}

static bool note_shifts(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_SHL:
		note_shift(in, MD_SHL);
		return true;
	case ZYDIS_MNEMONIC_SHR:
		note_shift(in, MD_SHR);
		return true;
	case ZYDIS_MNEMONIC_SAR:
		note_shift(in, MD_SAR);
		return true;
	case ZYDIS_MNEMONIC_SHLX:
		note_shift3(in, MD_SHL);
		return true;
	case ZYDIS_MNEMONIC_SHRX:
		note_shift3(in, MD_SHR);
		return true;
	case ZYDIS_MNEMONIC_SARX:
		note_shift3(in, MD_SAR);
		return true;
	default:
		return false;
	}
}

static void note_moves(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		note_mov(in);
		break;
	case ZYDIS_MNEMONIC_LEA:
		note_lea(in);
		break;
	case ZYDIS_MNEMONIC_MOVZX:
		note_extend(in, MD_ZEXT);
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		note_extend(in, MD_SEXT);
		break;
	case ZYDIS_MNEMONIC_CDQE:
		extend(in, MD_SEXT, TRAMP_RAX, TRAMP_RAX, 4, 64);
		break;
	case ZYDIS_MNEMONIC_CWDE:
		extend(in, MD_SEXT, TRAMP_RAX, TRAMP_RAX, 2, 32);
		break;
	case ZYDIS_MNEMONIC_CWD:
		note_sign(in, 2);
		break;
	case ZYDIS_MNEMONIC_CDQ:
		note_sign(in, 4);
		break;
	case ZYDIS_MNEMONIC_CQO:
		note_sign(in, 8);
		break;
	case ZYDIS_MNEMONIC_XCHG:
		note_xchg(in);
		break;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		mem_add_lea(in, TRAMP_RCX, TRAMP_RCX, -1, in->z.insn.address_width == 32 ? 4 : 8);
		break;
	default:
		break;
	}
}

void mem_note_computes(struct mem_insn *in)
{
	if (!note_stack(in) && !note_arithmetic(in) && !note_shifts(in) &&
	    !mem_note_bits(in))
		note_moves(in);
}
