// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Expands arbitrary words by arbitrary descriptions, in batches of different sizes, interpreted and compiled, and counts
 * them: all agree, and all come to an end.
 *
 * Input: nodes (1 byte), operations (1 byte), batch (1 byte), how the description is put right (1 byte), struct md_node
 * and struct md_op of each, then chunks: each its length in words (1 byte), kind (1 byte), depth (1 byte), node (1 byte),
 * and words; SIGNAL and STATE begin with a struct md_interrupt.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memtrace/compile.h"
#include "memtrace/heap.h"

enum { HEADER = 4, NODES = 16, OPS = 128, WORDS = 64, ACCESSES = 1 << 15, FIRST = 1, LIMIT = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data, *end;
	struct md_node nodes[NODES];
	struct md_op ops[OPS];
	struct md_object object;
	struct mt_code *code;
};

struct result {
	struct mt_access *v;
	size_t n;
	struct mt_counts counts;
	enum mt_status status;
	bool full;
};

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
	op->scale &= op->code == MD_SEXT || op->code == MD_ZEXT ? 2 : op->code == MD_SELECT ? 15 : 3;
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

static bool describe(struct input *in, const uint8_t *head)
{
	in->object = (struct md_object){
		.base = 0x1000, .load = 0x2000, .first = FIRST,
		.nnodes = head[0] % NODES + 1, .nops = head[1] % OPS + 1,
	};
	if (in->object.nnodes > in->object.nops)
		in->object.nnodes = in->object.nops;
	if (!take(in, in->nodes, in->object.nnodes * sizeof(*in->nodes)) ||
	    !take(in, in->ops, in->object.nops * sizeof(*in->ops)))
		return false;
	for (uint32_t i = 0; head[3] & 4 && i < in->object.nops; i++)
		repair_op(&in->ops[i]);
	for (uint32_t n = 0; head[3] & 1 && n < in->object.nnodes; n++) {
		repair_node(in, n);
		if (head[3] & 2)
			repair_sums(in, n);
	}
	for (uint32_t n = 0; head[3] & 1 && n < in->object.nnodes; n++)
		repair_peek(in, n);
	in->code = mt_code_new(&mt_heap);
	if (!in->code)
		abort();
	return mt_code_add(in->code, &in->object, in->nodes, in->ops) == MT_OK;
}

/* The next chunk, in memory of its own size. */
static uint8_t *next_chunk(struct input *in, size_t *len)
{
	struct md_chunk head = { .head = sizeof(head), .fs = 0x3000 };
	uint8_t what[4], *chunk;
	size_t words, rest;

	if (!take(in, what, sizeof(what)))
		return NULL;
	head.kind = what[1];
	head.depth = what[2];
	rest = (size_t)(in->end - in->data) / 4;
	words = what[0] % WORDS;
	words = words < rest ? words : rest;
	*len = sizeof(head) + words * 4;
	if ((head.kind == MD_CHUNK_SIGNAL || head.kind == MD_CHUNK_STATE) &&
	    words * 4 >= sizeof(struct md_interrupt))
		head.head += sizeof(struct md_interrupt);
	chunk = malloc(*len);
	if (!chunk)
		abort();
	memcpy(chunk, &head, sizeof(head));
	if (!take(in, chunk + sizeof(head), words * 4))
		abort();
	return chunk;
}

static void expand(struct mt_machine *m, struct result *r, size_t batch)
{
	size_t n;

	do {
		size_t room = ACCESSES - r->n;

		n = mt_next(m, r->v + r->n, room < batch ? room : batch, &r->status);
		r->n += n;
		r->full = r->n == ACCESSES;
	} while (n && !r->full && r->status == MT_OK);
}

/* @batch 0: counts. */
static struct result run(struct input in, size_t batch)
{
	struct mt_machine *m = mt_machine_new(in.code);
	struct result r = { .v = batch ? calloc(ACCESSES, sizeof(*r.v)) : NULL };
	uint8_t *chunk;
	size_t len;

	if (!m || (batch && !r.v))
		abort();
	mt_machine_limit(m, LIMIT);
	while (r.status == MT_OK && !r.full && (chunk = next_chunk(&in, &len))) {
		r.status = mt_feed(m, chunk, len);
		if (r.status == MT_OK && batch)
			expand(m, &r, batch);
		else if (r.status == MT_OK)
			r.status = mt_count(m, 1, &r.counts);
		free(chunk);
	}
	mt_machine_free(m);
	return r;
}

static void compare(const struct result *a, const struct result *b, const struct result *counted)
{
	uint64_t all = 0;

	if (a->n != b->n || a->full != b->full || (!a->full && a->status != b->status) ||
	    memcmp(a->v, b->v, a->n * sizeof(*a->v)) != 0) {
		fprintf(stderr, "%zu and %zu accesses, status %d and %d\n", a->n, b->n, a->status, b->status);
		abort();
	}
	for (int i = 0; i < 4; i++)
		all += counted->counts.accesses[i];
	if (!a->full && a->status == MT_OK && counted->status == MT_OK && all != a->n) {
		fprintf(stderr, "%zu accesses, counted %llu\n", a->n, (unsigned long long)all);
		abort();
	}
}

static void compare_counts(const struct result *interpreted, const struct result *compiled)
{
	if (interpreted->status == compiled->status &&
	    memcmp(&interpreted->counts, &compiled->counts, sizeof(compiled->counts)) == 0)
		return;
	fprintf(stderr, "status %d, compiled %d; %llu loads, compiled %llu\n", interpreted->status, compiled->status,
		(unsigned long long)interpreted->counts.accesses[0], (unsigned long long)compiled->counts.accesses[0]);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .data = data + HEADER, .end = data + size };
	struct result a, b, compiled, counted, compiled_counted;

	if (size < HEADER)
		return 0;
	if (describe(&in, data)) {
		a = run(in, ACCESSES);
		b = run(in, data[2] % 7 + 1u);
		counted = run(in, 0);
		compare(&a, &b, &counted);
		mt_compile(in.code);
		mt_compile_hot(in.code, data[2] % 3);
		compiled = run(in, ACCESSES);
		compiled_counted = run(in, 0);
		compare(&a, &compiled, &compiled_counted);
		compare_counts(&counted, &compiled_counted);
		free(a.v);
		free(b.v);
		free(compiled.v);
	}
	mt_code_free(in.code);
	return 0;
}
