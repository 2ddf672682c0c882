// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Loops that could be computed without being run: that is not worth while for a few turns.
 */
#include "trampolines/memexpandloop.h"
#include "trampolines/x86-64/memcompile.h"

enum { CC_B = 2, CC_NE = 5, CC_BE = 6, CC_A = 7, CC_S = 8, CC_L = 12, CC_LE = 14 };
enum { ALU_ADD = 0, ALU_CMP = 7, SUB = 0x2b, ADD = 0x03, CMP = 0x3b, SHIFT_RIGHT = 5 };

/* A loop that compares a and b, which come closer by the same in each turn. */
struct distance {
	const struct mx_form *from, *to;	/* from - to is not less than 0, as long as it goes around */
	unsigned int width;
	uint64_t by;
};

/* How much a form grows in each turn, if that is always the same. */
static bool growth(const struct mx_loop *loop, const struct mx_form *f, uint64_t *by)
{
	*by = 0;
	for (unsigned int i = 0; i < f->n; i++) {
		for (unsigned int k = 0; k < loop->ngrowing; k++) {
			const struct mx_growing *g = &loop->growing[k];

			if (g->reg != f->sym[i])
				continue;
			if (g->by.n || g->narrow)
				return false;
			*by += f->times[i] * g->by.imm;
		}
	}
	return true;
}

/* A register and a number, or only that. */
static bool simple(const struct mx_form *f)
{
	return f->n == 0 || (f->n == 1 && f->times[0] == 1 && f->sym[0] < MX_ZERO);
}

static bool find_distance(const struct mx_loop *loop, struct distance *d)
{
	unsigned int bits = 64u - loop->shift;
	uint64_t a, b, by;

	if (loop->ncuts || (bits != 64 && bits != 32) || !simple(&loop->a) || !simple(&loop->b) ||
	    !growth(loop, &loop->a, &a) || !growth(loop, &loop->b, &b))
		return false;
	by = bits == 64 ? a - b : (uint64_t)(int64_t)(int32_t)(a - b);
	*d = (struct distance){ .from = &loop->b, .to = &loop->a, .width = bits / 8, .by = by };
	if (by >> 63)
		*d = (struct distance){ .from = &loop->a, .to = &loop->b, .width = bits / 8, .by = -by };
	return d->by && d->by < INT32_MAX / MXC_TURNS && mxc_fits((int64_t)(d->from->imm - d->to->imm));
}

/*
 * Its turns burn fuel when they are run, and would not when they are computed: that is given back.  So their number has to be
 * what mx_loop_run() says, less the last, which is always run.
 */
static bool countable(const struct mx_loop *loop, const struct distance *d)
{
	for (unsigned int i = 0; i < loop->ngrowing; i++)
		if (loop->growing[i].narrow)
			return false;
	return loop->half == 2 && !loop->yes && !(d->by & (d->by - 1));
}

static void measure(struct mxc_build *b, const struct distance *d)
{
	int64_t imm = (int64_t)(d->from->imm - d->to->imm);

	if (d->from->n)
		mxc_rm_mem(&b->a, d->width, 0x8b, MXC_RAX, mxc_slot(d->from->sym[0]));
	else
		mxc_imm(&b->a, MXC_RAX, 0);
	if (imm)
		mxc_alu_imm(&b->a, d->width, ALU_ADD, MXC_RAX, (int32_t)imm);
	if (d->to->n)
		mxc_rm_mem(&b->a, d->width, SUB, MXC_RAX, mxc_slot(d->to->sym[0]));
}

static void give_back(struct mxc_build *b, const struct distance *d, const struct mx_node *node)
{
	unsigned int bits = (unsigned int)__builtin_ctzll(d->by);

	if (bits) {
		mxc_rm(&b->a, 4, 0xf7, 0, MXC_RAX);	/* test */
		mxc_u32(&b->a, (uint32_t)d->by - 1);
		mxc_fix(b, mxc_jcc(&b->a, CC_NE), node, true);
		mxc_rm(&b->a, 4, 0xc1, SHIFT_RIGHT, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)bits);
	}
	mxc_rm(&b->a, 8, ADD, MXC_R11, MXC_RAX);
}

/* ---- without being run: where accesses are only counted ---- */

/* The inverse of an odd number modulo 2^64, by Newton's iteration. */
static uint64_t inverse(uint64_t a)
{
	uint64_t x = a * 3 ^ 2;

	for (int i = 0; i < 4; i++)
		x *= 2 - a * x;
	return x;
}

static bool all_known(const struct mx_loop *loop)
{
	for (unsigned int i = 0; i < loop->ngrowing; i++) {
		const struct mx_form *by = &loop->growing[i].by;

		if (loop->growing[i].narrow || !mxc_fits((int64_t)by->imm))
			return false;
		for (unsigned int k = 0; k < by->n; k++)
			if (!mxc_fits((int64_t)by->times[k]))
				return false;
	}
	return true;
}

/* Conditions of less, or of less or equal; unsigned, signed. */
static bool or_equal(const struct mx_loop *loop)
{
	return loop->half == 3 || loop->half == 7;
}

static bool is_signed(const struct mx_loop *loop)
{
	return loop->half == 6 || loop->half == 7;
}

/* It goes around as long as d->to is less than d->from, or not greater; one of both stays. */
static bool ordered(const struct mx_loop *loop, const struct distance *d)
{
	const struct mx_form *greater = loop->yes ? &loop->b : &loop->a;
	uint64_t a, b;

	return (or_equal(loop) || is_signed(loop) || loop->half == 1) && d->from == greater && d->by <= UINT16_MAX &&
	       mxc_fits((int64_t)d->from->imm) && mxc_fits((int64_t)d->to->imm) &&
	       growth(loop, &loop->a, &a) && growth(loop, &loop->b, &b) && (!a || !b);
}

static bool computable(const struct mxc_build *b, const struct mx_loop *loop, const struct distance *d)
{
	return b->mode != MXE_NEXT && all_known(loop) && (loop->half == 2 ? !loop->yes : ordered(loop, d));
}

static void get_form(struct mxc_build *b, uint8_t dst, const struct mx_form *f, unsigned int width)
{
	if (!f->n) {
		mxc_imm(&b->a, dst, width == 4 ? (uint32_t)f->imm : f->imm);
		return;
	}
	mxc_rm_mem(&b->a, width, 0x8b, dst, mxc_slot(f->sym[0]));
	if (f->imm)
		mxc_alu_imm(&b->a, width, ALU_ADD, dst, (int32_t)f->imm);
}

/*
 * rax becomes the number of turns but the last, at most MXC_COMPUTED; if there is none the code goes on at the end.
 */
static void count_ordered(struct mxc_build *b, const struct distance *d, const struct mx_node *node)
{
	const struct mx_loop *loop = node->loop;
	bool strict = or_equal(loop) != loop->yes;
	unsigned int none = (strict ? CC_BE : CC_B), bits = (unsigned int)__builtin_ctzll(d->by);
	uint8_t *end;

	if (is_signed(loop))
		none = strict ? CC_LE : CC_L;
	get_form(b, MXC_RCX, d->from, d->width);
	get_form(b, MXC_RDX, d->to, d->width);
	mxc_imm(&b->a, MXC_RAX, 0);
	mxc_rm(&b->a, d->width, CMP, MXC_RCX, MXC_RDX);
	end = mxc_jcc(&b->a, none);
	mxc_rm(&b->a, d->width, SUB, MXC_RCX, MXC_RDX);
	mxc_alu_imm(&b->a, 8, ALU_CMP, MXC_RCX, (int32_t)(d->by * (MXC_COMPUTED - 1)));
	mxc_fix(b, mxc_jcc(&b->a, CC_A), node, true);
	/* (distance + by - 1) / by, or distance / by + 1 */
	mxc_rm_mem(&b->a, 4, 0x8d, MXC_RAX, (struct mxc_mem){ .base = MXC_RCX, .index = MXC_NONE,
							      .disp = (int32_t)(strict ? d->by - 1 : d->by) });
	if (d->by == 1u << bits) {
		mxc_rm(&b->a, 4, 0xc1, SHIFT_RIGHT, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)bits);
	} else {
		mxc_imm(&b->a, MXC_RCX, d->by);
		mxc_imm(&b->a, MXC_RDX, 0);
		mxc_rm(&b->a, 4, 0xf7, 6, MXC_RCX);	/* div */
	}
	if (!b->a.full)
		mxc_to(end, b->a.at);
}

/* rax is the distance, and becomes the number of turns but the last, at most MXC_COMPUTED. */
static void divide(struct mxc_build *b, const struct distance *d, const struct mx_node *node)
{
	unsigned int bits = (unsigned int)__builtin_ctzll(d->by);
	uint64_t odd = d->by >> bits;

	if (bits) {
		mxc_rm(&b->a, 4, 0xf7, 0, MXC_RAX);	/* test */
		mxc_u32(&b->a, (1u << bits) - 1);
		mxc_fix(b, mxc_jcc(&b->a, CC_NE), node, true);
		mxc_rm(&b->a, d->width, 0xc1, SHIFT_RIGHT, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)bits);
	}
	if (odd != 1) {
		mxc_imm(&b->a, MXC_RCX, d->width == 4 ? (uint32_t)inverse(odd) : inverse(odd));
		mxc_rm(&b->a, d->width, 0x0faf, MXC_RAX, MXC_RCX);
	}
	mxc_alu_imm(&b->a, d->width, ALU_CMP, MXC_RAX, MXC_COMPUTED);
	mxc_fix(b, mxc_jcc(&b->a, CC_A), node, true);
}

static void times(struct mxc_build *b, uint8_t dst, uint8_t src, int32_t by)
{
	mxc_rm(&b->a, 8, 0x69, dst, src);
	mxc_u32(&b->a, (uint32_t)by);
}

/* As many words, or turns without words, as there may be: MXC_PATH of these count no more than a piece may. */
static void take_turns(struct mxc_build *b, const struct mx_node *node)
{
	if (!node->words) {
		mxc_mov(&b->a, MXC_RCX, MXC_RAX);
		mxc_rm(&b->a, 4, 0xc1, SHIFT_RIGHT, MXC_RCX);
		mxc_u8(&b->a, (uint8_t)__builtin_ctz(MXC_PATH));
		mxc_rm(&b->a, 8, SUB, MXC_R14, MXC_RCX);
		mxc_fix(b, mxc_jcc(&b->a, CC_S), node, true);
		return;
	}
	times(b, MXC_RCX, MXC_RAX, node->words);
	mxc_rm(&b->a, 8, ADD, MXC_RCX, MXC_R12);
	mxc_rm(&b->a, 8, CMP, MXC_RCX, MXC_R13);
	mxc_fix(b, mxc_jcc(&b->a, CC_A), node, true);
	mxc_mov(&b->a, MXC_R12, MXC_RCX);
}

static void grow(struct mxc_build *b, const struct mx_growing *g)
{
	uint8_t reg = MXC_RDX;

	if (g->by.n == 0 && g->by.imm == 1) {
		reg = MXC_RAX;
	} else if (g->by.n == 0) {
		times(b, MXC_RDX, MXC_RAX, (int32_t)g->by.imm);
	} else {
		mxc_imm(&b->a, MXC_RDX, g->by.imm);
		for (unsigned int i = 0; i < g->by.n; i++) {
			mxc_load(&b->a, MXC_RCX, mxc_slot(g->by.sym[i]));
			times(b, MXC_RCX, MXC_RCX, (int32_t)g->by.times[i]);
			mxc_rm(&b->a, 8, ADD, MXC_RDX, MXC_RCX);
		}
		mxc_rm(&b->a, 8, 0x0faf, MXC_RDX, MXC_RAX);
	}
	mxc_rm_mem(&b->a, 8, 0x01, reg, mxc_slot(g->reg));
}

/* xmm1 and 2 += turns * what each of them adds, which is less than 2^15 as they are. */
static void add_turns(struct mxc_build *b, const struct mx_node *node)
{
	uint32_t sums[2][4] = { 0 };

	for (uint32_t i = 0; i < node->nops; i++)
		if (node->ops[i].code == MD_ACCESS)
			mxc_add(b, &node->ops[i], sums);
	mxc_rm(&b->a, 2, 0x0f6e, 0, MXC_RAX);		/* movd %eax, %xmm0 */
	mxc_rm(&b->a, 2, 0x0f70, 0, 0);			/* pshufd $0, %xmm0, %xmm0 */
	mxc_u8(&b->a, 0);
	mxc_rm(&b->a, 2, 0x0f6f, 3, 0);			/* movdqa %xmm0, %xmm3 */
	mxc_constant(b, mxc_rm_rip(&b->a, 2, 0x0ff5, 0), sums[0]); /* pmaddwd */
	mxc_constant(b, mxc_rm_rip(&b->a, 2, 0x0ff5, 3), sums[1]);
	mxc_rm(&b->a, 2, 0x0ffe, 1, 0);			/* paddd */
	mxc_rm(&b->a, 2, 0x0ffe, 2, 3);
}

/* All turns but the last, which is run.  Registers of the machine are in memory. */
static void compute(struct mxc_build *b, const struct distance *d, const struct mx_node *node)
{
	if (node->loop->half == 2) {
		measure(b, d);
		divide(b, d, node);
	} else {
		count_ordered(b, d, node);
	}
	take_turns(b, node);
	for (unsigned int i = 0; i < node->loop->ngrowing; i++)
		grow(b, &node->loop->growing[i]);
	add_turns(b, node);
}

/* ---- */

/* Of a few turns, all are run. */
static void try_few(struct mxc_build *b, const struct distance *d, const struct mx_node *node)
{
	measure(b, d);
	mxc_alu_imm(&b->a, d->width, ALU_CMP, MXC_RAX, (int32_t)(d->by * MXC_TURNS));
	mxc_fix(b, mxc_jcc(&b->a, CC_A), node, true);
	if (!node->words)
		give_back(b, d, node);
}

void mxc_enter_loop(struct mxc_build *b, uint8_t *place, const struct mx_node *node)
{
	struct distance d;
	bool known = find_distance(node->loop, &d), closed = known && computable(b, node->loop, &d);
	uint8_t *body;

	if (!closed && (!known || (!node->words && !countable(node->loop, &d)))) {
		mxc_fix(b, place, node, true);
		return;
	}
	if (!b->a.full)
		mxc_to(place, b->a.at);
	if (closed)
		compute(b, &d, node);
	else
		try_few(b, &d, node);
	body = mxc_jmp(&b->a);
	if (!b->a.full)
		mxc_to(body, b->body);
}
