// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Loops that could be computed without being run: that is not worth while for a few turns, or is done in the code.
 */
#include "memtrace/compile/x86-64/compile.h"

enum { CC_A = 7, CC_S = 8, SUB = 0x2b, ADD = 0x03, CMP = 0x3b, SHIFT_RIGHT = 5 };

void mtc_times(struct mtc_build *b, uint8_t dst, uint8_t src, int32_t by)
{
	mtc_rm(&b->a, 8, 0x69, dst, src);
	mtc_u32(&b->a, (uint32_t)by);
}

/* As many words, or turns without words, as there may be: MTC_PATH of these count no more than a piece may. */
static void take_turns(struct mtc_build *b, const struct mt_node *node)
{
	if (!node->words) {
		mtc_mov(&b->a, MTC_RCX, MTC_RAX);
		mtc_rm(&b->a, 4, 0xc1, SHIFT_RIGHT, MTC_RCX);
		mtc_u8(&b->a, (uint8_t)__builtin_ctz(MTC_PATH));
		mtc_rm(&b->a, 8, SUB, MTC_R14, MTC_RCX);
		mtc_fix(b, mtc_jcc(&b->a, CC_S), node, true);
		return;
	}
	mtc_times(b, MTC_RCX, MTC_RAX, node->words);
	mtc_rm(&b->a, 8, ADD, MTC_RCX, MTC_R12);
	mtc_rm(&b->a, 8, CMP, MTC_RCX, MTC_R13);
	mtc_fix(b, mtc_jcc(&b->a, CC_A), node, true);
	mtc_mov(&b->a, MTC_R12, MTC_RCX);
}

static void grow(struct mtc_build *b, const struct mt_growing *g)
{
	uint8_t reg = MTC_RDX;

	if (g->by.n == 0 && g->by.imm == 1) {
		reg = MTC_RAX;
	} else if (g->by.n == 0) {
		mtc_times(b, MTC_RDX, MTC_RAX, (int32_t)g->by.imm);
	} else {
		mtc_imm(&b->a, MTC_RDX, g->by.imm);
		for (unsigned int i = 0; i < g->by.n; i++) {
			mtc_load(&b->a, MTC_RCX, mtc_slot(g->by.sym[i]));
			mtc_times(b, MTC_RCX, MTC_RCX, (int32_t)g->by.times[i]);
			mtc_rm(&b->a, 8, ADD, MTC_RDX, MTC_RCX);
		}
		mtc_rm(&b->a, 8, 0x0faf, MTC_RDX, MTC_RAX);
	}
	mtc_rm_mem(&b->a, 8, 0x01, reg, mtc_slot(g->reg));
}

/* xmm1 and 2 += turns * what each of them adds, which is less than 2^15 as they are. */
static void add_turns(struct mtc_build *b, const struct mt_node *node)
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

/* rax turns, all but the last, which is run.  Registers of the machine are in memory. */
static void compute(struct mtc_build *b, const struct mt_node *node)
{
	take_turns(b, node);
	for (unsigned int i = 0; i < node->loop->ngrowing; i++)
		grow(b, &node->loop->growing[i]);
	add_turns(b, node);
}

/*
 * Turns that are run burn fuel, and would not if they were computed: that is given back.  So their number has to be
 * what mt_loop_run() says, less the last, which is always run.
 */
static void give_back(struct mtc_build *b, const struct mt_node *node)
{
	if (!node->words)
		mtc_rm(&b->a, 8, ADD, MTC_R11, MTC_RAX);
}

void mtc_enter_loop(struct mtc_build *b, uint8_t *place, const struct mt_node *node)
{
	struct mtc_turns t;
	bool known = mtc_find_turns(node->loop, &t), exact = known && mtc_turns_exact(node->loop, &t);
	uint8_t *body;

	if (!exact && (!known || !node->words)) {
		mtc_fix(b, place, node, true);
		return;
	}
	if (!b->a.full)
		mtc_to(place, b->a.at);
	if (!exact) {
		mtc_few_turns(b, &t, node);
	} else {
		mtc_count_turns(b, &t, node, b->mode == MT_NEXT ? MTC_TURNS : MTC_COMPUTED);
		if (b->mode == MT_NEXT)
			give_back(b, node);
		else
			compute(b, node);
	}
	body = mtc_jmp(&b->a);
	if (!b->a.full)
		mtc_to(body, b->body);
}
