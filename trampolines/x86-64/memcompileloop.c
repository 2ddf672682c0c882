// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Loops that could be computed without being run: that is not worth while for a few turns.
 */
#include "trampolines/memexpandloop.h"
#include "trampolines/x86-64/memcompile.h"

enum { CC_NE = 5, CC_A = 7, ALU_ADD = 0, ALU_CMP = 7, SUB = 0x2b, ADD = 0x03, SHIFT_RIGHT = 5 };

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

void mxc_enter_loop(struct mxc_build *b, uint8_t *place, const struct mx_node *node)
{
	struct distance d;
	uint8_t *body;

	if (!find_distance(node->loop, &d) || (!node->words && !countable(node->loop, &d))) {
		mxc_fix(b, place, node, true);
		return;
	}
	if (!b->a.full)
		mxc_to(place, b->a.at);
	measure(b, &d);
	mxc_alu_imm(&b->a, d.width, ALU_CMP, MXC_RAX, (int32_t)(d.by * MXC_TURNS));
	mxc_fix(b, mxc_jcc(&b->a, CC_A), node, true);
	if (!node->words)
		give_back(b, &d, node);
	body = mxc_jmp(&b->a);
	if (!b->a.full)
		mxc_to(body, b->body);
}
