// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Expands arbitrary words by arbitrary descriptions, in batches of different sizes, interpreted and compiled, and counts
 * them: all agree, and all come to an end.  Words, accesses and the machine lie beside pages that nobody may touch, since
 * no sanitizer looks at code that is compiled here.
 *
 * Input: nodes (1 byte), operations (1 byte), batch (1 byte), how the description is put right and where things lie
 * (1 byte: REPAIR_...), struct md_node and struct md_op of each, then chunks: each its length in words (1 byte), kind
 * (1 byte), depth (1 byte), node (1 byte), and words; SIGNAL and STATE begin with a struct md_interrupt.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memtrace/compile.h"
#include "memtrace/heap.h"

enum { HEADER = 4, NODES = 16, OPS = 128, WORDS = 64, ACCESSES = 1 << 15, FIRST = 1, LIMIT = 2000 };
enum { REPAIR_NODES = 1, REPAIR_SUMS = 2, REPAIR_OPS = 4, PLACE_LOW = 8, LOAD_HIGH = 16, REPAIR_LOOPS = 32 };
enum { PAGE = 4096, CANARY = 0xa5, CANARIES = 64 };
enum { COMPILED_BATCH = 128 };	/* for fewer accesses the code is not entered */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data, *end;
	struct md_node nodes[NODES];
	struct md_op ops[OPS];
	struct md_object object;
	struct mt_code *code;
};

/* Memory between two pages that cannot be touched. */
struct fence {
	uint8_t *begin, *end;
};
static struct fence machine_fence, words_fence, accesses_fence;

enum { COUNT_ALL = -1, COUNT_PLAIN = -2 };	/* in place of a batch's size */

struct result {
	struct mt_access *v;
	size_t n;
	struct mt_counts counts;
	enum mt_status status;
	bool full;
};

/* ---- fences ---- */

static void fence_make(struct fence *f, size_t bytes)
{
	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	f->begin = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->begin == MAP_FAILED || mprotect(f->begin + PAGE, bytes, PROT_READ | PROT_WRITE) != 0)
		abort();
	f->begin += PAGE;
	f->end = f->begin + bytes;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* @bytes at its end, or at its beginning; on the other side are canaries. */
static void *fence_place(const struct fence *f, size_t bytes, bool low)
{
	size_t rest = (size_t)(f->end - f->begin) - bytes;

	memset(low ? f->begin + bytes : f->end - bytes - least(rest, CANARIES), CANARY, least(rest, CANARIES));
	return low ? f->begin : f->end - bytes;
}

static void fence_check(const struct fence *f, size_t bytes, bool low)
{
	size_t n = least((size_t)(f->end - f->begin) - bytes, CANARIES);
	const uint8_t *canaries = low ? f->begin + bytes : f->end - bytes - n;

	for (size_t i = 0; i < n; i++)
		if (canaries[i] != CANARY)
			abort();
}

static bool next_is_machine;

static void *alloc(void *arg, size_t bytes)
{
	if (!next_is_machine)
		return mt_heap_alloc(arg, bytes);
	if (bytes > (size_t)(machine_fence.end - machine_fence.begin))
		abort();
	next_is_machine = false;
	return memset(fence_place(&machine_fence, bytes, false), 0, bytes);
}

static void release(void *arg, void *p, size_t bytes)
{
	if ((uint8_t *)p < machine_fence.begin || (uint8_t *)p >= machine_fence.end)
		mt_heap_release(arg, p, bytes);
	else
		fence_check(&machine_fence, bytes, false);
}

static const struct mt_allocator allocator = { .alloc = alloc, .release = release };

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

static bool describe(struct input *in, const uint8_t *head)
{
	in->object = (struct md_object){
		.base = 0x1000, .load = head[3] & LOAD_HIGH ? 0x7fe123456000 : 0x2000, .first = FIRST,
		.nnodes = head[0] % NODES + 1, .nops = head[1] % OPS + 1,
	};
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
	in->code = mt_code_new(&allocator);
	if (!in->code)
		abort();
	return mt_code_add(in->code, &in->object, in->nodes, in->ops) == MT_OK;
}

/* ---- running ---- */

/* The next chunk. */
static uint8_t *next_chunk(struct input *in, bool low, size_t *len)
{
	struct md_chunk head = { .head = sizeof(head), .fs = 0x3000 };
	uint8_t what[4], *chunk;
	size_t words;

	if (!take(in, what, sizeof(what)))
		return NULL;
	head.kind = what[1];
	head.depth = what[2];
	words = least(what[0] % WORDS, (size_t)(in->end - in->data) / 4);
	*len = sizeof(head) + words * 4;
	if ((head.kind == MD_CHUNK_SIGNAL || head.kind == MD_CHUNK_STATE) &&
	    words * 4 >= sizeof(struct md_interrupt))
		head.head += sizeof(struct md_interrupt);
	chunk = fence_place(&words_fence, *len, low);
	memcpy(chunk, &head, sizeof(head));
	if (!take(in, chunk + sizeof(head), words * 4))
		abort();
	return chunk;
}

static void expand(struct mt_machine *m, struct result *r, size_t batch, bool low)
{
	size_t n;

	do {
		size_t room = least(ACCESSES - r->n, batch), bytes = room * sizeof(*r->v);
		struct mt_access *v = fence_place(&accesses_fence, bytes, low);

		n = mt_next(m, v, room, &r->status);
		fence_check(&accesses_fence, bytes, low);
		if (n > room)
			abort();
		memcpy(r->v + r->n, v, n * sizeof(*v));
		r->n += n;
		r->full = r->n == ACCESSES;
	} while (n && !r->full && r->status == MT_OK);
}

/* @batch: accesses, which go to @v, or COUNT_... */
static struct result run(struct input in, int batch, struct mt_access *v, bool low)
{
	struct result r = { .v = v };
	struct mt_machine *m;
	uint8_t *chunk;
	size_t len;

	next_is_machine = true;
	m = mt_machine_new(in.code);
	if (!m)
		abort();
	mt_machine_limit(m, LIMIT);
	while (r.status == MT_OK && !r.full && (chunk = next_chunk(&in, low, &len))) {
		r.status = mt_feed(m, chunk, len);
		if (r.status == MT_OK && batch > 0)
			expand(m, &r, (size_t)batch, low);
		else if (r.status == MT_OK)
			r.status = mt_count(m, batch == COUNT_ALL, &r.counts);
	}
	mt_machine_free(m);
	return r;
}

static void compare(const struct result *a, const struct result *b)
{
	if (a->n == b->n && a->full == b->full && (a->full || a->status == b->status) &&
	    memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0)
		return;
	fprintf(stderr, "%zu and %zu accesses, status %d and %d\n", a->n, b->n, a->status, b->status);
	abort();
}

static void compare_counted(const struct result *a, const struct result *counted)
{
	uint64_t all = 0;

	for (int i = 0; i < 4; i++)
		all += counted->counts.accesses[i];
	if (a->full || a->status != MT_OK || counted->status != MT_OK || all == a->n)
		return;
	fprintf(stderr, "%zu accesses, counted %llu\n", a->n, (unsigned long long)all);
	abort();
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

/* Interpreted, in one batch, in others, and counted; then the same with the compiler. */
static void run_all(struct input *in, const uint8_t *head)
{
	static struct mt_access first[ACCESSES], later[ACCESSES];
	const int batches[] = { head[2] % 7 + 1, ACCESSES, COMPILED_BATCH + head[2] % 64 };
	bool low = head[3] & PLACE_LOW;
	struct result expected = run(*in, ACCESSES, first, low), all = run(*in, COUNT_ALL, NULL, low);
	struct result plain = run(*in, COUNT_PLAIN, NULL, low), r;

	compare_counted(&expected, &all);
	for (int i = 0; i < 3; i++) {
		r = run(*in, batches[i], later, low);
		compare(&expected, &r);
		if (i == 0) {
			mt_compile(in->code);
			mt_compile_hot(in->code, head[2] % 3);
		}
	}
	r = run(*in, COUNT_ALL, NULL, low);
	compare_counts(&all, &r);
	r = run(*in, COUNT_PLAIN, NULL, low);
	compare_counts(&plain, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .data = data + HEADER, .end = data + size };

	if (size < HEADER)
		return 0;
	if (!machine_fence.begin) {
		fence_make(&machine_fence, PAGE);
		fence_make(&words_fence, PAGE);
		fence_make(&accesses_fence, ACCESSES * sizeof(struct mt_access));
	}
	if (describe(&in, data))
		run_all(&in, data);
	mt_code_free(in.code);
	return 0;
}
