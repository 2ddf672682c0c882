// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The compiler: memory for code, its entry and exit, and the tables in which it is found.
 */
#include "memtrace/compile/x86-64/compile.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROOM = 256 << 10,		/* for what is made together */
	ALIGNMENT = 64,		/* of what it is made in */
};

/* ---- entry and exit ---- */

static struct mtc_mem io_mem(size_t offset)
{
	return (struct mtc_mem){ .base = MTC_RDX, .index = MTC_NONE, .disp = (int32_t)offset };
}

/* As many pushes as leave the stack aligned. */
static void make_enter(struct mtc_asm *a)
{
	static const uint8_t push[] = {
		0x53,				/* push %rbx */
		0x55,				/* push %rbp */
		0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, /* push %r12 ... %r15 */
		0x52,				/* push %rdx */
	};

	for (size_t i = 0; i < sizeof(push); i++)
		mtc_u8(a, push[i]);
	mtc_mov(a, MTC_RBX, MTC_RDI);
	mtc_load(a, MTC_R12, io_mem(offsetof(struct mt_io, words)));
	mtc_load(a, MTC_R13, io_mem(offsetof(struct mt_io, words_end)));
	mtc_load(a, MTC_R14, io_mem(offsetof(struct mt_io, v)));
	mtc_load(a, MTC_R15, io_mem(offsetof(struct mt_io, v_end)));
	mtc_load(a, MTC_R11, io_mem(offsetof(struct mt_io, fuel)));
	mtc_load(a, MTC_R10, io_mem(offsetof(struct mt_io, table)));
	mtc_rm(a, 2, 0x0fef, 1, 1);		/* pxor */
	mtc_rm(a, 2, 0x0fef, 2, 2);
	mtc_rm(a, 4, 0xff, 4, MTC_RSI);		/* jmp *%rsi */
}

static void make_leave(struct mtc_asm *a)
{
	static const uint8_t pop[] = {
		0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3,
	};

	mtc_u8(a, 0x5a);			/* pop %rdx */
	mtc_store(a, io_mem(offsetof(struct mt_io, words)), MTC_R12);
	mtc_store(a, io_mem(offsetof(struct mt_io, v)), MTC_R14);
	mtc_store(a, io_mem(offsetof(struct mt_io, fuel)), MTC_R11);
	mtc_rm_mem(a, 4, 0x0f11, 1, io_mem(offsetof(struct mt_io, sums[0])));
	mtc_rm_mem(a, 4, 0x0f11, 2, io_mem(offsetof(struct mt_io, sums[1])));
	for (size_t i = 0; i < sizeof(pop); i++)
		mtc_u8(a, pop[i]);
}

/* At the beginning of the area. */
static void make_gates(struct mtc_compiler *c)
{
	struct mtc_asm a = { .at = c->area, .end = c->area + MTC_GATES };

	c->gates.enter = c->run;
	make_enter(&a);
	c->gates.leave_header = c->run + (uint64_t)(a.at - c->area);
	mtc_imm(&a, MTC_RAX, 0);
	c->gates.leave = c->run + (uint64_t)(a.at - c->area);
	make_leave(&a);
	c->used = MTC_GATES;
}

bool mtc_begin(struct mtc_compiler *c, const struct mt_code *code, uint8_t *area, uint64_t run, size_t bytes)
{
	c->code = code;
	c->area = area;
	c->run = run;
	c->bytes = bytes;
	c->ids = 1;
	c->build = malloc(sizeof(*c->build));
	c->scratch = aligned_alloc(ALIGNMENT, ROOM);
	if (!c->build || !c->scratch)
		return false;
	make_gates(c);
	return true;
}

void mtc_end(struct mtc_compiler *c)
{
	free(c->scratch);
	free(c->build);
}

/* ---- tables ---- */

/* These nodes are not compiled yet: all jumps to them leave. */
static void fill(const struct mtc_compiler *c, const struct mtc_tables *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		t->headers[i] = c->gates.leave_header;
		t->headers[i + MT_IDS] = c->gates.leave;
	}
}

void mtc_use(struct mtc_compiler *c, enum mt_mode mode, uint64_t *table, const uint8_t *heat)
{
	c->tables[mode] = (struct mtc_tables){ .headers = table, .heat = heat };
	fill(c, &c->tables[mode], 0, c->ids);
}

void mtc_refresh(struct mtc_compiler *c)
{
	const struct mt_object *newest = c->code->objects;
	uint32_t ids = c->ids;

	for (const struct mt_object *o = newest; o && o != c->seen; o = o->next) {
		uint64_t end = (uint64_t)o->first + o->nnodes;

		if (end <= MT_IDS && end > ids)
			ids = (uint32_t)end;
	}
	c->seen = newest;
	for (unsigned int i = 0; i < MT_MODES; i++)
		if (c->tables[i].headers)
			fill(c, &c->tables[i], c->ids, ids);
	c->ids = ids;
}

/* ---- compiling ---- */

bool mtc_compile(struct mtc_compiler *c, enum mt_mode mode, const struct mt_node *const *roots, unsigned int n)
{
	uint64_t at = (c->used + c->alignment - 1) & ~(uint64_t)(c->alignment - 1);
	struct mtc_build *b = c->build;
	size_t bytes;

	b->a = (struct mtc_asm){ .at = c->scratch, .end = c->scratch + ROOM };
	b->away = c->run + at - (uint64_t)(uintptr_t)c->scratch;
	if (!mtc_make(c, mode, roots, n))
		return false;
	if (!b->nheads)
		return true;	/* they have been made meanwhile */
	bytes = (size_t)(b->a.at - c->scratch);
	if (at + bytes > c->bytes || !c->put(c, at, c->scratch, bytes)) {
		c->full = true;
		return false;
	}
	mtc_publish(c);
	c->used = at + bytes;
	c->nodes += b->nheads;
	c->made += bytes;
	return true;
}

bool mtc_compile_each(struct mtc_compiler *c, enum mt_mode mode, const struct mt_node *const *roots, unsigned int n,
		      bool *failed)
{
	memset(failed, 0, n * sizeof(*failed));
	if (c->full || mtc_compile(c, mode, roots, n))
		return !c->full;
	for (unsigned int i = 0; i < n && !c->full; i++)
		failed[i] = n == 1 || !mtc_compile(c, mode, &roots[i], 1);
	return !c->full;
}
