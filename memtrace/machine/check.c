// SPDX-License-Identifier: MIT
/*
 * Checks descriptions, and puts them into the machine's form: addresses instead of offsets, no MD_OBJECT, no MD_NONE.
 */
#include "memtrace/machine/code.h"

/* ---- one operation ---- */

static bool written(uint8_t reg)
{
	return reg < MD_FS;
}

static bool read(uint8_t reg)
{
	return reg < MD_REGS || reg == MD_NONE;
}

static bool operands(const struct md_op *op)
{
	return read(op->base) && read(op->index);
}

static bool whole(uint8_t width)
{
	return width == 1 || width == 2 || width == 4 || width == 8;
}

static bool kind(uint8_t kind)
{
	return !(kind & ~(MD_KIND | MD_STACK)) && (kind & MD_KIND) <= MD_PREFETCH;
}

static bool lanes(const struct md_op *op)
{
	unsigned int count = MD_LANES_COUNT(op->imm), index = MD_LANES_INDEX(op->imm);

	return count >= 1 && count <= 64 && MD_LANES_MASK(op->imm) <= MD_MASK_BYTES &&
	       (op->code != MD_GATHER || index == 4 || index == 8) && kind(op->dst) &&
	       whole(op->width) && operands(op) && op->scale <= 3;
}

static bool string(const struct md_op *op)
{
	/* The direction has to be known in the middle, too. */
	if (op->dst > MD_SCAS || !whole(op->width) || !read(op->base) || op->scale > 1 ||
	    op->base == 1 || op->base == 6 || op->base == 7)
		return false;
	return op->index == 1 || (op->index == MD_NONE && op->scale == 0);
}

bool mt_op_valid(const struct md_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return written(op->dst);
	case MD_LEA:
		return written(op->dst) && operands(op) && op->scale <= 3 && whole(op->width);
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
		return written(op->dst) && operands(op) && whole(op->width);
	case MD_SELECT:
		return written(op->dst) && operands(op) && whole(op->width) && op->scale <= 15;
	case MD_SEXT:
	case MD_ZEXT:
		return written(op->dst) && read(op->base) && whole(op->width) &&
		       (op->scale == 0 || op->scale == 2 || op->scale == 3);
	case MD_FLAGS:
		return op->dst <= MD_FLAGS_AND && operands(op) && whole(op->width);
	case MD_ACCESS:
		return kind(op->dst) && operands(op) && op->scale <= 3;
	case MD_SIZE:
		return op->imm > 0 && op->imm <= UINT32_MAX;
	case MD_STRING:
		return string(op);
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		return lanes(op);
	case MD_IF:
		return op->scale <= 15;
	case MD_GOTO:
	case MD_PEEK:
	case MD_NEXT:
		return true;
	}
	return false;
}

static uint32_t padded(uint32_t bytes)
{
	return (bytes + 3) & ~3u;
}

static uint32_t mask_words(unsigned int mask, unsigned int count, unsigned int width)
{
	switch (mask) {
	case MD_MASK_VECTOR:
		return padded(count * width);
	case MD_MASK_BITS:
		return 8;
	case MD_MASK_BYTES:
		return padded(count);
	}
	return 0;
}

uint32_t mt_op_words(const struct md_op *op)
{
	unsigned int count = MD_LANES_COUNT(op->imm);

	switch (op->code) {
	case MD_VALUE:
		return 8;
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return 4;
	case MD_STRING:
		return op->scale ? 8 : 0;
	case MD_GATHER:
		return padded(count * MD_LANES_INDEX(op->imm)) +
		       mask_words(MD_LANES_MASK(op->imm), count, op->width);
	case MD_MASKED:
	case MD_PACKED:
		return mask_words(MD_LANES_MASK(op->imm), count, op->width);
	}
	return 0;
}

/* ---- one node ---- */

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

static bool is_lanes(const struct md_op *op)
{
	return op->code >= MD_MASKED && op->code <= MD_PACKED;
}

/* Has to have MD_OBJECT in the register. */
static bool reads_object(const struct md_op *op)
{
	if (has_address(op) || is_value(op) || is_end(op) || op->code == MD_SIZE)
		return false;
	return op->base == MD_OBJECT || op->index == MD_OBJECT;
}

uint32_t mt_node_room(const struct md_node *node, const struct md_op *ops)
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
	uint64_t imm = is_lanes(op) ? (uint64_t)(int32_t)op->imm : (uint64_t)op->imm;

	at->base = fold(op->base, object->load, &imm);
	at->index = op->code == MD_GATHER ? MT_ZERO : fold(op->index, object->load << op->scale, &imm);
	at->imm = (int64_t)imm;
}

/* What a lane's or an access's size and kind are. */
static bool make_access(const struct md_op *op, uint32_t size, struct mt_op *at)
{
	at->kind = op->dst;
	at->size = op->width ? op->width : size;
	if (is_lanes(op)) {
		at->dst = (uint8_t)MD_LANES_COUNT(op->imm);
		at->lanes = (uint8_t)(MD_LANES_MASK(op->imm) | MD_LANES_INDEX(op->imm) << 4);
	}
	return at->size != 0;
}

static bool make_op(const struct mt_object *object, const struct md_op *op, uint64_t start, uint32_t size,
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
	return (op->code != MD_ACCESS && !is_lanes(op)) || make_access(op, size, at);
}

static bool make_end(const struct mt_object *object, const struct md_op *op, struct mt_op *at)
{
	uint32_t target = (uint32_t)op->imm, other = (uint32_t)((uint64_t)op->imm >> 32);
	bool two = op->code == MD_IF || op->code == MD_PEEK;

	*at = (struct mt_op){ .code = op->code, .scale = op->scale, .offset = UINT16_MAX };
	if (op->code == MD_NEXT)
		return true;
	if (target >= object->nnodes || other >= (two ? object->nnodes : 1))
		return false;
	at->target = &object->nodes[target];
	if (two)
		at->other = &object->nodes[other];
	return true;
}

/* The load address into its register, for operations that have no place for it. */
static void make_object(const struct mt_object *object, const struct md_op *op, struct mt_op *at)
{
	*at = (struct mt_op){
		.code = MD_LEA, .dst = MD_OBJECT, .base = MT_ZERO, .index = MT_ZERO, .width = 8,
		.offset = op->insn, .imm = (int64_t)object->load,
	};
}

static bool agrees(const struct md_node *node, const struct mt_node *made, uint32_t words)
{
	uint8_t flags = (made->header ? MD_NODE_HEADER : 0) | (made->varies ? MD_NODE_VARIES : 0);

	return words == node->bytes && node->flags == flags &&
	       node->accesses == (made->accesses < 255 ? made->accesses : 255);
}

bool mt_node_make(struct mt_object *object, uint64_t start, const struct md_node *node,
		  const struct md_op *ops, struct mt_op *at, struct mt_node *made)
{
	bool header = node->flags & MD_NODE_HEADER;
	const struct md_op *end = &ops[node->op + node->nops - 1];
	uint32_t size = 0, words = header ? 4 : 0;
	bool flags = false;

	made->ops = at;
	made->header = header;
	for (uint32_t i = 0; i + 1 < node->nops; i++) {
		const struct md_op *op = &ops[node->op + i];

		if (is_end(op))
			return false;
		if (op->code == MD_SIZE) {
			size = (uint32_t)op->imm;
			continue;
		}
		if (reads_object(op))
			make_object(object, op, at++);
		if (!make_op(object, op, start, size, at++))
			return false;
		made->accesses += op->code == MD_ACCESS;
		made->varies |= op->code == MD_STRING || is_lanes(op);
		made->reads_flags |= op->code == MD_SELECT && !flags;
		flags |= op->code == MD_FLAGS;
		words += mt_op_words(op);
		if (words > UINT16_MAX)
			return false;
	}
	made->nops = (uint32_t)(at - made->ops);
	made->words = (uint16_t)words;
	made->reads_flags |= end->code == MD_IF && !flags;
	made->peeks = end->code == MD_PEEK;
	object->reads_flags |= made->reads_flags;
	return is_end(end) && agrees(node, made, words) && make_end(object, end, at);
}
