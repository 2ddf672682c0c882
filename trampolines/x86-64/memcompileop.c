// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Operations of the machine as instructions.
 */
#include "trampolines/x86-64/memcompile.h"

enum { ALU_OR = 1, ALU_AND = 4, ALU_SUB = 5, ALU_XOR = 6 };
enum { ROTATE_LEFT = 0, SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_SIGNED = 7 };

/* ---- addresses ---- */

/* Into rax, or, if @width is 4 or 8, into the register of op->dst, at this width; flags stay. */
static void address(struct mxc_build *b, const struct mx_op *op, unsigned int width)
{
	struct mxc_mem m = { .base = mxc_get_or_none(b, op->base), .index = mxc_get_or_none(b, op->index), .scale = op->scale };
	uint8_t dst = width ? mxc_set(b, op->dst) : (uint8_t)MXC_RAX;
	uint64_t imm = width == 4 ? (uint32_t)op->imm : (uint64_t)op->imm;

	if (m.base == MXC_NONE && m.index == MXC_NONE) {
		mxc_imm(&b->a, dst, imm);
		return;
	}
	if (mxc_fits(op->imm)) {
		m.disp = (int32_t)op->imm;
	} else {
		mxc_imm(&b->a, MXC_RAX, imm);
		if (m.base != MXC_NONE)
			mxc_lea(&b->a, MXC_RAX, (struct mxc_mem){ .base = MXC_RAX, .index = m.base });
		m.base = MXC_RAX;
	}
	mxc_rm_mem(&b->a, width ? width : 8, 0x8d, dst, m);
}

static void lea(struct mxc_build *b, const struct mx_op *op)
{
	address(b, op, op->width >= 4 ? op->width : 0);
	if (op->width < 4)
		mxc_put(b, op);
}

static void access(struct mxc_build *b, const struct mx_op *op)
{
	struct mxc_mem to = { .base = MXC_R14, .index = MXC_NONE };
	uint32_t meta[4] = { op->size, op->kind, (uint32_t)op->insn, (uint32_t)(op->insn >> 32) };
	uint8_t reg = MXC_RAX;

	to.disp = (int32_t)(b->at_access * sizeof(struct mx_access));
	if (op->imm == 0 && op->index == MX_ZERO && op->base != MX_ZERO)
		reg = mxc_get(b, op->base);
	else
		address(b, op, 0);
	mxc_store(&b->a, to, reg);
	mxc_constant(b, mxc_rm_rip(&b->a, 4, 0x0f10, 0), meta);
	to.disp += (int32_t)offsetof(struct mx_access, size);
	mxc_rm_mem(&b->a, 4, 0x0f11, 0, to);
	b->at_access++;
}

void mxc_add(const struct mxc_build *b, const struct mx_op *op, uint32_t sums[2][4])
{
	if (b->mode == MXE_COUNT_PLAIN && op->kind & MD_STACK)
		return;
	sums[0][op->kind & MD_KIND]++;
	sums[1][op->kind & MD_KIND] += op->size;
}

/* ---- values ---- */

static void value(struct mxc_build *b, const struct mx_op *op)
{
	struct mxc_mem from = { .base = MXC_R12, .index = MXC_NONE, .disp = (int32_t)b->at_word };
	uint8_t dst = mxc_set(b, op->dst);

	if (op->code == MD_VALUE)
		mxc_load(&b->a, dst, from);
	else if (op->code == MD_VALUE_U32)
		mxc_rm_mem(&b->a, 4, 0x8b, dst, from);
	else
		mxc_rm_mem(&b->a, 8, 0x63, dst, from);
	b->at_word += op->words;
}

/* ---- computing ---- */

static void alu(struct mxc_build *b, const struct mx_op *op, unsigned int ext)
{
	mxc_get_to(b, MXC_RAX, op->base);
	if (op->index == MX_ZERO && mxc_fits(op->imm))
		mxc_alu_imm(&b->a, 8, ext, MXC_RAX, (int32_t)op->imm);
	else
		mxc_rm(&b->a, 8, ext << 3 | 3, MXC_RAX, mxc_operand(b, op));
	mxc_put(b, op);
}

static void multiply(struct mxc_build *b, const struct mx_op *op)
{
	mxc_get_to(b, MXC_RAX, op->base);
	mxc_rm(&b->a, 8, 0x0faf, MXC_RAX, mxc_operand(b, op));
	mxc_put(b, op);
}

/* @reg's low bytes, to 64 bits. */
static void extend(struct mxc_build *b, uint8_t dst, uint8_t reg, unsigned int width, bool sign)
{
	static const struct {
		uint8_t width;
		uint16_t op;
	} how[2][4] = {
		{ { 1, 0x0fb6 }, { 4, 0x0fb7 }, { 4, 0x8b }, { 8, 0x8b } },
		{ { 8, 0x0fbe }, { 8, 0x0fbf }, { 8, 0x63 }, { 8, 0x8b } },
	};
	unsigned int i = (unsigned int)__builtin_ctz(width);

	mxc_rm(&b->a, how[sign][i].width, how[sign][i].op, dst, reg);
}

static void shift_by(struct mxc_build *b, const struct mx_op *op, unsigned int width, unsigned int ext, unsigned int mask)
{
	if (op->index == MX_ZERO) {
		mxc_rm(&b->a, width, width == 1 ? 0xc0 : 0xc1, (uint8_t)ext, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)((uint64_t)op->imm & mask));
		return;
	}
	mxc_mov(&b->a, MXC_RCX, mxc_get(b, op->index));
	mxc_alu_imm(&b->a, 4, ALU_AND, MXC_RCX, (int32_t)mask);
	mxc_rm(&b->a, width, width == 1 ? 0xd2 : 0xd3, (uint8_t)ext, MXC_RAX);
}

static void shift(struct mxc_build *b, const struct mx_op *op, unsigned int ext)
{
	mxc_get_to(b, MXC_RAX, op->base);
	if (ext != SHIFT_LEFT)
		extend(b, MXC_RAX, MXC_RAX, op->width, ext == SHIFT_SIGNED);
	shift_by(b, op, 8, ext, op->width == 8 ? 63 : 31);
	mxc_put(b, op);
}

static void rotate(struct mxc_build *b, const struct mx_op *op)
{
	mxc_get_to(b, MXC_RAX, op->base);
	shift_by(b, op, op->width, ROTATE_LEFT, op->width * 8u - 1);
	mxc_put(b, op);
}

static void upper_half(struct mxc_build *b, const struct mx_op *op, bool sign)
{
	mxc_get_to(b, MXC_RAX, op->base);
	mxc_operand_to(b, MXC_RCX, op);
	if (op->width == 8) {
		mxc_u8(&b->a, 0x52);				/* push %rdx */
		mxc_rm(&b->a, 8, 0xf7, sign ? 5 : 4, MXC_RCX);	/* [i]mul %rcx */
		mxc_mov(&b->a, MXC_RAX, MXC_RDX);
		mxc_u8(&b->a, 0x5a);				/* pop %rdx */
	} else {
		extend(b, MXC_RAX, MXC_RAX, op->width, sign);
		extend(b, MXC_RCX, MXC_RCX, op->width, sign);
		mxc_rm(&b->a, 8, 0x0faf, MXC_RAX, MXC_RCX);
		mxc_rm(&b->a, 8, 0xc1, SHIFT_RIGHT, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)(op->width * 8));
	}
	mxc_put(b, op);
}

static void reverse(struct mxc_build *b, const struct mx_op *op)
{
	mxc_get_to(b, MXC_RAX, op->base);
	mxc_u8(&b->a, 0x48);		/* bswap %rax */
	mxc_u8(&b->a, 0x0f);
	mxc_u8(&b->a, 0xc8);
	mxc_rm(&b->a, 8, 0xc1, SHIFT_RIGHT, MXC_RAX);
	mxc_u8(&b->a, (uint8_t)(64 - op->width * 8));
	mxc_put(b, op);
}

static void extension(struct mxc_build *b, const struct mx_op *op)
{
	uint8_t reg, dst;

	if (op->base == MX_ZERO) {
		mxc_imm(&b->a, mxc_set(b, op->dst), 0);
		return;
	}
	reg = mxc_get(b, op->base);
	dst = mxc_set(b, op->dst);
	extend(b, dst, reg, op->width, op->code == MD_SEXT);
	if (op->scale == 2)
		mxc_rm(&b->a, 4, 0x8b, dst, dst);
}

/* ---- all ---- */

bool mxc_op_possible(const struct mx_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
	case MD_LEA:
	case MD_SUB:
	case MD_AND:
	case MD_OR:
	case MD_XOR:
	case MD_MUL:
	case MD_SHL:
	case MD_SHR:
	case MD_SAR:
	case MD_ROL:
	case MD_MULHU:
	case MD_MULHS:
	case MD_BSWAP:
	case MD_SELECT:
	case MD_SEXT:
	case MD_ZEXT:
	case MD_FLAGS:
	case MD_ACCESS:
		return true;
	}
	return false;
}

static void compute(struct mxc_build *b, const struct mx_op *op)
{
	switch (op->code) {
	case MD_LEA:
		lea(b, op);
		break;
	case MD_SUB:
		alu(b, op, ALU_SUB);
		break;
	case MD_AND:
		alu(b, op, ALU_AND);
		break;
	case MD_OR:
		alu(b, op, ALU_OR);
		break;
	case MD_XOR:
		alu(b, op, ALU_XOR);
		break;
	case MD_MUL:
		multiply(b, op);
		break;
	case MD_SHL:
		shift(b, op, SHIFT_LEFT);
		break;
	case MD_SHR:
		shift(b, op, SHIFT_RIGHT);
		break;
	case MD_SAR:
		shift(b, op, SHIFT_SIGNED);
		break;
	case MD_ROL:
		rotate(b, op);
		break;
	case MD_MULHU:
	case MD_MULHS:
		upper_half(b, op, op->code == MD_MULHS);
		break;
	case MD_BSWAP:
		reverse(b, op);
		break;
	default:
		extension(b, op);
	}
}

void mxc_op(struct mxc_build *b, const struct mx_node *node, uint32_t i)
{
	const struct mx_op *op = &node->ops[i];

	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		value(b, op);
		break;
	case MD_ACCESS:
		if (b->mode == MXE_NEXT)
			access(b, op);
		else
			mxc_add(b, op, b->sums);
		break;
	case MD_FLAGS:
		mxc_flags(b, node, i);
		break;
	case MD_SELECT:
		mxc_select(b, node, i);
		break;
	default:
		compute(b, op);
	}
}
