// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Flags: where it is possible the processor's own, from the comparison to the jump.
 */
#include "trampolines/x86-64/memcompile.h"

enum { ALU_CMP = 7, SHIFT_LEFT = 4 };

static bool reads_flags(const struct mx_op *op)
{
	return op->code == MD_SELECT || op->code == MD_IF;
}

static bool keeps_flags(const struct mx_op *op)
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

enum mxc_flags_use mxc_flags_use(const struct mx_node *node, uint32_t op)
{
	enum mxc_flags_use use = MXC_FLAGS_UNUSED;
	bool kept = true;

	for (uint32_t i = op + 1; i <= node->nops && node->ops[i].code != MD_FLAGS; i++) {
		if (reads_flags(&node->ops[i]))
			use = kept ? MXC_FLAGS_DIRECT : MXC_FLAGS_STORED;
		kept &= keeps_flags(&node->ops[i]);
	}
	return use;
}

/* The last MD_FLAGS in front of @op, which there is. */
static uint32_t flags_of(const struct mx_node *node, uint32_t op)
{
	while (node->ops[--op].code != MD_FLAGS)
		;
	return op;
}

static void compare(struct mxc_build *b, const struct mx_op *op)
{
	bool and = op->dst == MD_FLAGS_AND;
	uint8_t reg = MXC_RAX;

	if (op->base == MX_ZERO)
		mxc_imm(&b->a, MXC_RAX, 0);
	else
		reg = mxc_get(b, op->base);
	if (!and && op->index == MX_ZERO && (op->width < 8 || mxc_fits(op->imm))) {
		int64_t v = op->width == 1 ? (int8_t)op->imm : op->width == 2 ? (int16_t)op->imm : op->imm;

		mxc_alu_imm(&b->a, op->width, ALU_CMP, reg, (int32_t)v);
		return;
	}
	if (and)
		mxc_rm(&b->a, op->width, op->width == 1 ? 0x84 : 0x85, mxc_operand(b, op), reg);
	else
		mxc_rm(&b->a, op->width, op->width == 1 ? 0x3a : 0x3b, reg, mxc_operand(b, op));
}

static void store_flag(struct mxc_build *b, int32_t disp, unsigned int left)
{
	if (left) {
		mxc_rm(&b->a, 8, 0xc1, SHIFT_LEFT, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)left);
	}
	mxc_store(&b->a, mxc_machine(disp), MXC_RAX);
}

/* As struct mx_flags. */
static void store_flags(struct mxc_build *b, const struct mx_op *op)
{
	unsigned int left = 64 - op->width * 8u;

	mxc_get_to(b, MXC_RAX, op->base);
	if (op->dst == MD_FLAGS_AND)
		mxc_rm(&b->a, 8, 0x23, MXC_RAX, mxc_operand(b, op));
	store_flag(b, MXC_MACHINE(flags.a), left);
	if (op->dst == MD_FLAGS_AND)
		mxc_imm(&b->a, MXC_RAX, 0);
	else
		mxc_operand_to(b, MXC_RAX, op);
	store_flag(b, MXC_MACHINE(flags.b), left);
	mxc_rm_mem(&b->a, 1, 0xc6, 0, mxc_machine(MXC_MACHINE(flags.shift)));
	mxc_u8(&b->a, (uint8_t)left);
	mxc_rm_mem(&b->a, 1, 0xc6, 0, mxc_machine(MXC_MACHINE(flags.raw)));
	mxc_u8(&b->a, 0);
}

void mxc_flags(struct mxc_build *b, const struct mx_node *node, uint32_t op)
{
	enum mxc_flags_use use = mxc_flags_use(node, op);

	if (use == MXC_FLAGS_STORED || b->keeps_flags)
		store_flags(b, &node->ops[op]);
	if (use == MXC_FLAGS_DIRECT)
		compare(b, &node->ops[op]);
}

/* Makes the flags that @op reads the processor's, if they are not. */
static void recall(struct mxc_build *b, const struct mx_node *node, uint32_t op)
{
	if (mxc_flags_use(node, flags_of(node, op)) != MXC_FLAGS_STORED)
		return;
	mxc_load(&b->a, MXC_RAX, mxc_machine(MXC_MACHINE(flags.a)));
	mxc_rm_mem(&b->a, 8, 0x3b, MXC_RAX, mxc_machine(MXC_MACHINE(flags.b)));
}

void mxc_condition(struct mxc_build *b, const struct mx_node *node)
{
	recall(b, node, node->nops);
}

void mxc_select(struct mxc_build *b, const struct mx_node *node, uint32_t i)
{
	const struct mx_op *op = &node->ops[i];
	uint8_t reg;

	recall(b, node, i);
	mxc_get_to(b, MXC_RAX, op->base);
	reg = mxc_operand(b, op);
	mxc_rm(&b->a, 8, 0x0f40u | op->scale, MXC_RAX, reg);
	mxc_put(b, op);
}
