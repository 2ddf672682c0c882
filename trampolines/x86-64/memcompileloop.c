// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Loops that could be computed without being run: that is not worth while for a few turns, or is done in the code.
 */
#include "trampolines/x86-64/memcompile.h"

enum { CC_A = 7, CC_S = 8, SUB = 0x2b, ADD = 0x03, CMP = 0x3b, SHIFT_RIGHT = 5 };

void mxc_times(struct mxc_build *b, uint8_t dst, uint8_t src, int32_t by)
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
	mxc_times(b, MXC_RCX, MXC_RAX, node->words);
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
		mxc_times(b, MXC_RDX, MXC_RAX, (int32_t)g->by.imm);
	} else {
		mxc_imm(&b->a, MXC_RDX, g->by.imm);
		for (unsigned int i = 0; i < g->by.n; i++) {
			mxc_load(&b->a, MXC_RCX, mxc_slot(g->by.sym[i]));
			mxc_times(b, MXC_RCX, MXC_RCX, (int32_t)g->by.times[i]);
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

/* rax turns, all but the last, which is run.  Registers of the machine are in memory. */
static void compute(struct mxc_build *b, const struct mx_node *node)
{
	take_turns(b, node);
	for (unsigned int i = 0; i < node->loop->ngrowing; i++)
		grow(b, &node->loop->growing[i]);
	add_turns(b, node);
}

/*
 * Turns that are run burn fuel, and would not if they were computed: that is given back.  So their number has to be
 * what mx_loop_run() says, less the last, which is always run.
 */
static void give_back(struct mxc_build *b, const struct mx_node *node)
{
	if (!node->words)
		mxc_rm(&b->a, 8, ADD, MXC_R11, MXC_RAX);
}

void mxc_enter_loop(struct mxc_build *b, uint8_t *place, const struct mx_node *node)
{
	struct mxc_turns t;
	bool known = mxc_find_turns(node->loop, &t), exact = known && mxc_turns_exact(node->loop, &t);
	uint8_t *body;

	if (!exact && (!known || !node->words)) {
		mxc_fix(b, place, node, true);
		return;
	}
	if (!b->a.full)
		mxc_to(place, b->a.at);
	if (!exact) {
		mxc_few_turns(b, &t, node);
	} else {
		mxc_count_turns(b, &t, node, b->mode == MXE_NEXT ? MXC_TURNS : MXC_COMPUTED);
		if (b->mode == MXE_NEXT)
			give_back(b, node);
		else
			compute(b, node);
	}
	body = mxc_jmp(&b->a);
	if (!b->a.full)
		mxc_to(body, b->body);
}
