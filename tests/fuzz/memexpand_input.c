// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/memexpand_input.h"

#include <string.h>

enum { CHUNKS = 12, WORDS = 64, FIRST = 1, KINDS = MD_CHUNK_STATE + 1 };

/* ---- descriptions ---- */

static bool take(struct input *in, void *to, size_t len)
{
	if ((size_t)(in->end - in->data) < len)
		return false;
	memcpy(to, in->data, len);
	in->data += len;
	return true;
}

static void repair_op(struct md_op *op)
{
	op->code %= MD_GOTO;
	op->dst %= op->code == MD_ACCESS ? 4 : op->code == MD_STRING ? 5 : op->code == MD_FLAGS ? 2 : 8;
	op->base = op->base % 16 < 10 ? op->base % 16 : MD_NONE;
	op->index = op->index % 16 < 10 ? op->index % 16 : MD_NONE;
	if (op->code == MD_SEXT || op->code == MD_ZEXT)
		op->scale &= 2;
	else if (op->code == MD_LEA || op->code == MD_ACCESS || (op->code >= MD_MASKED && op->code <= MD_PACKED))
		op->scale &= 3;
	else	/* a condition, if this becomes a node's end */
		op->scale &= 15;
	if (op->code == MD_SIZE)
		op->imm = (uint16_t)op->imm + 1;
	else if (op->code != MD_ACCESS)
		op->width = (uint8_t)(1 << op->width % 4);
	if (op->code == MD_STRING) {
		op->index = op->scale ? 1 : MD_NONE;
		op->scale &= 1;
		op->base = op->base == 4 ? 4 : MD_NONE;
	}
}

/* Most descriptions are refused for the same few reasons: these are put right. */
static void repair_node(struct input *in, uint32_t n)
{
	struct md_node *node = &in->nodes[n];
	uint32_t ops = in->object.nops / in->object.nnodes;
	struct md_op *end;

	node->op = n * ops;
	node->nops = ops;
	end = &in->ops[node->op + ops - 1];
	if (end->code < MD_GOTO || end->code > MD_NEXT)
		end->code = (uint8_t)(MD_GOTO + end->code % 4);
	if (end->code == MD_GOTO)
		end->imm = (uint8_t)end->imm % in->object.nnodes;
	else if (end->code == MD_IF || end->code == MD_PEEK)
		end->imm = (int64_t)((uint8_t)end->imm % in->object.nnodes |
				     (uint64_t)((uint8_t)(end->imm >> 8) % in->object.nnodes) << 32);
	end->scale &= 15;
}

/* Of a loop: what it computes are sums of registers, of which the first four grow in place. */
static void repair_loop_op(struct md_op *op)
{
	static const uint8_t codes[] = { MD_LEA, MD_LEA, MD_ACCESS, MD_ACCESS, MD_SUB, MD_ZEXT, MD_SEXT, MD_VALUE_U32,
					 MD_FLAGS, MD_SHL, MD_VALUE, MD_VALUE_S32 };
	bool grows = op->code & 0x80;

	op->code = codes[op->code % sizeof(codes)];
	op->imm = op->imm >> 56 & 1 ? op->imm >> 8 : (int8_t)op->imm;
	if (op->code == MD_ACCESS || op->code == MD_FLAGS) {
		op->dst &= 1;
		op->width = op->code == MD_FLAGS ? 2 + (op->width & 1) : op->width;
	} else if (grows && (op->code == MD_LEA || op->code == MD_SUB)) {
		op->dst = op->base %= 4;
		op->index = op->index & 0x80 ? 4 : MD_NONE;
		op->width = 2 + (op->width & 1);	/* 4, 8: see repair_op() */
	} else {
		op->dst = 5 + op->dst % 3;
	}
}

static void repair_loop(struct input *in, uint32_t n)
{
	struct md_op *ops = &in->ops[in->nodes[n].op], *end = &ops[in->nodes[n].nops - 1];

	in->nodes[n].flags = 0;
	for (struct md_op *op = ops; op < end; op++)
		repair_loop_op(op);
	if (end > ops) {
		end[-1].code = MD_FLAGS;
		end[-1].dst &= 1;
		end[-1].width = 2 + (end[-1].width & 1);
	}
	end->code = MD_IF;
	end->imm = end->imm & 0x80 ? (int64_t)(n | (uint64_t)(n + 1) << 32) : (int64_t)((n + 1) | (uint64_t)n << 32);
}

/* What adding it would tell: bytes, flags and accesses are found out by trying. */
static void repair_sums(struct input *in, uint32_t n)
{
	struct md_node *node = &in->nodes[n];

	node->flags &= MD_NODE_HEADER;
	node->bytes = node->flags ? 4 : 0;
	node->accesses = 0;
	for (uint32_t i = 0; i < node->nops; i++) {
		struct md_op *op = &in->ops[node->op + i];

		if (op->code == MD_ACCESS && !op->width)
			op->width = 8;
		node->accesses = (uint8_t)(node->accesses + (op->code == MD_ACCESS));
		node->bytes = (uint16_t)(node->bytes + (op->code == MD_VALUE ? 8 : op->code < MD_LEA ? 4 : 0));
		if (op->code == MD_STRING) {
			node->flags |= MD_NODE_VARIES;
			node->bytes = (uint16_t)(node->bytes + (op->scale == 1 ? 8 : 0));
		}
	}
}

/* Only what has a header can be looked for. */
static void repair_peek(struct input *in, uint32_t n)
{
	struct md_op *end = &in->ops[in->nodes[n].op + in->nodes[n].nops - 1];

	if (end->code == MD_PEEK && !(in->nodes[(uint32_t)end->imm].flags & MD_NODE_HEADER))
		end->code = MD_NEXT;
}

/* Where words are not those of values it does not matter. */
static void find_upper(struct input *in, uint32_t n)
{
	const struct md_node *node = &in->nodes[n];
	uint32_t word = node->flags & MD_NODE_HEADER ? 1 : 0;

	for (uint32_t i = 0; i < node->nops && node->op + (uint64_t)i < in->object.nops && word < 63; i++) {
		const struct md_op *op = &in->ops[node->op + i];

		if (op->code == MD_VALUE)
			in->upper[n] |= 2ull << word;
		word += op->code == MD_VALUE ? 2 : op->code < MD_LEA;
	}
}

bool input_describe(struct input *in, const uint8_t *head)
{
	in->object = (struct md_object){
		.base = 0x1000, .load = head[3] & LOAD_HIGH ? 0x7fe123456000 : 0x2000, .first = FIRST,
		.nnodes = head[0] % INPUT_NODES + 1, .nops = head[1] % INPUT_OPS + 1,
	};
	in->walks = head[3] & WALK;
	in->near = head[3] & NEAR;
	if (in->object.nnodes > in->object.nops)
		in->object.nnodes = in->object.nops;
	if (!take(in, in->nodes, in->object.nnodes * sizeof(*in->nodes)) ||
	    !take(in, in->ops, in->object.nops * sizeof(*in->ops)))
		return false;
	for (uint32_t n = 1; head[3] & REPAIR_LOOPS && n + 1 < in->object.nnodes; n += 2) {
		in->nodes[n].nops = in->object.nops / in->object.nnodes;
		in->nodes[n].op = n * in->nodes[n].nops;
		repair_loop(in, n);
	}
	for (uint32_t i = 0; head[3] & REPAIR_OPS && i < in->object.nops; i++)
		repair_op(&in->ops[i]);
	for (uint32_t n = 0; head[3] & REPAIR_NODES && n < in->object.nnodes; n++) {
		repair_node(in, n);
		if (head[3] & REPAIR_SUMS)
			repair_sums(in, n);
	}
	for (uint32_t n = 0; head[3] & REPAIR_NODES && n < in->object.nnodes; n++)
		repair_peek(in, n);
	for (uint32_t n = 0; n < in->object.nnodes; n++)
		find_upper(in, n);
	return true;
}

/* ---- a program's words ---- */

static uint64_t roll(struct input *in, uint64_t n)
{
	in->dice = in->dice * 6364136223846793005u + 1442695040888963407u;
	return (in->dice >> 33) % n;
}

/* Small ones, and such on edges. */
static uint64_t value(struct input *in)
{
	static const uint64_t edges[] = { 0, 0, 1000, 1ull << 15, 1ull << 31, 1ull << 32, 1ull << 63, 0x7fe123456000 };
	uint64_t v;

	if (!in->near || roll(in, 16) == 0)
		in->edge = roll(in, 8);
	v = edges[in->edge] + roll(in, 128) - 32;
	if (roll(in, 8) == 0)
		v += roll(in, 1ull << 31) << 33;
	return v;
}

static uint32_t word(struct input *in, size_t n, uint32_t at)
{
	const struct md_node *node = &in->nodes[n];

	if (at == 0 && node->flags & MD_NODE_HEADER)
		return (uint32_t)(FIRST + n);
	if (at < 64 * 4 && in->upper[n] >> at / 4 & 1)
		return (uint32_t)(in->value >> 32);
	in->value = value(in);
	return (uint32_t)in->value;
}

static void choose_header(struct input *in)
{
	uint32_t n = (uint32_t)roll(in, in->object.nnodes);

	for (uint32_t i = 0; i < in->object.nnodes; i++) {
		in->at = (struct spot){ .node = &in->nodes[(n + i) % in->object.nnodes] };
		if (in->at.node->flags & MD_NODE_HEADER)
			return;
	}
}

/* Where a condition leads is guessed. */
static void walk_on(struct input *in)
{
	const struct md_op *end = &in->ops[in->at.node->op + in->at.node->nops - 1];
	bool other = (end->code == MD_IF || end->code == MD_PEEK) && roll(in, 4) == 0;

	in->at = (struct spot){ 0 };
	if (end->code != MD_NEXT)
		in->at.node = &in->nodes[other ? (uint64_t)end->imm >> 32 : (uint32_t)end->imm];
}

/* So many bytes of them. */
static void walk(struct input *in, uint8_t *to, size_t len)
{
	const uint8_t *end = to + len;
	size_t wordless = len;	/* nodes, at most */

	while (to < end && wordless) {
		const struct md_node *node = in->at.node;

		if (!node) {
			choose_header(in);
			node = in->at.node;
		}
		for (; in->at.written < node->bytes && to < end; in->at.written += 4, to += 4) {
			uint32_t v = word(in, (size_t)(node - in->nodes), in->at.written);

			memcpy(to, &v, 4);
		}
		wordless -= node->bytes == 0;
		if (in->at.written == node->bytes)
			walk_on(in);
	}
	memset(to, 0, (size_t)(end - to));
}

/* ---- chunks ---- */

/* In the node that the program is in, or, for STATE, in any. */
static void interrupt(struct input *in, bool state, const uint64_t *regs, struct md_interrupt *at)
{
	const struct md_node *node = in->at.node;

	if (state || !node) {
		node = &in->nodes[roll(in, in->object.nnodes)];
		in->at = (struct spot){ .node = node, .written = (uint32_t)roll(in, node->bytes / 4 + 1) * 4 };
	}
	*at = (struct md_interrupt){
		.node = (uint32_t)(FIRST + (node - in->nodes)), .written = in->at.written,
		.insn = in->ops[node->op + roll(in, node->nops)].insn, .flags = state ? value(in) : 0,
	};
	for (int i = 0; i < 16; i++)
		at->regs[i] = state || roll(in, 64) == 0 ? value(in) : regs[i];
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool has_interrupt(const struct md_chunk *head)
{
	return head->kind == MD_CHUNK_SIGNAL || head->kind == MD_CHUNK_STATE;
}

static size_t walk_chunk(struct input *in, struct md_chunk *head, size_t words, const uint64_t *regs, uint8_t *chunk)
{
	struct spot *interrupted = &in->interrupted[head->depth % INPUT_DEPTHS];
	struct md_interrupt at;

	head->kind %= KINDS;
	head->depth = head->depth % INPUT_DEPTHS + 1;
	if (head->kind == MD_CHUNK_START)
		in->at = (struct spot){ 0 };
	else if (head->kind == MD_CHUNK_RESUME)
		in->at = *interrupted;
	if (has_interrupt(head)) {
		interrupt(in, head->kind == MD_CHUNK_STATE, regs, &at);
		memcpy(chunk + sizeof(*head), &at, sizeof(at));
		head->head += sizeof(at);
	}
	if (head->kind == MD_CHUNK_SIGNAL) {
		*interrupted = in->at;
		in->at = (struct spot){ 0 };
	}
	memcpy(chunk, head, sizeof(*head));
	walk(in, chunk + head->head, words * 12);
	return head->head + words * 12;
}

size_t input_chunk(struct input *in, const uint64_t *regs, uint8_t *chunk)
{
	struct md_chunk head = { .head = sizeof(head), .fs = 0x3000 };
	uint8_t what[4];
	size_t words, len;

	if (in->chunks++ == CHUNKS || !take(in, what, sizeof(what)))
		return 0;
	head.kind = what[1];
	head.depth = what[2];
	memcpy(&in->dice, what, sizeof(what));
	if (in->walks)
		return walk_chunk(in, &head, what[0], regs, chunk);
	words = least(what[0] % WORDS, (size_t)(in->end - in->data) / 4);
	len = sizeof(head) + words * 4;
	if (has_interrupt(&head) && words * 4 >= sizeof(struct md_interrupt))
		head.head += sizeof(struct md_interrupt);
	memcpy(chunk, &head, sizeof(head));
	take(in, chunk + sizeof(head), words * 4);
	return len;
}
