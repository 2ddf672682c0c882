// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mirror/random.h"

#include <string.h>

enum { LABELS = 64, FIXUPS = 256, CALLS = 512, TABLE_ENTRIES = 4 };
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12 };

struct fixup {
	uint32_t at;		/* of the displacement */
	uint32_t label;
	uint8_t size;		/* 1 or 4; 0: table entry, relative to `base` */
	uint32_t base;
};

struct gen {
	struct random_code *code;
	struct random_source *source;
	uint32_t at;
	uint32_t table;		/* next free byte of the tables */
	uint32_t label[LABELS];
	uint32_t nlabels;
	struct fixup fixups[FIXUPS];
	uint32_t nfixups;
	struct { uint32_t at, fn; } calls[CALLS]; /* displacements to functions */
	uint32_t ncalls;
	uint32_t fn;
	uint32_t defined;	/* registers that may be read */
	bool flags;		/* so may they */
	bool leaf;
	uint8_t pushes;		/* of rbx, rbp, r12, in this order */
	uint8_t frame;		/* bytes below them */
};

uint32_t random_below(struct random_source *source, uint32_t n)
{
	if (source->bytes) {
		uint32_t value = source->left ? *source->bytes : 0;

		source->bytes += source->left != 0;
		source->left -= source->left != 0;
		return value % n;
	}
	source->state ^= source->state << 13;
	source->state ^= source->state >> 7;
	source->state ^= source->state << 17;
	return (uint32_t)(source->state >> 32) % n;
}

static uint32_t pick(struct gen *g, uint32_t n)
{
	return random_below(g->source, n);
}

static void put(struct gen *g, const void *bytes, size_t n)
{
	if (g->at + n > RANDOM_CODE - 16)
		return;
	memcpy(g->code->image + g->at, bytes, n);
	g->at += (uint32_t)n;
}

#define PUT(g, ...) put((g), (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void put32(struct gen *g, uint32_t value)
{
	put(g, &value, sizeof(value));
}

/* ---- labels ---- */

static uint32_t new_label(struct gen *g)
{
	g->label[g->nlabels] = 0;
	return g->nlabels++;
}

static void place(struct gen *g, uint32_t label)
{
	g->label[label] = g->at;
	g->defined = 1u << RAX | 1u << RBX | 1u << RBP | 1u << R12;
	g->flags = false;
}

static void refer(struct gen *g, uint32_t label, uint8_t size)
{
	g->fixups[g->nfixups++] = (struct fixup){ .at = g->at, .label = label, .size = size };
	put(g, "\0\0\0\0", size);
}

static void call_fixup(struct gen *g, uint32_t fn)
{
	g->calls[g->ncalls].at = g->at;
	g->calls[g->ncalls++].fn = fn;
	put32(g, 0);
}

/* Displacements of 8 bits that do not reach are avoided by the caller. */
static void resolve(struct gen *g)
{
	uint8_t *image = g->code->image;

	for (uint32_t i = 0; i < g->nfixups; i++) {
		const struct fixup *f = &g->fixups[i];
		uint32_t rel = g->label[f->label] - (f->at + f->size);

		if (f->size == 0) {
			rel = g->label[f->label] - f->base;
			memcpy(image + f->at, &rel, 4);
		} else {
			memcpy(image + f->at, &rel, f->size);
		}
	}
	g->nfixups = 0;
}

/* ---- straight code ---- */

static uint32_t any_defined(struct gen *g)
{
	uint32_t reg = pick(g, 13);

	while (!(g->defined & 1u << reg))
		reg = (reg + 1) % 13;
	return reg;
}

/* A register that may be written: those that were saved, and those that the ABI gives away. */
static uint32_t any_writable(struct gen *g)
{
	static const uint8_t saved[] = { RBX, RBP, R12 };
	static const uint8_t free[] = { RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11 };
	uint32_t k = pick(g, 9 + g->pushes);

	return k < 9 ? free[k] : saved[k - 9];
}

static void rex(struct gen *g, bool wide, uint32_t reg, uint32_t rm)
{
	uint8_t byte = (uint8_t)(0x40 | (wide ? 8 : 0) | (reg >= 8 ? 4 : 0) | (rm >= 8 ? 1 : 0));

	if (byte != 0x40)
		PUT(g, byte);
}

static void reg_reg(struct gen *g, uint8_t opcode, uint32_t reg, uint32_t rm)
{
	rex(g, pick(g, 2), reg, rm);
	PUT(g, opcode, (uint8_t)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}

static uint32_t data_disp(struct gen *g)
{
	return 8 + 8 * pick(g, 200);
}

/* op reg, disp(%r15) */
static void reg_data(struct gen *g, uint8_t opcode, uint32_t reg)
{
	uint32_t disp = data_disp(g);

	PUT(g, (uint8_t)(0x49 | (reg >= 8 ? 4 : 0)), opcode);
	if (disp < 128) {
		PUT(g, (uint8_t)(0x47 | (reg & 7) << 3), (uint8_t)disp);
	} else {
		PUT(g, (uint8_t)(0x87 | (reg & 7) << 3));
		put32(g, disp);
	}
}

/* op reg, data(%rip) */
static void reg_rip(struct gen *g, uint8_t opcode, uint32_t reg)
{
	PUT(g, (uint8_t)(0x48 | (reg >= 8 ? 4 : 0)), opcode, (uint8_t)(0x05 | (reg & 7) << 3));
	put32(g, RANDOM_CODE + data_disp(g) - (g->at + 4));
}

static void define(struct gen *g, uint32_t reg)
{
	g->defined |= 1u << reg;
}

static void move_imm(struct gen *g, uint32_t reg)
{
	rex(g, false, 0, reg);
	PUT(g, (uint8_t)(0xb8 | (reg & 7)));
	put32(g, pick(g, 256) * 0x01010007u);
	define(g, reg);
}

static void arithmetic(struct gen *g)
{
	static const uint8_t opcodes[] = { 0x01, 0x29, 0x21, 0x09, 0x31, 0x39, 0x85 };
	uint32_t rm = any_writable(g);

	if (!(g->defined & 1u << rm))
		move_imm(g, rm);
	reg_reg(g, opcodes[pick(g, 7)], any_defined(g), rm);
	g->flags = true;
}

static void with_flags(struct gen *g)
{
	uint32_t reg = any_writable(g);

	if (!g->flags || !(g->defined & 1u << reg))
		return;
	if (pick(g, 2)) {
		rex(g, true, reg, reg);
		PUT(g, 0x0f, (uint8_t)(0x40 | pick(g, 16)),
		    (uint8_t)(0xc0 | (reg & 7) << 3 | (reg & 7)));
	} else {
		reg_reg(g, 0x11, any_defined(g), reg);	/* adc */
	}
}

static void red_zone(struct gen *g)
{
	uint8_t disp = (uint8_t)-(8 + 8 * pick(g, 16));
	uint32_t from = any_defined(g), to = any_writable(g);

	if (!g->leaf)
		return;
	PUT(g, (uint8_t)(0x48 | (from >= 8 ? 4 : 0)), 0x89, (uint8_t)(0x44 | (from & 7) << 3), 0x24, disp);
	PUT(g, (uint8_t)(0x48 | (to >= 8 ? 4 : 0)), 0x8b, (uint8_t)(0x44 | (to & 7) << 3), 0x24, disp);
	define(g, to);
}

static void push_pop(struct gen *g)
{
	uint32_t from = any_defined(g), to = any_writable(g);

	rex(g, false, 0, from);
	PUT(g, (uint8_t)(0x50 | (from & 7)));
	rex(g, false, 0, to);
	PUT(g, (uint8_t)(0x58 | (to & 7)));
	define(g, to);
}

static void straight(struct gen *g)
{
	uint32_t reg;

	switch (pick(g, 10)) {
	case 0:
		move_imm(g, any_writable(g));
		break;
	case 1:
		reg = any_writable(g);
		reg_reg(g, 0x89, any_defined(g), reg);
		define(g, reg);
		break;
	case 2:
		reg_data(g, 0x89, any_defined(g));
		break;
	case 3:
		reg = any_writable(g);
		reg_data(g, 0x8b, reg);
		define(g, reg);
		break;
	case 4:
		reg = any_writable(g);
		reg_rip(g, pick(g, 2) ? 0x8b : 0x03, g->defined & 1u << reg ? reg : RAX);
		break;
	case 5:
		with_flags(g);
		break;
	case 6:
		red_zone(g);
		break;
	case 7:
		push_pop(g);
		break;
	case 8:
		reg_rip(g, 0x89, any_defined(g));
		break;
	default:
		arithmetic(g);
	}
}

/* ---- branches ---- */

static void set_flags(struct gen *g)
{
	if (g->flags && pick(g, 3))
		return;
	reg_reg(g, pick(g, 2) ? 0x39 : 0x85, any_defined(g), any_defined(g));
	g->flags = true;
}

static void jcc(struct gen *g, uint32_t label, bool near)
{
	uint8_t condition = (uint8_t)pick(g, 16);

	set_flags(g);
	if (near)
		PUT(g, 0x70 | condition);
	else
		PUT(g, 0x0f, 0x80 | condition);
	refer(g, label, near ? 1 : 4);
}

static void jmp(struct gen *g, uint32_t label, bool near)
{
	PUT(g, near ? 0xeb : 0xe9);
	refer(g, label, near ? 1 : 4);
}

/* subl $1, (%r15); js label */
static void burn(struct gen *g, uint32_t label)
{
	PUT(g, 0x41, 0x83, 0x2f, 1, 0x0f, 0x88);
	refer(g, label, 4);
	g->flags = false;
}

static void padding(struct gen *g)
{
	switch (pick(g, 3)) {
	case 0:
		return;
	case 1:
		while (g->at % 16)
			PUT(g, 0x90);
		return;
	default:
		while (g->at % 8)
			PUT(g, 0xcc);
	}
}

static void prologue(struct gen *g)
{
	if (g->pushes > 0)
		PUT(g, 0x53);
	if (g->pushes > 1)
		PUT(g, 0x55);
	if (g->pushes > 2)
		PUT(g, 0x41, 0x54);
	if (g->frame)
		PUT(g, 0x48, 0x83, 0xec, g->frame);
}

static void epilogue(struct gen *g)
{
	if (g->frame)
		PUT(g, 0x48, 0x83, 0xc4, g->frame);
	if (g->pushes > 2)
		PUT(g, 0x41, 0x5c);
	if (g->pushes > 1)
		PUT(g, 0x5d);
	if (g->pushes > 0)
		PUT(g, 0x5b);
}

static void arguments(struct gen *g)
{
	if (!(g->defined & 1u << RDI))
		move_imm(g, RDI);
	if (!(g->defined & 1u << RSI))
		reg_reg(g, 0x89, any_defined(g), RSI);
}

static void make_call(struct gen *g)
{
	uint32_t skip = new_label(g);

	burn(g, skip);
	arguments(g);
	PUT(g, 0xe8);
	call_fixup(g, pick(g, RANDOM_FUNCTIONS));
	if (pick(g, 4) == 0 && g->nlabels < LABELS - 8) {	/* another one at once */
		PUT(g, 0x48, 0x89, 0xc7);
		PUT(g, 0x31, 0xf6);
		PUT(g, 0xe8);
		call_fixup(g, pick(g, RANDOM_FUNCTIONS));
	}
	place(g, skip);
}

/* Without fuel: it goes up, so that every way back to the same function costs some. */
static void call_up(struct gen *g)
{
	if (g->leaf || g->fn + 1 == RANDOM_FUNCTIONS)
		return;
	arguments(g);
	PUT(g, 0xe8);
	call_fixup(g, g->fn + 1 + pick(g, RANDOM_FUNCTIONS - g->fn - 1));
	place(g, new_label(g));
}

static void make_loop(struct gen *g)
{
	uint32_t top = new_label(g), out = new_label(g);

	place(g, top);
	burn(g, out);
	for (uint32_t n = pick(g, 3); n; n--)
		straight(g);
	if (pick(g, 3) == 0) {
		move_imm(g, RCX);
		PUT(g, 0xe2);	/* loop */
		refer(g, top, 1);
	} else {
		jcc(g, top, pick(g, 2));
	}
	place(g, out);
}

static void make_switch(struct gen *g)
{
	uint32_t table, end = new_label(g), label[TABLE_ENTRIES];

	if (g->table + 4 * TABLE_ENTRIES > RANDOM_CODE + RANDOM_DATA)
		return;
	table = g->table;
	g->table += 4 * TABLE_ENTRIES;
	/* mov %eax, %ecx; cmp $3, %ecx; ja end; lea table(%rip), %rdx; movslq (%rdx,%rcx,4), %rcx;
	 * add %rdx, %rcx; jmp *%rcx */
	PUT(g, 0x89, 0xc1);
	if (pick(g, 2))
		PUT(g, 0x83, 0xe1, 0x07);
	PUT(g, 0x83, 0xf9, TABLE_ENTRIES - 1, 0x0f, 0x87);
	refer(g, end, 4);
	PUT(g, 0x48, 0x8d, 0x15);
	put32(g, table - (g->at + 4));
	PUT(g, 0x48, 0x63, 0x0c, 0x8a, 0x48, 0x01, 0xd1, 0xff, 0xe1);
	for (int i = 0; i < TABLE_ENTRIES; i++) {
		label[i] = new_label(g);
		g->fixups[g->nfixups++] = (struct fixup){ .at = table + 4 * (uint32_t)i, .label = label[i],
							  .base = table };
	}
	for (int i = 0; i < TABLE_ENTRIES; i++) {
		place(g, label[i]);
		for (uint32_t n = pick(g, 3); n; n--)
			straight(g);
		if (pick(g, 3) == 0) {
			epilogue(g);
			PUT(g, 0xc3);
			padding(g);
		} else if (pick(g, 2)) {
			jmp(g, end, false);
		}
	}
	place(g, end);
}

static void make_if(struct gen *g)
{
	uint32_t end = new_label(g);

	jcc(g, end, pick(g, 2));
	if (pick(g, 3) == 0 && g->flags)	/* on the same flags */
		jcc(g, end, pick(g, 2));
	for (uint32_t n = pick(g, 3); n; n--)
		straight(g);
	if (pick(g, 4) == 0) {
		epilogue(g);
		PUT(g, 0xc3);
		padding(g);
	}
	place(g, end);
}

/* Leaves or falls through to the code after. */
static void tail_call(struct gen *g)
{
	uint32_t over = new_label(g);

	burn(g, over);
	arguments(g);
	epilogue(g);
	if (pick(g, 4) == 0 && !g->pushes && !g->frame) {
		set_flags(g);
		PUT(g, 0x0f, (uint8_t)(0x80 | pick(g, 16)));
		call_fixup(g, pick(g, RANDOM_FUNCTIONS));
		g->flags = false;
	} else {
		PUT(g, 0xe9);
		call_fixup(g, pick(g, RANDOM_FUNCTIONS));
		padding(g);
	}
	place(g, over);
}

static void again(struct gen *g, uint32_t entry)
{
	uint32_t over = new_label(g);

	burn(g, over);
	arguments(g);
	epilogue(g);
	jmp(g, entry, g->at - g->label[entry] < 100 && pick(g, 2));
	padding(g);
	place(g, over);
}

static void body(struct gen *g, uint32_t entry)
{
	switch (pick(g, 9)) {
	case 0:
	case 1:
		make_if(g);
		break;
	case 2:
	case 3:
		if (!g->leaf)
			make_call(g);
		break;
	case 4:
		make_loop(g);
		break;
	case 5:
		make_switch(g);
		break;
	case 6:
		tail_call(g);
		break;
	case 7:
		again(g, entry);
		break;
	default:
		for (uint32_t n = 1 + pick(g, 5); n; n--)
			straight(g);
	}
}

static void end_function(struct gen *g)
{
	epilogue(g);
	switch (pick(g, 8)) {
	case 0:
		if (g->fn + 1 < RANDOM_FUNCTIONS) {	/* into the next one */
			PUT(g, 0x31, 0xff, 0x31, 0xf6);
			return;
		}
		break;
	case 1:
		PUT(g, 0xf3);
		break;
	case 2:
		PUT(g, 0x31, 0xc0);
		break;
	default:
		break;
	}
	PUT(g, 0xc3);
}

static void function(struct gen *g)
{
	uint32_t entry = new_label(g), early = LABELS;

	g->leaf = pick(g, 3) == 0;
	g->pushes = g->leaf ? 0 : (uint8_t)pick(g, 4);
	g->frame = g->leaf ? 0 : (uint8_t)(8 * pick(g, 2));
	if (pick(g, 3) == 0)
		PUT(g, 0xf3, 0x0f, 0x1e, 0xfa);
	place(g, entry);
	if (pick(g, 2))
		g->label[entry] = g->code->start[g->fn];
	define(g, RDI);
	define(g, RSI);
	if (pick(g, 3) == 0) {
		early = new_label(g);
		jcc(g, early, false);
	}
	prologue(g);
	if (pick(g, 4) == 0)
		call_up(g);
	for (uint32_t n = pick(g, 7); n && g->nlabels < LABELS - 16; n--)
		body(g, entry);
	if (pick(g, 4) == 0)
		call_up(g);
	if (early != LABELS) {
		epilogue(g);
		PUT(g, 0xc3);
		padding(g);
		place(g, early);
		g->pushes = g->frame = 0;
	}
	end_function(g);
	g->code->size[g->fn] = g->at - g->code->start[g->fn];
	resolve(g);
	g->nlabels = 0;
}

void random_generate(struct random_code *code, struct random_source *source)
{
	struct gen g = { .code = code, .source = source, .table = RANDOM_CODE + RANDOM_TABLES };
	uint32_t rel;

	memset(code, 0, sizeof(*code));
	memset(code->image, 0xcc, RANDOM_CODE);
	code->nfunctions = RANDOM_FUNCTIONS;
	for (g.fn = 0; g.fn < RANDOM_FUNCTIONS; g.fn++) {
		code->start[g.fn] = g.at;
		function(&g);
		if (code->image[g.at - 1] == 0xc3)
			padding(&g);
	}
	code->start[g.fn] = g.at;
	for (uint32_t i = 0; i < g.ncalls; i++) {
		rel = code->start[g.calls[i].fn] - (g.calls[i].at + 4);
		memcpy(code->image + g.calls[i].at, &rel, 4);
	}
}
