// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Flags: where it is possible the processor's own, from the comparison to the jump.
 */
#include "memtrace/compile/x86-64/compile.h"

enum { ALU_CMP = 7, SHIFT_LEFT = 4 };

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

enum mtc_flags_use mtc_flags_use(const struct mt_node *node, uint32_t op)
{
	enum mtc_flags_use use = MTC_FLAGS_UNUSED;
	bool kept = true;

	for (uint32_t i = op + 1; i <= node->nops && node->ops[i].code != MD_FLAGS; i++) {
		if (reads_flags(&node->ops[i]))
			use = kept ? MTC_FLAGS_DIRECT : MTC_FLAGS_STORED;
		kept &= keeps_flags(&node->ops[i]);
	}
	return use;
}

/* The last MD_FLAGS in front of @op, which there is. */
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

void mtc_flags(struct mtc_build *b, const struct mt_node *node, uint32_t op)
{
	enum mtc_flags_use use = mtc_flags_use(node, op);

	if (use == MTC_FLAGS_STORED || b->keeps_flags)
		store_flags(b, &node->ops[op]);
	if (use == MTC_FLAGS_DIRECT)
		compare(b, &node->ops[op]);
}

/* Makes the flags that @op reads the processor's, if they are not. */
static void recall(struct mtc_build *b, const struct mt_node *node, uint32_t op)
{
	if (mtc_flags_use(node, flags_of(node, op)) != MTC_FLAGS_STORED)
		return;
	mtc_load(&b->a, MTC_RAX, mtc_machine(MTC_MACHINE(flags.a)));
	mtc_rm_mem(&b->a, 8, 0x3b, MTC_RAX, mtc_machine(MTC_MACHINE(flags.b)));
}

void mtc_condition(struct mtc_build *b, const struct mt_node *node)
{
	recall(b, node, node->nops);
}

void mtc_select(struct mtc_build *b, const struct mt_node *node, uint32_t i)
{
	const struct mt_op *op = &node->ops[i];
	uint8_t reg;

	recall(b, node, i);
	mtc_get_to(b, MTC_RAX, op->base);
	reg = mtc_operand(b, op);
	mtc_rm(&b->a, 8, 0x0f40u | op->scale, MTC_RAX, reg);
	mtc_put(b, op);
}
