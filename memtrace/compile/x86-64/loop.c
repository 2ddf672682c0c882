// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The entry of loops of one node that could be computed without being run.  For a few iterations that is not worth while.
 * Where the trip count is a matter of a few instructions, it is found out here, and must be what mt_loop_run() says; where
 * accesses are only counted, all iterations but the last are a product then.  Registers of the machine are in memory.
 */
#include "memtrace/compile/x86-64/compile.h"

enum { CC_B = 2, CC_NE = 5, CC_BE = 6, CC_A = 7, CC_S = 8, CC_L = 12, CC_LE = 14 };
enum { ALU_ADD = 0, ALU_CMP = 7, SUB = 0x2b, ADD = 0x03, OR = 0x0b, CMP = 0x3b, SHIFT_RIGHT = 5 };
enum {
	RUN_TRIPS = 32,			/* a loop of so many iterations is run, */
	COMPUTED_TRIPS = INT16_MAX,	/* ... of so many is computed in the code, where it is only counted */
};

/* A loop that compares two forms, which come closer by the same in each iteration. */
struct trips {
	struct mt_form from, to;	/* from - to is not less than 0, as long as the loop iterates */
	bool from_b;			/* from is the loop's b, to its a */
	bool both;			/* ... change */
	unsigned int width;
	uint64_t by;
};

/* ---- induction variables ---- */

static const struct mt_induction *find_induction(const struct mt_loop *loop, uint8_t reg)
{
	for (unsigned int i = 0; i < loop->ninductions; i++)
		if (loop->inductions[i].reg == reg)
			return &loop->inductions[i];
	return NULL;
}

static uint64_t step_of(const struct mt_induction *g)
{
	return g->narrow ? (uint64_t)(int64_t)(int32_t)g->by.imm : g->by.imm;
}

/* A register and a number, or only that. */
static bool simple(const struct mt_form *f)
{
	return f->n == 0 || (f->n == 1 && f->times[0] == 1 && f->sym[0] < MT_ZERO);
}

/*
 * A 32-bit cut of a register and a number is that sum, as long as it does not wrap around.  Of a register that stays, that
 * is checked nowhere, and makes no difference only where no more than 32 bits are compared.
 */
static bool resolve(const struct mt_loop *loop, const struct mt_form *f, unsigned int bits, struct mt_form *to)
{
	const struct mt_cut *c;

	*to = *f;
	if (f->n == 1 && f->sym[0] >= MT_SYM_CUT && f->sym[0] < MT_SYM_VALUE) {
		c = &loop->cuts[f->sym[0] - MT_SYM_CUT];
		if (c->bits != 32 || c->sign || c->form.n != 1 || c->form.times[0] != 1 ||
		    (bits == 64 && !find_induction(loop, c->form.sym[0])))
			return false;
		to->imm += c->form.imm;
		to->sym[0] = c->form.sym[0];
	}
	return simple(to);
}

/* How much it grows in each iteration, if that is always the same. */
static bool stride_of(const struct mt_loop *loop, const struct mt_form *f, uint64_t *by)
{
	const struct mt_induction *g = f->n ? find_induction(loop, f->sym[0]) : NULL;

	*by = g ? step_of(g) : 0;
	return !g || !g->by.n;
}

static bool find_trips(const struct mt_loop *loop, struct trips *t)
{
	unsigned int bits = 64u - loop->shift;
	struct mt_form a, b;
	uint64_t sa, sb, by;

	if ((bits != 64 && bits != 32) || !resolve(loop, &loop->a, bits, &a) ||
	    !resolve(loop, &loop->b, bits, &b) || !stride_of(loop, &a, &sa) || !stride_of(loop, &b, &sb))
		return false;
	by = bits == 64 ? sa - sb : (uint64_t)(int64_t)(int32_t)(sa - sb);
	*t = (struct trips){ .from = b, .to = a, .from_b = true, .width = bits / 8, .by = by, .both = sa && sb };
	if (by >> 63)
		*t = (struct trips){ .from = a, .to = b, .width = bits / 8, .by = -by, .both = sa && sb };
	return t->by && t->by < INT32_MAX / RUN_TRIPS && mtc_fits((int64_t)(t->from.imm - t->to.imm));
}

/* ---- conditions ---- */

/* The condition is of less, or of less or equal; unsigned, or signed. */
static bool or_equal(const struct mt_loop *loop)
{
	return loop->half == 3 || loop->half == 7;
}

static bool is_signed(const struct mt_loop *loop)
{
	return loop->half == 6 || loop->half == 7;
}

/* It iterates as long as t->to is less than t->from, or not greater; one of both stays. */
static bool ordered(const struct mt_loop *loop, const struct trips *t)
{
	return (or_equal(loop) || is_signed(loop) || loop->half == 1) && t->from_b == loop->yes && !t->both &&
	       t->by <= UINT16_MAX && mtc_fits((int64_t)t->from.imm) && mtc_fits((int64_t)t->to.imm);
}

/* What check_cuts() looks at is enough for it. */
static bool cut_known(const struct mt_loop *loop, const struct mt_cut *c)
{
	const struct mt_induction *g;

	if (c->bits != 32 || c->sign || c->form.n != 1 || c->form.times[0] != 1 || c->form.sym[0] >= MT_ZERO)
		return false;
	g = find_induction(loop, c->form.sym[0]);
	return !g || (g->narrow && (c->form.imm == 0 || (uint32_t)c->form.imm == (uint32_t)g->by.imm));
}

static bool is_induction_known(const struct mt_induction *g)
{
	if (!mtc_fits((int64_t)step_of(g)) || (g->narrow && g->by.n))
		return false;
	for (unsigned int k = 0; k < g->by.n; k++)
		if (!mtc_fits((int64_t)g->by.times[k]))
			return false;
	return true;
}

/* Can count_trips() say them? */
static bool is_exact(const struct mt_loop *loop, const struct trips *t)
{
	for (unsigned int i = 0; i < loop->ninductions; i++)
		if (!is_induction_known(&loop->inductions[i]))
			return false;
	for (unsigned int i = 0; i < loop->ncuts; i++)
		if (!cut_known(loop, &loop->cuts[i]))
			return false;
	return loop->half == 2 ? !loop->yes : ordered(loop, t);
}

/* ---- counting ---- */

/* dst = src * by */
static void times(struct mtc_build *b, uint8_t dst, uint8_t src, int32_t by)
{
	mtc_rm(&b->a, 8, 0x69, dst, src);
	mtc_u32(&b->a, (uint32_t)by);
}

static void get_form(struct mtc_build *b, uint8_t dst, const struct mt_form *f, unsigned int width)
{
	if (!f->n) {
		mtc_imm(&b->a, dst, width == 4 ? (uint32_t)f->imm : f->imm);
		return;
	}
	mtc_rm_mem(&b->a, width, 0x8b, dst, mtc_slot(f->sym[0]));
	if (f->imm)
		mtc_alu_imm(&b->a, width, ALU_ADD, dst, (int32_t)f->imm);
}

/* rax = from - to */
static void measure(struct mtc_build *b, const struct trips *t)
{
	int64_t imm = (int64_t)(t->from.imm - t->to.imm);

	if (t->from.n)
		mtc_rm_mem(&b->a, t->width, 0x8b, MTC_RAX, mtc_slot(t->from.sym[0]));
	else
		mtc_imm(&b->a, MTC_RAX, 0);
	if (imm)
		mtc_alu_imm(&b->a, t->width, ALU_ADD, MTC_RAX, (int32_t)imm);
	if (t->to.n)
		mtc_rm_mem(&b->a, t->width, SUB, MTC_RAX, mtc_slot(t->to.sym[0]));
}

static void leave(struct mtc_build *b, unsigned int cc, const struct mt_node *node)
{
	mtc_fix(b, mtc_jcc(&b->a, cc), node, true);
}

/* Leaves if they are likely to be more than RUN_TRIPS. */
static void check_few_trips(struct mtc_build *b, const struct trips *t, const struct mt_node *node)
{
	measure(b, t);
	mtc_alu_imm(&b->a, t->width, ALU_CMP, MTC_RAX, (int32_t)(t->by * RUN_TRIPS));
	leave(b, CC_A, node);
}

/* If there is none, the code goes on at its end. */
static void count_ordered(struct mtc_build *b, const struct trips *t, const struct mt_node *node, uint32_t most)
{
	const struct mt_loop *loop = node->loop;
	bool strict = or_equal(loop) != loop->yes;
	unsigned int none = strict ? CC_BE : CC_B, bits = (unsigned int)__builtin_ctzll(t->by);
	uint8_t *end;

	if (is_signed(loop))
		none = strict ? CC_LE : CC_L;
	get_form(b, MTC_RCX, &t->from, t->width);
	get_form(b, MTC_RDX, &t->to, t->width);
	mtc_imm(&b->a, MTC_RAX, 0);
	mtc_rm(&b->a, t->width, CMP, MTC_RCX, MTC_RDX);
	end = mtc_jcc(&b->a, none);
	mtc_rm(&b->a, t->width, SUB, MTC_RCX, MTC_RDX);
	mtc_alu_imm(&b->a, 8, ALU_CMP, MTC_RCX, (int32_t)(t->by * (most - 1)));
	leave(b, CC_A, node);
	/* (distance + by - 1) / by, or distance / by + 1 */
	mtc_rm_mem(&b->a, 4, 0x8d, MTC_RAX, (struct mtc_mem){ .base = MTC_RCX, .index = MTC_NONE,
							      .disp = (int32_t)(strict ? t->by - 1 : t->by) });
	if (t->by == 1u << bits) {
		mtc_rm(&b->a, 4, 0xc1, SHIFT_RIGHT, MTC_RAX);
		mtc_u8(&b->a, (uint8_t)bits);
	} else {
		mtc_imm(&b->a, MTC_RCX, t->by);
		mtc_imm(&b->a, MTC_RDX, 0);
		mtc_rm(&b->a, 4, 0xf7, 6, MTC_RCX);	/* div */
	}
	if (!b->a.full)
		mtc_to(end, b->a.at);
}

/* The inverse of an odd number modulo 2^64, by Newton's iteration. */
static uint64_t inverse(uint64_t a)
{
	uint64_t x = a * 3 ^ 2;

	for (int i = 0; i < 4; i++)
		x *= 2 - a * x;
	return x;
}

static void count_until_equal(struct mtc_build *b, const struct trips *t, const struct mt_node *node, uint32_t most)
{
	unsigned int bits = (unsigned int)__builtin_ctzll(t->by);
	uint64_t odd = t->by >> bits;

	measure(b, t);
	if (bits) {
		mtc_rm(&b->a, 4, 0xf7, 0, MTC_RAX);	/* test */
		mtc_u32(&b->a, (1u << bits) - 1);
		leave(b, CC_NE, node);
		mtc_rm(&b->a, t->width, 0xc1, SHIFT_RIGHT, MTC_RAX);
		mtc_u8(&b->a, (uint8_t)bits);
	}
	if (odd != 1) {
		mtc_imm(&b->a, MTC_RCX, t->width == 4 ? (uint32_t)inverse(odd) : inverse(odd));
		mtc_rm(&b->a, t->width, 0x0faf, MTC_RAX, MTC_RCX);
	}
	mtc_alu_imm(&b->a, t->width, ALU_CMP, MTC_RAX, (int32_t)most);
	leave(b, CC_A, node);
}

/* Of 32 bits they stay, up to the iteration that follows. */
static void check_cuts(struct mtc_build *b, const struct mt_node *node)
{
	for (unsigned int i = 0; i < node->loop->ninductions; i++) {
		const struct mt_induction *g = &node->loop->inductions[i];
		int32_t by = (int32_t)g->by.imm;

		if (!g->narrow)
			continue;
		mtc_load(&b->a, MTC_RCX, mtc_slot(g->reg));
		times(b, MTC_RDX, MTC_RAX, by);
		mtc_lea(&b->a, MTC_RDX, (struct mtc_mem){ .base = MTC_RDX, .index = MTC_RCX, .disp = by });
		mtc_rm(&b->a, 8, OR, MTC_RDX, MTC_RCX);
		mtc_rm(&b->a, 8, 0xc1, SHIFT_RIGHT, MTC_RDX);
		mtc_u8(&b->a, 32);
		leave(b, CC_NE, node);
	}
}

/* rax = iterations but the last.  Leaves if they are more than @most, or that cannot be said. */
static void count_trips(struct mtc_build *b, const struct trips *t, const struct mt_node *node, uint32_t most)
{
	if (node->loop->half == 2)
		count_until_equal(b, t, node, most);
	else
		count_ordered(b, t, node, most);
	check_cuts(b, node);
}

/* ---- computing ---- */

/* As many words, or iterations without words, as there may be: of these, as many as weigh MT_PIECE_WEIGHT count as one piece. */
static void take_iterations(struct mtc_build *b, const struct mt_node *node)
{
	if (!node->words) {
		times(b, MTC_RCX, MTC_RAX, node->weight);
		mtc_lea(&b->a, MTC_RCX, (struct mtc_mem){ .base = MTC_RCX, .index = MTC_NONE, .disp = MT_PIECE_WEIGHT - 1 });
		mtc_rm(&b->a, 4, 0xc1, SHIFT_RIGHT, MTC_RCX);
		mtc_u8(&b->a, (uint8_t)__builtin_ctz(MT_PIECE_WEIGHT));
		mtc_rm(&b->a, 8, SUB, MTC_R14, MTC_RCX);
		mtc_fix(b, mtc_jcc(&b->a, CC_S), node, true);
		return;
	}
	times(b, MTC_RCX, MTC_RAX, node->words);
	mtc_rm(&b->a, 8, ADD, MTC_RCX, MTC_R12);
	mtc_rm(&b->a, 8, CMP, MTC_RCX, MTC_R13);
	mtc_fix(b, mtc_jcc(&b->a, CC_A), node, true);
	mtc_mov(&b->a, MTC_R12, MTC_RCX);
}

static void advance(struct mtc_build *b, const struct mt_induction *g)
{
	uint8_t reg = MTC_RDX;

	if (g->by.n == 0 && g->by.imm == 1) {
		reg = MTC_RAX;
	} else if (g->by.n == 0) {
		times(b, MTC_RDX, MTC_RAX, (int32_t)g->by.imm);
	} else {
		mtc_imm(&b->a, MTC_RDX, g->by.imm);
		for (unsigned int i = 0; i < g->by.n; i++) {
			mtc_load(&b->a, MTC_RCX, mtc_slot(g->by.sym[i]));
			times(b, MTC_RCX, MTC_RCX, (int32_t)g->by.times[i]);
			mtc_rm(&b->a, 8, ADD, MTC_RDX, MTC_RCX);
		}
		mtc_rm(&b->a, 8, 0x0faf, MTC_RDX, MTC_RAX);
	}
	mtc_rm_mem(&b->a, 8, 0x01, reg, mtc_slot(g->reg));
}

/* xmm1 and 2 += iterations * what each of them adds, which is less than 2^15 as they are: MT_WEIGHT_MAX. */
static void add_iterations(struct mtc_build *b, const struct mt_node *node)
{
	uint32_t sums[2][4] = { 0 };

	for (uint32_t i = 0; i < node->nops; i++)
		if (node->ops[i].code == MD_ACCESS)
			mtc_add(b, &node->ops[i], sums);
	mtc_rm(&b->a, 2, 0x0f6e, 0, MTC_RAX);		/* movd %eax, %xmm0 */
	mtc_rm(&b->a, 2, 0x0f70, 0, 0);			/* pshufd $0, %xmm0, %xmm0 */
	mtc_u8(&b->a, 0);
	mtc_rm(&b->a, 2, 0x0f6f, 3, 0);			/* movdqa %xmm0, %xmm3 */
	mtc_constant(b, mtc_rm_rip(&b->a, 2, 0x0ff5, 0), sums[0]); /* pmaddwd */
	mtc_constant(b, mtc_rm_rip(&b->a, 2, 0x0ff5, 3), sums[1]);
	mtc_rm(&b->a, 2, 0x0ffe, 1, 0);			/* paddd */
	mtc_rm(&b->a, 2, 0x0ffe, 2, 3);
}

/* rax iterations, all but the last, which is run. */
static void compute(struct mtc_build *b, const struct mt_node *node)
{
	take_iterations(b, node);
	for (unsigned int i = 0; i < node->loop->ninductions; i++)
		advance(b, &node->loop->inductions[i]);
	add_iterations(b, node);
}

/*
 * Iterations that are run burn fuel, and would not if they were computed: that is given back.  So their number has to be
 * what mt_loop_run() says, less the last, which is always run.
 */
static void give_back(struct mtc_build *b, const struct mt_node *node)
{
	if (!node->words)
		mtc_rm(&b->a, 8, ADD, MTC_R11, MTC_RAX);
}

void mtc_enter_loop(struct mtc_build *b, uint8_t *place, const struct mt_node *node)
{
	struct trips t;
	bool known = find_trips(node->loop, &t), exact = known && is_exact(node->loop, &t);
	uint8_t *body;

	if (!exact && (!known || !node->words)) {
		mtc_fix(b, place, node, true);
		return;
	}
	if (!b->a.full)
		mtc_to(place, b->a.at);
	if (!exact) {
		check_few_trips(b, &t, node);
	} else {
		count_trips(b, &t, node, b->mode == MT_NEXT ? RUN_TRIPS : COMPUTED_TRIPS);
		if (b->mode == MT_NEXT)
			give_back(b, node);
		else
			compute(b, node);
	}
	body = mtc_jmp(&b->a);
	if (!b->a.full)
		mtc_to(body, b->body);
}
