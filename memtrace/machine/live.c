// SPDX-License-Identifier: MIT
/*
 * Which registers the machine reads before it writes them: what they hold is known there, since a
 * description only reads what it knows.  That is how an interrupted machine finds the place where it was.
 */
#include "memtrace/machine/code.h"

/* Each pass over the nodes only finds more; some fewer are no harm, so that a bound is none, either. */
enum { PASSES = 16 };

static uint32_t bit(uint8_t reg)
{
	return reg < 16 ? 1u << reg : 0;
}

static uint32_t string_regs(const struct mt_op *op)
{
	uint32_t regs = op->index < MT_ZERO ? 1u << 1 : 0;

	if (op->dst != MD_STOS && op->dst != MD_SCAS)
		regs |= 1u << 6;
	if (op->dst != MD_LODS)
		regs |= 1u << 7;
	return regs;
}

static uint32_t step(const struct mt_op *op, uint32_t live)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return live & ~bit(op->dst);
	case MD_STRING:
		return live | string_regs(op) | bit(op->base);
	case MD_GATHER:
		return live | bit(op->base);
	case MD_FLAGS:
	case MD_ACCESS:
	case MD_MASKED:
	case MD_PACKED:
		return live | bit(op->base) | bit(op->index);
	case MD_SEXT:
	case MD_ZEXT:
		return (live & ~bit(op->dst)) | bit(op->base);
	case MD_GOTO:
	case MD_IF:
	case MD_PEEK:
	case MD_NEXT:
		return live;
	default:
		/* A narrow result leaves the rest of the register. */
		if (op->width >= 4)
			live &= ~bit(op->dst);
		return live | bit(op->base) | bit(op->index);
	}
}

uint32_t mt_live_at(const struct mt_node *node, uint32_t op)
{
	uint32_t live = node->live_out;

	for (uint32_t i = node->nops; i-- > op;)
		live = step(&node->ops[i], live);
	return live;
}

static uint32_t at_end(const struct mt_node *node)
{
	const struct mt_op *end = mt_end(node);

	switch (end->code) {
	case MD_GOTO:
		return end->target->live_in;
	case MD_IF:
	case MD_PEEK:
		return end->target->live_in | end->other->live_in;
	}
	return 0;
}

void mt_live(struct mt_object *object)
{
	bool more = true;

	for (int pass = 0; more && pass < PASSES; pass++) {
		more = false;
		for (uint32_t i = object->nnodes; i-- > 0;) {
			struct mt_node *node = &object->nodes[i];
			uint16_t live = node->live_in;

			node->live_out = (uint16_t)at_end(node);
			node->live_in = (uint16_t)mt_live_at(node, 0);
			more |= live != node->live_in;
		}
	}
}
