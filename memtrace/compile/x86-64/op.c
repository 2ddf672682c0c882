// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Operations of the machine as instructions.
 */
#include "memtrace/compile/x86-64/compile.h"

enum { ALU_OR = 1, ALU_AND = 4, ALU_SUB = 5, ALU_XOR = 6, ALU_CMP = 7 };
enum { ROTATE_LEFT = 0, SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_SIGNED = 7 };

/* ---- addresses ---- */

/* Into rax, or, if @width is 4 or 8, into the register of op->dst, at this width; flags stay. */
static void address(struct mtc_build *b, const struct mt_op *op, unsigned int width)
{
	struct mtc_mem m = { .base = mtc_get_or_none(b, op->base), .index = mtc_get_or_none(b, op->index), .scale = op->scale };
	uint8_t dst = width ? mtc_set(b, op->dst) : (uint8_t)MTC_RAX;
	uint64_t imm = width == 4 ? (uint32_t)op->imm : (uint64_t)op->imm;

	if (m.base == MTC_NONE && m.index == MTC_NONE) {
		mtc_imm(&b->a, dst, imm);
		return;
	}
	if (mtc_fits(op->imm)) {
		m.disp = (int32_t)op->imm;
	} else {
		mtc_imm(&b->a, MTC_RAX, imm);
		if (m.base != MTC_NONE)
			mtc_lea(&b->a, MTC_RAX, (struct mtc_mem){ .base = MTC_RAX, .index = m.base });
		m.base = MTC_RAX;
	}
	mtc_rm_mem(&b->a, width ? width : 8, 0x8d, dst, m);
}

static void lea(struct mtc_build *b, const struct mt_op *op)
{
	address(b, op, op->width >= 4 ? op->width : 0);
	if (op->width < 4)
		mtc_put(b, op);
}

static void access(struct mtc_build *b, const struct mt_op *op)
{
	struct mtc_mem to = { .base = MTC_R14, .index = MTC_NONE };
	uint32_t meta[4] = { op->size, op->kind, (uint32_t)op->insn, (uint32_t)(op->insn >> 32) };
	uint8_t reg = MTC_RAX;

	to.disp = (int32_t)(b->at_access * sizeof(struct mt_access));
	if (op->imm == 0 && op->index == MT_ZERO && op->base != MT_ZERO)
		reg = mtc_get(b, op->base);
	else
		address(b, op, 0);
	mtc_store(&b->a, to, reg);
	mtc_constant(b, mtc_rm_rip(&b->a, 4, 0x0f10, 0), meta);
	to.disp += (int32_t)offsetof(struct mt_access, size);
	mtc_rm_mem(&b->a, 4, 0x0f11, 0, to);
	b->at_access++;
}

void mtc_add(const struct mtc_build *b, const struct mt_op *op, uint32_t sums[2][4])
{
	if (op->kind == MD_FETCH || op->kind == MD_TIME || (b->mode == MT_COUNT_PLAIN && op->kind & MD_STACK))
		return;
	sums[0][op->kind & MD_KIND]++;
	sums[1][op->kind & MD_KIND] += op->size;
}

/* ---- values ---- */

static void value(struct mtc_build *b, const struct mt_op *op)
{
	struct mtc_mem from = { .base = MTC_R12, .index = MTC_NONE, .disp = (int32_t)b->at_word };
	uint8_t dst = mtc_set(b, op->dst);

	if (op->code == MD_VALUE)
		mtc_load(&b->a, dst, from);
	else if (op->code == MD_VALUE_U32)
		mtc_rm_mem(&b->a, 4, 0x8b, dst, from);
	else
		mtc_rm_mem(&b->a, 8, 0x63, dst, from);
	b->at_word += op->words;
}

/* ---- computing ---- */

static void alu(struct mtc_build *b, const struct mt_op *op, unsigned int ext)
{
	mtc_get_to(b, MTC_RAX, op->base);
	if (op->index == MT_ZERO && mtc_fits(op->imm))
		mtc_alu_imm(&b->a, 8, ext, MTC_RAX, (int32_t)op->imm);
	else
		mtc_rm(&b->a, 8, ext << 3 | 3, MTC_RAX, mtc_operand(b, op));
	mtc_put(b, op);
}

static void multiply(struct mtc_build *b, const struct mt_op *op)
{
	mtc_get_to(b, MTC_RAX, op->base);
	mtc_rm(&b->a, 8, 0x0faf, MTC_RAX, mtc_operand(b, op));
	mtc_put(b, op);
}

/* @reg's low bytes, to 64 bits. */
static void extend(struct mtc_build *b, uint8_t dst, uint8_t reg, unsigned int width, bool sign)
{
	static const struct {
		uint8_t width;
		uint16_t op;
	} how[2][4] = {
		{ { 1, 0x0fb6 }, { 4, 0x0fb7 }, { 4, 0x8b }, { 8, 0x8b } },
		{ { 8, 0x0fbe }, { 8, 0x0fbf }, { 8, 0x63 }, { 8, 0x8b } },
	};
	unsigned int i = (unsigned int)__builtin_ctz(width);

	mtc_rm(&b->a, how[sign][i].width, how[sign][i].op, dst, reg);
}

static void shift_by(struct mtc_build *b, const struct mt_op *op, unsigned int width, unsigned int ext, unsigned int mask)
{
	if (op->index == MT_ZERO) {
		mtc_rm(&b->a, width, width == 1 ? 0xc0 : 0xc1, (uint8_t)ext, MTC_RAX);
		mtc_u8(&b->a, (uint8_t)((uint64_t)op->imm & mask));
		return;
	}
	mtc_mov(&b->a, MTC_RCX, mtc_get(b, op->index));
	mtc_alu_imm(&b->a, 4, ALU_AND, MTC_RCX, (int32_t)mask);
	mtc_rm(&b->a, width, width == 1 ? 0xd2 : 0xd3, (uint8_t)ext, MTC_RAX);
}

static void shift(struct mtc_build *b, const struct mt_op *op, unsigned int ext)
{
	mtc_get_to(b, MTC_RAX, op->base);
	if (ext != SHIFT_LEFT)
		extend(b, MTC_RAX, MTC_RAX, op->width, ext == SHIFT_SIGNED);
	shift_by(b, op, 8, ext, op->width == 8 ? 63 : 31);
	mtc_put(b, op);
}

static void rotate(struct mtc_build *b, const struct mt_op *op)
{
	mtc_get_to(b, MTC_RAX, op->base);
	shift_by(b, op, op->width, ROTATE_LEFT, op->width * 8u - 1);
	mtc_put(b, op);
}

static void upper_half(struct mtc_build *b, const struct mt_op *op, bool sign)
{
	mtc_get_to(b, MTC_RAX, op->base);
	mtc_operand_to(b, MTC_RCX, op);
	if (op->width == 8) {
		mtc_u8(&b->a, 0x52);				/* push %rdx */
		mtc_rm(&b->a, 8, 0xf7, sign ? 5 : 4, MTC_RCX);	/* [i]mul %rcx */
		mtc_mov(&b->a, MTC_RAX, MTC_RDX);
		mtc_u8(&b->a, 0x5a);				/* pop %rdx */
	} else {
		extend(b, MTC_RAX, MTC_RAX, op->width, sign);
		extend(b, MTC_RCX, MTC_RCX, op->width, sign);
		mtc_rm(&b->a, 8, 0x0faf, MTC_RAX, MTC_RCX);
		mtc_rm(&b->a, 8, 0xc1, SHIFT_RIGHT, MTC_RAX);
		mtc_u8(&b->a, (uint8_t)(op->width * 8));
	}
	mtc_put(b, op);
}

static void reverse(struct mtc_build *b, const struct mt_op *op)
{
	mtc_get_to(b, MTC_RAX, op->base);
	mtc_u8(&b->a, 0x48);		/* bswap %rax */
	mtc_u8(&b->a, 0x0f);
	mtc_u8(&b->a, 0xc8);
	mtc_rm(&b->a, 8, 0xc1, SHIFT_RIGHT, MTC_RAX);
	mtc_u8(&b->a, (uint8_t)(64 - op->width * 8));
	mtc_put(b, op);
}

static void extension(struct mtc_build *b, const struct mt_op *op)
{
	uint8_t reg, dst;

	if (op->base == MT_ZERO) {
		mtc_imm(&b->a, mtc_set(b, op->dst), 0);
		return;
	}
	reg = mtc_get(b, op->base);
	dst = mtc_set(b, op->dst);
	extend(b, dst, reg, op->width, op->code == MD_SEXT);
	if (op->scale == 2)
		mtc_rm(&b->a, 4, 0x8b, dst, dst);
}

/* ---- flags: where it is possible the processor's own, from the comparison to the jump ---- */

enum flags_use {
	FLAGS_UNUSED,
	FLAGS_DIRECT,	/* they stay in the processor until they are read */
	FLAGS_STORED,
};

static bool reads_flags(const struct mt_op *op)
{
	return op->code == MD_SELECT || op->code == MD_IF;
}

static bool keeps_flags(const struct mt_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
	case MD_LEA:
	case MD_SELECT:
	case MD_SEXT:
	case MD_ZEXT:
	case MD_ACCESS:
		return true;
	}
	return false;
}

/* Of MD_FLAGS @op, within its node. */
static enum flags_use flags_use(const struct mt_node *node, uint32_t op)
{
	enum flags_use use = FLAGS_UNUSED;
	bool kept = true;

	for (uint32_t i = op + 1; i <= node->nops && node->ops[i].code != MD_FLAGS; i++) {
		if (reads_flags(&node->ops[i]))
			use = kept ? FLAGS_DIRECT : FLAGS_STORED;
		kept &= keeps_flags(&node->ops[i]);
	}
	return use;
}

/* The last MD_FLAGS before @op: rule 12 of memtrace/machine/verify.h. */
static uint32_t flags_of(const struct mt_node *node, uint32_t op)
{
	while (node->ops[--op].code != MD_FLAGS)
		;
	return op;
}

static void compare(struct mtc_build *b, const struct mt_op *op)
{
	bool and = op->dst == MD_FLAGS_AND;
	uint8_t reg = MTC_RAX;

	if (op->base == MT_ZERO)
		mtc_imm(&b->a, MTC_RAX, 0);
	else
		reg = mtc_get(b, op->base);
	if (!and && op->index == MT_ZERO && (op->width < 8 || mtc_fits(op->imm))) {
		int64_t v = op->width == 1 ? (int8_t)op->imm : op->width == 2 ? (int16_t)op->imm : op->imm;

		mtc_alu_imm(&b->a, op->width, ALU_CMP, reg, (int32_t)v);
		return;
	}
	if (and)
		mtc_rm(&b->a, op->width, op->width == 1 ? 0x84 : 0x85, mtc_operand(b, op), reg);
	else
		mtc_rm(&b->a, op->width, op->width == 1 ? 0x3a : 0x3b, reg, mtc_operand(b, op));
}

static void store_flag(struct mtc_build *b, int32_t disp, unsigned int left)
{
	if (left) {
		mtc_rm(&b->a, 8, 0xc1, SHIFT_LEFT, MTC_RAX);
		mtc_u8(&b->a, (uint8_t)left);
	}
	mtc_store(&b->a, mtc_machine(disp), MTC_RAX);
}

/* As struct mt_flags. */
static void store_flags(struct mtc_build *b, const struct mt_op *op)
{
	unsigned int left = 64 - op->width * 8u;

	mtc_get_to(b, MTC_RAX, op->base);
	if (op->dst == MD_FLAGS_AND)
		mtc_rm(&b->a, 8, 0x23, MTC_RAX, mtc_operand(b, op));
	store_flag(b, MTC_MACHINE(flags.a), left);
	if (op->dst == MD_FLAGS_AND)
		mtc_imm(&b->a, MTC_RAX, 0);
	else
		mtc_operand_to(b, MTC_RAX, op);
	store_flag(b, MTC_MACHINE(flags.b), left);
	mtc_rm_mem(&b->a, 1, 0xc6, 0, mtc_machine(MTC_MACHINE(flags.shift)));
	mtc_u8(&b->a, (uint8_t)left);
	mtc_rm_mem(&b->a, 1, 0xc6, 0, mtc_machine(MTC_MACHINE(flags.raw)));
	mtc_u8(&b->a, 0);
}

static void flags(struct mtc_build *b, const struct mt_node *node, uint32_t op)
{
	enum flags_use use = flags_use(node, op);

	if (use == FLAGS_STORED || b->keeps_flags)
		store_flags(b, &node->ops[op]);
	if (use == FLAGS_DIRECT)
		compare(b, &node->ops[op]);
}

/* Makes the flags that @op reads the processor's, if they are not. */
static void recall(struct mtc_build *b, const struct mt_node *node, uint32_t op)
{
	if (flags_use(node, flags_of(node, op)) != FLAGS_STORED)
		return;
	mtc_load(&b->a, MTC_RAX, mtc_machine(MTC_MACHINE(flags.a)));
	mtc_rm_mem(&b->a, 8, 0x3b, MTC_RAX, mtc_machine(MTC_MACHINE(flags.b)));
}

void mtc_condition(struct mtc_build *b, const struct mt_node *node)
{
	recall(b, node, node->nops);
}

static void select(struct mtc_build *b, const struct mt_node *node, uint32_t i)
{
	const struct mt_op *op = &node->ops[i];
	uint8_t reg;

	recall(b, node, i);
	mtc_get_to(b, MTC_RAX, op->base);
	reg = mtc_operand(b, op);
	mtc_rm(&b->a, 8, 0x0f40u | op->scale, MTC_RAX, reg);
	mtc_put(b, op);
}

/* ---- all ---- */

static void compute(struct mtc_build *b, const struct mt_op *op)
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

void mtc_op(struct mtc_build *b, const struct mt_node *node, uint32_t i)
{
	const struct mt_op *op = &node->ops[i];

	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		value(b, op);
		break;
	case MD_ACCESS:
		if (b->mode == MT_NEXT)
			access(b, op);
		else
			mtc_add(b, op, b->sums);
		break;
	case MD_FLAGS:
		flags(b, node, i);
		break;
	case MD_SELECT:
		select(b, node, i);
		break;
	default:
		compute(b, op);
	}
}
