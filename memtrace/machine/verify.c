// SPDX-License-Identifier: MIT
/* The rules are in verify.h; their numbers are those there. */
#include "memtrace/machine/verify.h"

#include "memtrace/machine/enter.h"

/* ---- one operation: rules 7 to 10 ---- */

static bool is_written(uint8_t reg)
{
	return reg < MD_FS;
}

static bool is_read(uint8_t reg)
{
	return reg < MD_REGS || reg == MD_NONE;
}

static bool has_operands(const struct md_op *op)
{
	return is_read(op->base) && is_read(op->index);
}

static bool has_width(const struct md_op *op)
{
	return op->width == 1 || op->width == 2 || op->width == 4 || op->width == 8;
}

static bool is_kind(uint8_t kind)
{
	return !(kind & ~(MD_KIND | MD_STACK)) && (kind & MD_KIND) <= MD_PREFETCH;
}

static bool is_fetch(const struct md_op *op)
{
	return op->code == MD_ACCESS && op->dst == MD_FETCH;
}

static bool is_time(const struct md_op *op)
{
	return op->code == MD_ACCESS && op->dst == MD_TIME;
}

static bool verify_lanes(const struct md_op *op)
{
	unsigned int count = MD_LANES_COUNT(op->imm), index = MD_LANES_INDEX(op->imm);

	return count >= 1 && count <= 64 && MD_LANES_MASK(op->imm) <= MD_MASK_BYTES &&
	       (op->code != MD_GATHER || index == 4 || index == 8) && is_kind(op->dst) && has_width(op) &&
	       has_operands(op) && op->scale <= 3;
}

static bool verify_string(const struct md_op *op)
{
	enum { RCX = 1, RSI = 6, RDI = 7 };

	if (op->dst > MD_SCAS || !has_width(op) || !is_read(op->base) || op->scale > 1 ||
	    op->base == RCX || op->base == RSI || op->base == RDI)
		return false;
	return op->index == RCX || (op->index == MD_NONE && op->scale == 0);
}

static bool verify_op(const struct md_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return is_written(op->dst);
	case MD_LEA:
		return is_written(op->dst) && has_operands(op) && op->scale <= 3 && has_width(op);
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
		return is_written(op->dst) && has_operands(op) && has_width(op);
	case MD_SELECT:
		return is_written(op->dst) && has_operands(op) && has_width(op) && op->scale <= 15;
	case MD_SEXT:
	case MD_ZEXT:
		return is_written(op->dst) && has_operands(op) && has_width(op) &&
		       (op->scale == 0 || op->scale == 2 || op->scale == 3);
	case MD_FLAGS:
		return op->dst <= MD_FLAGS_AND && has_operands(op) && has_width(op);
	case MD_ACCESS:
		return (is_kind(op->dst) || is_fetch(op) || is_time(op)) && has_operands(op) && op->scale <= 3;
	case MD_SIZE:
		return op->imm > 0 && op->imm <= UINT32_MAX;
	case MD_STRING:
		return verify_string(op);
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		return verify_lanes(op);
	case MD_IF:
		return op->scale <= 15;
	case MD_GOTO:
	case MD_PEEK:
	case MD_NEXT:
		return true;
	}
	return false;
}

/* ---- bytes of the stream ---- */

static uint32_t padded(uint32_t bytes)
{
	return (bytes + 3) & ~3u;
}

static uint32_t mask_words(const struct md_op *op)
{
	unsigned int count = MD_LANES_COUNT(op->imm);

	switch (MD_LANES_MASK(op->imm)) {
	case MD_MASK_VECTOR:
		return padded(count * op->width);
	case MD_MASK_BITS:
		return 8;
	case MD_MASK_BYTES:
		return padded(count);
	}
	return 0;
}

uint32_t mt_op_words(const struct md_op *op)
{
	switch (op->code) {
	case MD_VALUE:
		return 8;
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return 4;
	case MD_STRING:
		return op->scale ? 8 : 0;
	case MD_GATHER:
		return padded(MD_LANES_COUNT(op->imm) * MD_LANES_INDEX(op->imm)) + mask_words(op);
	case MD_MASKED:
	case MD_PACKED:
		return mask_words(op);
	}
	return 0;
}

/* ---- one node: rules 3 to 6 ---- */

static bool verify_end(const struct md_object *object, const struct md_node *nodes, const struct md_op *end)
{
	uint32_t target = (uint32_t)end->imm, other = (uint32_t)((uint64_t)end->imm >> 32);

	switch (end->code) {
	case MD_GOTO:
		return target < object->nnodes && other == 0;
	case MD_IF:
		return target < object->nnodes && other < object->nnodes;
	case MD_PEEK:
		return target < object->nnodes && other < object->nnodes && nodes[target].flags & MD_NODE_HEADER;
	}
	return end->code == MD_NEXT;
}

static bool verify_node(const struct md_object *object, const struct md_node *nodes, const struct md_node *node,
			const struct md_op *ops)
{
	uint64_t words = node->flags & MD_NODE_HEADER ? 4 : 0;
	uint32_t accesses = 0, last = node->nops - 1;
	bool sized = false, varies = false;

	for (uint32_t i = 0; i < last; i++) {
		const struct md_op *op = &ops[node->op + i];

		if (op->code >= MD_GOTO || (op->code == MD_ACCESS && !op->width && !sized))
			return false;
		sized |= op->code == MD_SIZE;
		varies |= op->code == MD_STRING || mt_is_lanes(op);
		accesses += op->code == MD_ACCESS;
		words += mt_op_words(op);
	}
	return verify_end(object, nodes, &ops[node->op + last]) && words == node->bytes &&
	       (node->flags & ~MD_NODE_HEADER) == (varies ? MD_NODE_VARIES : 0) &&
	       node->accesses == (accesses < 255 ? accesses : 255);
}

/* ---- objects: rules 1, 2 ---- */

static bool are_ids_free(const struct mt_code *code, const struct md_object *object)
{
	uint64_t first = object->first, end = first + object->nnodes;

	if (first == 0 || end - 1 > UINT32_MAX)
		return false;
	for (const struct mt_object *o = code->objects; o; o = o->next) {
		if (first < (uint64_t)o->first + o->nnodes && o->first < end)
			return false;
	}
	return true;
}

bool mt_verify(const struct mt_code *code, const struct md_object *object, const struct md_node *nodes,
	       const struct md_op *ops)
{
	uint64_t used = 0;

	if (!are_ids_free(code, object))
		return false;
	for (uint32_t i = 0; i < object->nops; i++) {
		if (!verify_op(&ops[i]) || (is_fetch(&ops[i]) && !code->fetches))
			return false;
	}
	for (uint32_t i = 0; i < object->nnodes; i++) {
		const struct md_node *node = &nodes[i];

		used += node->nops;
		if (!node->nops || (uint64_t)node->op + node->nops > object->nops || used > object->nops ||
		    !verify_node(object, nodes, node, ops))
			return false;
	}
	return true;
}

/* ---- what is compiled: rules 11 to 13 ---- */

static bool reads_parity(const struct mt_op *op)
{
	return (op->code == MD_IF || op->code == MD_SELECT) && op->scale >> 1 == 5;
}

bool mt_verify_compiled(const struct mt_node *node)
{
	if (!node->fast || node->reads_flags || node->nops > MT_COMPILED_OPS || node->id >= MT_IDS)
		return false;
	for (uint32_t i = 0; i <= node->nops; i++) {
		if (reads_parity(&node->ops[i]))
			return false;
	}
	return true;
}
