// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The compiler: memory for code, the way into it and out of it, and the tables in which it is found.
 */
#include "trampolines/x86-64/memcompile.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROOM = 256 << 10,		/* for what is made together */
	ALIGNMENT = 64,
};

/* ---- ways in and out ---- */

static struct mxc_mem io_mem(size_t offset)
{
	return (struct mxc_mem){ .base = MXC_RDX, .index = MXC_NONE, .disp = (int32_t)offset };
}

/* As many pushes as leave the stack aligned. */
static void make_enter(struct mxc_asm *a)
{
	static const uint8_t push[] = {
		0x53,				/* push %rbx */
		0x55,				/* push %rbp */
		0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, /* push %r12 ... %r15 */
		0x52,				/* push %rdx */
	};

	for (size_t i = 0; i < sizeof(push); i++)
		mxc_u8(a, push[i]);
	mxc_mov(a, MXC_RBX, MXC_RDI);
	mxc_load(a, MXC_R12, io_mem(offsetof(struct mxe_io, words)));
	mxc_load(a, MXC_R13, io_mem(offsetof(struct mxe_io, words_end)));
	mxc_load(a, MXC_R14, io_mem(offsetof(struct mxe_io, v)));
	mxc_load(a, MXC_R15, io_mem(offsetof(struct mxe_io, v_end)));
	mxc_load(a, MXC_R11, io_mem(offsetof(struct mxe_io, fuel)));
	mxc_load(a, MXC_R10, io_mem(offsetof(struct mxe_io, table)));
	mxc_rm(a, 2, 0x0fef, 1, 1);		/* pxor */
	mxc_rm(a, 2, 0x0fef, 2, 2);
	mxc_rm(a, 4, 0xff, 4, MXC_RSI);		/* jmp *%rsi */
}

static void make_leave(struct mxc_asm *a)
{
	static const uint8_t pop[] = {
		0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3,
	};

	mxc_u8(a, 0x5a);			/* pop %rdx */
	mxc_store(a, io_mem(offsetof(struct mxe_io, words)), MXC_R12);
	mxc_store(a, io_mem(offsetof(struct mxe_io, v)), MXC_R14);
	mxc_store(a, io_mem(offsetof(struct mxe_io, fuel)), MXC_R11);
	mxc_rm_mem(a, 4, 0x0f11, 1, io_mem(offsetof(struct mxe_io, sums[0])));
	mxc_rm_mem(a, 4, 0x0f11, 2, io_mem(offsetof(struct mxe_io, sums[1])));
	for (size_t i = 0; i < sizeof(pop); i++)
		mxc_u8(a, pop[i]);
}

/* At the beginning of the area. */
static void make_gates(struct mxc_compiler *c)
{
	struct mxc_asm a = { .at = c->area, .end = c->area + MXC_GATES };

	c->gates.enter = c->run;
	make_enter(&a);
	c->gates.leave_header = c->run + (uint64_t)(a.at - c->area);
	mxc_imm(&a, MXC_RAX, 0);
	c->gates.leave = c->run + (uint64_t)(a.at - c->area);
	make_leave(&a);
	c->used = MXC_GATES;
}

bool mxc_begin(struct mxc_compiler *c, const struct mx_code *code, uint8_t *area, uint64_t run, size_t bytes)
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

void mxc_end(struct mxc_compiler *c)
{
	free(c->scratch);
	free(c->build);
}

/* ---- tables ---- */

/* All that leads to these nodes, until they are compiled, is the way out. */
static void fill(const struct mxc_compiler *c, const struct mxc_tables *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		t->headers[i] = c->gates.leave_header;
		t->headers[i + MXE_IDS] = c->gates.leave;
	}
}

void mxc_use(struct mxc_compiler *c, enum mxe_mode mode, uint64_t *table, const uint8_t *heat)
{
	c->tables[mode] = (struct mxc_tables){ .headers = table, .heat = heat };
	fill(c, &c->tables[mode], 0, c->ids);
}

void mxc_discard(struct mxc_compiler *c)
{
	for (unsigned int i = 0; i < MXE_MODES; i++)
		if (c->tables[i].headers)
			fill(c, &c->tables[i], 0, c->ids);
}

void mxc_refresh(struct mxc_compiler *c)
{
	const struct mx_object *newest = c->code->objects;
	uint32_t ids = c->ids;

	for (const struct mx_object *o = newest; o && o != c->seen; o = o->next) {
		uint64_t end = (uint64_t)o->first + o->nnodes;

		if (end <= MXE_IDS && end > ids)
			ids = (uint32_t)end;
	}
	c->seen = newest;
	for (unsigned int i = 0; i < MXE_MODES; i++)
		if (c->tables[i].headers)
			fill(c, &c->tables[i], c->ids, ids);
	c->ids = ids;
}

/* ---- compiling ---- */

bool mxc_compile(struct mxc_compiler *c, enum mxe_mode mode, const struct mx_node *const *roots, unsigned int n)
{
	uint64_t at = (c->used + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	struct mxc_build *b = c->build;
	size_t bytes;

	b->a = (struct mxc_asm){ .at = c->scratch, .end = c->scratch + ROOM };
	b->away = c->run + at - (uint64_t)(uintptr_t)c->scratch;
	if (!mxc_make(c, mode, roots, n))
		return false;
	if (!b->nheads)
		return true;	/* they have been made meanwhile */
	bytes = (size_t)(b->a.at - c->scratch);
	if (at + bytes > c->bytes || !c->put(c, at, c->scratch, bytes)) {
		c->full = true;
		return false;
	}
	mxc_publish(c);
	c->used = at + bytes;
	c->nodes += b->nheads;
	c->made += bytes;
	return true;
}

bool mxc_compile_each(struct mxc_compiler *c, enum mxe_mode mode, const struct mx_node *const *roots, unsigned int n,
		      bool *failed)
{
	memset(failed, 0, n * sizeof(*failed));
	if (c->full || mxc_compile(c, mode, roots, n))
		return !c->full;
	for (unsigned int i = 0; i < n && !c->full; i++)
		failed[i] = n == 1 || !mxc_compile(c, mode, &roots[i], 1);
	return !c->full;
}
