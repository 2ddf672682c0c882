// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How fast memory streams are expanded, and counted, interpreted and compiled: bench_memexpand SECONDS.  The descriptions are
 * those that compiled loops give, made by hand.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memtrace/compile.h"
#include "memtrace/heap.h"

#define N MD_NONE
#define END MD_CODES

enum { BATCH = 2048, OPS = 256, NODES = 16, CHUNK = 1 << 20 };

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9 };
enum { CC_E = 4, CC_NE = 5, CC_L = 12 };

struct subject {
	const char *name;
	void (*describe)(void);
	void (*stream)(void);
};

static struct md_node nodes[NODES];
static struct md_op ops[OPS];
static uint32_t nnodes, nops;
static uint8_t *chunk;
static size_t len;

/* ---- descriptions ---- */

static void node(uint8_t flags)
{
	nodes[nnodes] = (struct md_node){
		.op = nops, .start = (nnodes + 1) * 256, .flags = flags, .bytes = flags & MD_NODE_HEADER ? 4 : 0,
	};
	nnodes++;
}

static void op(struct md_op o)
{
	struct md_node *n = &nodes[nnodes - 1];

	o.insn = (uint16_t)(n->nops * 4);
	n->bytes = (uint16_t)(n->bytes + (o.code == MD_VALUE ? 8 : o.code <= MD_VALUE_S32 ? 4 : 0));
	n->accesses += o.code == MD_ACCESS;
	n->nops++;
	ops[nops++] = o;
}

static void value(uint8_t code, uint8_t dst)
{
	op((struct md_op){ .code = code, .dst = dst, .base = N, .index = N });
}

static void load(uint8_t base, uint8_t index, uint8_t scale, int64_t disp)
{
	op((struct md_op){ .code = MD_ACCESS, .dst = MD_LOAD, .base = base, .index = index, .scale = scale,
			   .width = 8, .imm = disp });
}

static void store(uint8_t base, uint8_t index, uint8_t scale, int64_t disp)
{
	op((struct md_op){ .code = MD_ACCESS, .dst = MD_STORE, .base = base, .index = index, .scale = scale,
			   .width = 8, .imm = disp });
}

static void set(uint8_t dst, uint8_t base, int64_t imm)
{
	op((struct md_op){ .code = MD_LEA, .dst = dst, .base = base, .index = N, .width = 8, .imm = imm });
}

static void flags(uint8_t base, uint8_t index, int64_t imm)
{
	op((struct md_op){ .code = MD_FLAGS, .dst = MD_FLAGS_SUB, .base = base, .index = index, .width = 8,
			   .imm = imm });
}

static void end_if(uint8_t cc, uint64_t yes, uint64_t no)
{
	op((struct md_op){ .code = MD_IF, .scale = cc, .imm = (int64_t)(yes | no << 32) });
}

static void end(uint8_t code, int64_t target)
{
	op((struct md_op){ .code = code, .imm = target });
}

/* ---- streams ---- */

static void word4(uint32_t v)
{
	memcpy(chunk + len, &v, 4);
	len += 4;
}

static void word8(uint64_t v)
{
	memcpy(chunk + len, &v, 8);
	len += 8;
}

static uint32_t pseudo(void)
{
	static uint32_t x = 1;

	x ^= x << 13;	/* Marsaglia's xorshift */
	x ^= x >> 17;
	return x ^= x << 5;
}

/* ---- y[i] += a * x[i] ---- */

static void describe_daxpy(void)
{
	node(MD_NODE_HEADER);
	value(MD_VALUE, RSI);
	value(MD_VALUE, RDI);
	value(MD_VALUE, RDX);
	set(RAX, N, 0);
	end(MD_GOTO, 1);
	node(0);
	load(RSI, RAX, 3, 0);
	load(RDI, RAX, 3, 0);
	store(RDI, RAX, 3, 0);
	set(RAX, RAX, 1);
	flags(RAX, RDX, 0);
	end_if(CC_NE, 1, 2);
	node(0);
	end(MD_NEXT, 0);
}

static void stream_daxpy(void)
{
	for (int i = 0; i < 100; i++) {
		word4(1);
		word8(0x10000000);
		word8(0x20000000);
		word8(100000);
	}
}

/* ---- seven points, over rows of 100 ---- */

static void describe_stencil(void)
{
	node(MD_NODE_HEADER);
	value(MD_VALUE, RSI);
	value(MD_VALUE, RDI);
	set(RDX, N, 0);
	end(MD_GOTO, 1);
	node(0);
	set(RAX, N, 8);
	end(MD_GOTO, 2);
	node(0);
	for (int k = -1; k <= 1; k++)
		load(RSI, RAX, 0, k * 8);
	load(RSI, RAX, 0, 800);
	load(RSI, RAX, 0, -800);
	load(RSI, RAX, 0, 80000);
	load(RSI, RAX, 0, -80000);
	store(RDI, RAX, 0, 0);
	set(RAX, RAX, 8);
	flags(RAX, N, 99 * 8);
	end_if(CC_NE, 2, 3);
	node(0);
	set(RSI, RSI, 800);
	set(RDI, RDI, 800);
	set(RDX, RDX, 1);
	flags(RDX, N, 10000);
	end_if(CC_NE, 1, 4);
	node(0);
	end(MD_NEXT, 0);
}

static void stream_stencil(void)
{
	for (int i = 0; i < 10; i++) {
		word4(1);
		word8(0x10000000);
		word8(0x20000000);
	}
}

/* ---- y[i] = sum of a[j] * x[col[j]] over a row of 20 ---- */

static void describe_spmv(void)
{
	node(MD_NODE_HEADER);
	value(MD_VALUE, RSI);
	value(MD_VALUE, RDI);
	value(MD_VALUE, R8);
	value(MD_VALUE, R9);
	set(RAX, N, 0);
	set(RBX, N, 0);
	end(MD_GOTO, 1);
	node(0);
	load(R9, RBX, 2, 4);
	value(MD_VALUE_S32, RDX);
	end(MD_GOTO, 2);
	node(0);
	load(RDI, RAX, 2, 0);
	value(MD_VALUE_S32, RCX);
	load(RSI, RAX, 3, 0);
	load(R8, RCX, 3, 0);
	set(RAX, RAX, 1);
	flags(RAX, RDX, 0);
	end_if(CC_L, 2, 3);
	node(0);
	store(R9, RBX, 3, 0x1000000);
	set(RBX, RBX, 1);
	flags(RBX, N, 5000);
	end_if(CC_NE, 1, 4);
	node(0);
	end(MD_NEXT, 0);
}

static void stream_spmv(void)
{
	uint32_t at = 0;

	word4(1);
	for (uint64_t i = 1; i <= 4; i++)
		word8(i << 32);
	for (int row = 0; row < 5000; row++) {
		uint32_t n = 10 + pseudo() % 20;

		word4(at += n);
		while (n--)
			word4(pseudo() % 5000);
	}
}

/* ---- blocks whose order nobody knows, with what came from memory ---- */

static void describe_branchy(void)
{
	for (uint8_t i = 0; i < 8; i++) {
		node(MD_NODE_HEADER);
		value(MD_VALUE, RAX);
		load(RAX, N, 0, 16);
		load(RAX, N, 0, 24);
		if (i & 1) {
			value(MD_VALUE, RDX);
			store(RDX, RAX, 0, 0);
		}
		load(RSP, N, 0, 8 * i);
		for (int k = 0; k < i % 3; k++)
			store(RSP, N, 0, 64 + 8 * k);
		set(RSP, RSP, i & 1 ? 16 : -16);
		end(MD_NEXT, 0);
	}
}

static void stream_branchy(void)
{
	while (len < CHUNK - 64) {
		uint32_t i = pseudo() >> 8 & 7;

		word4(1 + i);
		word8(pseudo());
		if (i & 1)
			word8(pseudo());
	}
}

/* ---- a loop of several blocks, all of them computed ---- */

static void describe_computed(void)
{
	node(MD_NODE_HEADER);
	value(MD_VALUE, RSI);
	set(RAX, N, 0);
	end(MD_GOTO, 1);
	node(0);
	load(RSI, RAX, 3, 0);
	load(RSI, RAX, 3, 8);
	op((struct md_op){ .code = MD_FLAGS, .dst = MD_FLAGS_AND, .base = RAX, .index = N, .width = 4, .imm = 3 });
	end_if(CC_E, 2, 3);
	node(0);
	store(RSI, RAX, 3, 4096);
	store(RSI, RAX, 3, 4104);
	end(MD_GOTO, 3);
	node(0);
	store(RSI, RAX, 3, 0);
	set(RAX, RAX, 1);
	flags(RAX, N, 100000);
	end_if(CC_NE, 1, 4);
	node(0);
	end(MD_NEXT, 0);
}

static void stream_computed(void)
{
	for (int i = 0; i < 10; i++) {
		word4(1);
		word8(0x10000000);
	}
}

/* ---- measuring ---- */

static const struct subject subjects[] = {
	{ "daxpy", describe_daxpy, stream_daxpy },
	{ "stencil", describe_stencil, stream_stencil },
	{ "spmv", describe_spmv, stream_spmv },
	{ "branches", describe_branchy, stream_branchy },
	{ "computed blocks", describe_computed, stream_computed },
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void check(enum mt_status status)
{
	if (status != MT_OK)
		errx(1, "status %d", status);
}

static uint64_t expand(struct mt_machine *m)
{
	static struct mt_access v[BATCH];
	enum mt_status status;
	uint64_t all = 0;
	size_t n;

	while ((n = mt_next(m, v, BATCH, &status)))
		all += n;
	check(status);
	return all;
}

static uint64_t count(struct mt_machine *m)
{
	struct mt_counts counts = { 0 };
	uint64_t all = 0;

	check(mt_count(m, 1, &counts));
	for (int i = 0; i < 4; i++)
		all += counts.accesses[i];
	return all;
}

/* ns an access */
static double measure(struct mt_code *code, uint64_t (*how)(struct mt_machine *), double seconds)
{
	struct mt_machine *m = mt_machine_new(code);
	struct md_chunk head = { .kind = MD_CHUNK_START, .head = sizeof(head) };
	double start = now(), end;
	uint64_t all = 0;

	do {
		memcpy(chunk, &head, sizeof(head));
		check(mt_feed(m, chunk, len));
		all += how(m);
		head.kind = MD_CHUNK_MORE;
		end = now();
	} while (end - start < seconds);
	mt_machine_free(m);
	return (end - start) * 1e9 / (double)all;
}

static struct mt_code *describe(const struct subject *s, bool compiled)
{
	struct mt_code *code = mt_code_new(&mt_heap);
	struct md_object object = { .base = 0x400000, .load = 0x400000, .first = 1 };

	nnodes = nops = 0;
	memset(nodes, 0, sizeof(nodes));
	s->describe();
	object.nnodes = nnodes;
	object.nops = nops;
	if (compiled)
		mt_compile(code);
	check(mt_code_add(code, &object, nodes, ops));
	return code;
}

static void run(const struct subject *s, double seconds)
{
	double next[2], counted[2];

	len = sizeof(struct md_chunk);
	s->stream();
	for (int compiled = 0; compiled < 2; compiled++) {
		struct mt_code *code = describe(s, compiled);

		next[compiled] = measure(code, expand, seconds);
		counted[compiled] = measure(code, count, seconds);
		mt_code_free(code);
	}
	printf("%-16s %7.0f million accesses/s, compiled %7.0f   counted: %.3f ns an access, compiled %.3f\n", s->name,
	       1e3 / next[0], 1e3 / next[1], counted[0], counted[1]);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	chunk = malloc(CHUNK);
	if (!chunk)
		err(1, "malloc");
	for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		run(&subjects[i], seconds);
	free(chunk);
	return 0;
}
