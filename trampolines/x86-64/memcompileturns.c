// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How often loops come around that could be computed without being run, as far as a few instructions tell: what mx_loop_run()
 * says, where it is asked for exactly.
 */
#include "trampolines/x86-64/memcompile.h"

enum { CC_B = 2, CC_NE = 5, CC_BE = 6, CC_A = 7, CC_L = 12, CC_LE = 14 };
enum { ALU_ADD = 0, ALU_CMP = 7, SUB = 0x2b, ADD = 0x03, OR = 0x0b, CMP = 0x3b, SHIFT_RIGHT = 5 };

/* ---- what grows ---- */

static const struct mx_growing *growing(const struct mx_loop *loop, uint8_t reg)
{
	for (unsigned int i = 0; i < loop->ngrowing; i++)
		if (loop->growing[i].reg == reg)
			return &loop->growing[i];
	return NULL;
}

static uint64_t by_of(const struct mx_growing *g)
{
	return g->narrow ? (uint64_t)(int64_t)(int32_t)g->by.imm : g->by.imm;
}

/* A register and a number, or only that. */
static bool simple(const struct mx_form *f)
{
	return f->n == 0 || (f->n == 1 && f->times[0] == 1 && f->sym[0] < MX_ZERO);
}

/* A 32-bit cut of a register and a number is that sum, as long as it does not wrap around. */
static bool resolve(const struct mx_loop *loop, const struct mx_form *f, struct mx_form *to)
{
	const struct mx_cut *c;

	*to = *f;
	if (f->n == 1 && f->sym[0] >= MX_SYM_CUT && f->sym[0] < MX_SYM_VALUE) {
		c = &loop->cuts[f->sym[0] - MX_SYM_CUT];
		if (c->bits != 32 || c->sign)
			return false;
		to->imm += c->form.imm;
		to->sym[0] = c->form.sym[0];
		if (c->form.n != 1 || c->form.times[0] != 1)
			return false;
	}
	return simple(to);
}

/* How much it grows in each turn, if that is always the same. */
static bool growth(const struct mx_loop *loop, const struct mx_form *f, uint64_t *by)
{
	const struct mx_growing *g = f->n ? growing(loop, f->sym[0]) : NULL;

	*by = g ? by_of(g) : 0;
	return !g || !g->by.n;
}

bool mxc_find_turns(const struct mx_loop *loop, struct mxc_turns *t)
{
	unsigned int bits = 64u - loop->shift;
	struct mx_form a, b;
	uint64_t sa, sb, by;

	if ((bits != 64 && bits != 32) || !resolve(loop, &loop->a, &a) || !resolve(loop, &loop->b, &b) ||
	    !growth(loop, &a, &sa) || !growth(loop, &b, &sb))
		return false;
	by = bits == 64 ? sa - sb : (uint64_t)(int64_t)(int32_t)(sa - sb);
	*t = (struct mxc_turns){ .from = b, .to = a, .from_b = true, .width = bits / 8, .by = by, .both = sa && sb };
	if (by >> 63)
		*t = (struct mxc_turns){ .from = a, .to = b, .width = bits / 8, .by = -by, .both = sa && sb };
	return t->by && t->by < INT32_MAX / MXC_TURNS && mxc_fits((int64_t)(t->from.imm - t->to.imm));
}

/* ---- conditions ---- */

/* Of less, or of less or equal; unsigned, signed. */
static bool or_equal(const struct mx_loop *loop)
{
	return loop->half == 3 || loop->half == 7;
}

static bool is_signed(const struct mx_loop *loop)
{
	return loop->half == 6 || loop->half == 7;
}

/* It goes around as long as t->to is less than t->from, or not greater; one of both stays. */
static bool ordered(const struct mx_loop *loop, const struct mxc_turns *t)
{
	return (or_equal(loop) || is_signed(loop) || loop->half == 1) && t->from_b == loop->yes && !t->both &&
	       t->by <= UINT16_MAX && mxc_fits((int64_t)t->from.imm) && mxc_fits((int64_t)t->to.imm);
}

/* What check_cuts() looks at is enough for it. */
static bool cut_known(const struct mx_loop *loop, const struct mx_cut *c)
{
	const struct mx_growing *g;

	if (c->bits != 32 || c->sign || c->form.n != 1 || c->form.times[0] != 1 || c->form.sym[0] >= MX_ZERO)
		return false;
	g = growing(loop, c->form.sym[0]);
	return !g || (g->narrow && (c->form.imm == 0 || (uint32_t)c->form.imm == (uint32_t)g->by.imm));
}

static bool growing_known(const struct mx_growing *g)
{
	if (!mxc_fits((int64_t)by_of(g)) || (g->narrow && g->by.n))
		return false;
	for (unsigned int k = 0; k < g->by.n; k++)
		if (!mxc_fits((int64_t)g->by.times[k]))
			return false;
	return true;
}

bool mxc_turns_exact(const struct mx_loop *loop, const struct mxc_turns *t)
{
	for (unsigned int i = 0; i < loop->ngrowing; i++)
		if (!growing_known(&loop->growing[i]))
			return false;
	for (unsigned int i = 0; i < loop->ncuts; i++)
		if (!cut_known(loop, &loop->cuts[i]))
			return false;
	return loop->half == 2 ? !loop->yes : ordered(loop, t);
}

/* ---- counting ---- */

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

/* rax = from - to */
static void measure(struct mxc_build *b, const struct mxc_turns *t)
{
	int64_t imm = (int64_t)(t->from.imm - t->to.imm);

	if (t->from.n)
		mxc_rm_mem(&b->a, t->width, 0x8b, MXC_RAX, mxc_slot(t->from.sym[0]));
	else
		mxc_imm(&b->a, MXC_RAX, 0);
	if (imm)
		mxc_alu_imm(&b->a, t->width, ALU_ADD, MXC_RAX, (int32_t)imm);
	if (t->to.n)
		mxc_rm_mem(&b->a, t->width, SUB, MXC_RAX, mxc_slot(t->to.sym[0]));
}

static void leave(struct mxc_build *b, unsigned int cc, const struct mx_node *node)
{
	mxc_fix(b, mxc_jcc(&b->a, cc), node, true);
}

void mxc_few_turns(struct mxc_build *b, const struct mxc_turns *t, const struct mx_node *node)
{
	measure(b, t);
	mxc_alu_imm(&b->a, t->width, ALU_CMP, MXC_RAX, (int32_t)(t->by * MXC_TURNS));
	leave(b, CC_A, node);
}

/* If there is none, the code goes on at its end. */
static void count_ordered(struct mxc_build *b, const struct mxc_turns *t, const struct mx_node *node, uint32_t most)
{
	const struct mx_loop *loop = node->loop;
	bool strict = or_equal(loop) != loop->yes;
	unsigned int none = strict ? CC_BE : CC_B, bits = (unsigned int)__builtin_ctzll(t->by);
	uint8_t *end;

	if (is_signed(loop))
		none = strict ? CC_LE : CC_L;
	get_form(b, MXC_RCX, &t->from, t->width);
	get_form(b, MXC_RDX, &t->to, t->width);
	mxc_imm(&b->a, MXC_RAX, 0);
	mxc_rm(&b->a, t->width, CMP, MXC_RCX, MXC_RDX);
	end = mxc_jcc(&b->a, none);
	mxc_rm(&b->a, t->width, SUB, MXC_RCX, MXC_RDX);
	mxc_alu_imm(&b->a, 8, ALU_CMP, MXC_RCX, (int32_t)(t->by * (most - 1)));
	leave(b, CC_A, node);
	/* (distance + by - 1) / by, or distance / by + 1 */
	mxc_rm_mem(&b->a, 4, 0x8d, MXC_RAX, (struct mxc_mem){ .base = MXC_RCX, .index = MXC_NONE,
							      .disp = (int32_t)(strict ? t->by - 1 : t->by) });
	if (t->by == 1u << bits) {
		mxc_rm(&b->a, 4, 0xc1, SHIFT_RIGHT, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)bits);
	} else {
		mxc_imm(&b->a, MXC_RCX, t->by);
		mxc_imm(&b->a, MXC_RDX, 0);
		mxc_rm(&b->a, 4, 0xf7, 6, MXC_RCX);	/* div */
	}
	if (!b->a.full)
		mxc_to(end, b->a.at);
}

/* The inverse of an odd number modulo 2^64, by Newton's iteration. */
static uint64_t inverse(uint64_t a)
{
	uint64_t x = a * 3 ^ 2;

	for (int i = 0; i < 4; i++)
		x *= 2 - a * x;
	return x;
}

static void count_until_equal(struct mxc_build *b, const struct mxc_turns *t, const struct mx_node *node, uint32_t most)
{
	unsigned int bits = (unsigned int)__builtin_ctzll(t->by);
	uint64_t odd = t->by >> bits;

	measure(b, t);
	if (bits) {
		mxc_rm(&b->a, 4, 0xf7, 0, MXC_RAX);	/* test */
		mxc_u32(&b->a, (1u << bits) - 1);
		leave(b, CC_NE, node);
		mxc_rm(&b->a, t->width, 0xc1, SHIFT_RIGHT, MXC_RAX);
		mxc_u8(&b->a, (uint8_t)bits);
	}
	if (odd != 1) {
		mxc_imm(&b->a, MXC_RCX, t->width == 4 ? (uint32_t)inverse(odd) : inverse(odd));
		mxc_rm(&b->a, t->width, 0x0faf, MXC_RAX, MXC_RCX);
	}
	mxc_alu_imm(&b->a, t->width, ALU_CMP, MXC_RAX, (int32_t)most);
	leave(b, CC_A, node);
}

/* Of 32 bits they stay, up to the turn that follows. */
static void check_cuts(struct mxc_build *b, const struct mx_node *node)
{
	for (unsigned int i = 0; i < node->loop->ngrowing; i++) {
		const struct mx_growing *g = &node->loop->growing[i];
		int32_t by = (int32_t)g->by.imm;

		if (!g->narrow)
			continue;
		mxc_load(&b->a, MXC_RCX, mxc_slot(g->reg));
		mxc_times(b, MXC_RDX, MXC_RAX, by);
		mxc_lea(&b->a, MXC_RDX, (struct mxc_mem){ .base = MXC_RDX, .index = MXC_RCX, .disp = by });
		mxc_rm(&b->a, 8, OR, MXC_RDX, MXC_RCX);
		mxc_rm(&b->a, 8, 0xc1, SHIFT_RIGHT, MXC_RDX);
		mxc_u8(&b->a, 32);
		leave(b, CC_NE, node);
	}
}

void mxc_count_turns(struct mxc_build *b, const struct mxc_turns *t, const struct mx_node *node, uint32_t most)
{
	if (node->loop->half == 2)
		count_until_equal(b, t, node, most);
	else
		count_ordered(b, t, node, most);
	check_cuts(b, node);
}
