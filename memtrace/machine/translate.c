// SPDX-License-Identifier: MIT
/*
 * Puts descriptions, which are verified, into the machine's form: addresses instead of offsets, no MD_OBJECT, no MD_NONE.
 */
#include "memtrace/machine/verify.h"

static bool has_address(const struct md_op *op)
{
	switch (op->code) {
	case MD_LEA:
	case MD_ACCESS:
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		return true;
	}
	return false;
}

static bool is_value(const struct md_op *op)
{
	return op->code <= MD_VALUE_S32;
}

static bool is_end(const struct md_op *op)
{
	return op->code >= MD_GOTO;
}

/* Has to have MD_OBJECT in the register. */
static bool reads_object(const struct md_op *op)
{
	if (has_address(op) || is_value(op) || is_end(op) || op->code == MD_SIZE)
		return false;
	return op->base == MD_OBJECT || op->index == MD_OBJECT;
}

uint32_t mt_translated_room(const struct md_node *node, const struct md_op *ops)
{
	uint32_t room = node->nops;

	for (uint32_t i = 0; i < node->nops; i++)
		room += reads_object(&ops[node->op + i]);
	return room;
}

static uint8_t slot(uint8_t reg)
{
	return reg == MD_NONE ? MT_ZERO : reg;
}

static uint8_t fold(uint8_t reg, uint64_t load, uint64_t *imm)
{
	if (reg != MD_OBJECT)
		return slot(reg);
	*imm += load;
	return MT_ZERO;
}

static void make_address(const struct mt_object *object, const struct md_op *op, struct mt_op *at)
{
	uint64_t imm = mt_is_lanes(op) ? (uint64_t)(int32_t)op->imm : (uint64_t)op->imm;

	at->base = fold(op->base, object->load, &imm);
	at->index = op->code == MD_GATHER ? MT_ZERO : fold(op->index, object->load << op->scale, &imm);
	at->imm = (int64_t)imm;
}

/* What a lane's or an access's size and kind are. */
static void make_access(const struct md_op *op, uint32_t size, struct mt_op *at)
{
	at->kind = op->dst;
	at->size = op->width ? op->width : size;
	if (mt_is_lanes(op)) {
		at->dst = (uint8_t)MD_LANES_COUNT(op->imm);
		at->lanes = (uint8_t)(MD_LANES_MASK(op->imm) | MD_LANES_INDEX(op->imm) << 4);
	}
}

/* @start: the address of the node's first instruction; @size: of an access without a width. */
static void make_op(const struct mt_object *object, const struct md_op *op, uint64_t start, uint32_t size,
		    struct mt_op *at)
{
	*at = (struct mt_op){
		.code = op->code,
		.dst = op->dst,
		.base = slot(op->base),
		.index = slot(op->index),
		.scale = op->scale,
		.width = op->width,
		.offset = op->insn,
		.words = (uint16_t)mt_op_words(op),
		.imm = op->imm,
		.insn = start + op->insn,
	};
	if (has_address(op))
		make_address(object, op, at);
	if (op->code == MD_ACCESS || mt_is_lanes(op))
		make_access(op, size, at);
}

static void make_end(const struct mt_object *object, const struct md_op *op, struct mt_op *at)
{
	*at = (struct mt_op){ .code = op->code, .scale = op->scale, .offset = UINT16_MAX };
	if (op->code != MD_NEXT)
		at->target = &object->nodes[(uint32_t)op->imm];
	if (op->code == MD_IF || op->code == MD_PEEK)
		at->other = &object->nodes[(uint64_t)op->imm >> 32];
}

/* The load address into its register, for operations that have no place for it. */
static void make_object(const struct mt_object *object, const struct md_op *op, struct mt_op *at)
{
	*at = (struct mt_op){
		.code = MD_LEA, .dst = MD_OBJECT, .base = MT_ZERO, .index = MT_ZERO, .width = 8,
		.offset = op->insn, .imm = (int64_t)object->load,
	};
}

static bool reads_flags(const struct mt_node *node)
{
	for (uint32_t i = 0; i <= node->nops && node->ops[i].code != MD_FLAGS; i++) {
		if (node->ops[i].code == MD_SELECT || node->ops[i].code == MD_IF)
			return true;
	}
	return false;
}

void mt_translate(struct mt_object *object, uint64_t start, const struct md_node *node, const struct md_op *ops,
		  struct mt_op *at, struct mt_node *made)
{
	const struct md_op *op = &ops[node->op], *end = op + node->nops - 1;
	uint32_t size = 0;

	made->ops = at;
	for (; op < end; op++) {
		if (op->code == MD_SIZE) {
			size = (uint32_t)op->imm;
			continue;
		}
		if (reads_object(op))
			make_object(object, op, at++);
		make_op(object, op, start, size, at++);
		made->accesses += op->code == MD_ACCESS;
	}
	make_end(object, end, at);
	made->nops = (uint32_t)(at - made->ops);
	made->words = node->bytes;
	made->header = node->flags & MD_NODE_HEADER;
	made->varies = node->flags & MD_NODE_VARIES;
	made->peeks = end->code == MD_PEEK;
	made->reads_flags = reads_flags(made);
	object->reads_flags |= made->reads_flags;
}
