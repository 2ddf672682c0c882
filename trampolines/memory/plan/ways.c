// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * From where to where control goes, and about how often: at a conditional branch both ways are taken as
 * often, but for one that leaves a loop; loops run some times.
 */
#include <string.h>

#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/memory/plan/passes.h"

#define FREQ_MAX 1e12f

bool mp_in_loop(const struct mp *p, uint32_t block, uint32_t loop)
{
	uint32_t l = p->flow->blocks[block].loop;

	while (l != TRAMP_NONE && l != loop)
		l = p->flow->loops[l].parent;
	return l == loop;
}

/* Stays where it is, when the block is copied: control comes to what is behind it. */
static bool is_bare(const struct mp *p, const struct tramp_block *b)
{
	uint64_t addr = tramp_code_base(p->flow->code) + b->start;
	size_t left = 0;
	const uint8_t *bytes = tramp_code_at(p->flow->code, addr, &left);

	return b->nops == 1 && b->ends == TRAMP_END_FALL && bytes && tramp_endbr64_size(bytes, left);
}

/* From where the pool may be another thread's. */
static bool is_entered(const struct tramp_block *b)
{
	return b->flags & TRAMP_BLOCK_ENTRY || (b->flags & TRAMP_BLOCK_EXTERNAL &&
						!(b->flags & (TRAMP_BLOCK_TABLE | TRAMP_BLOCK_PAD)));
}

static bool enters_kernel(const struct mp *p, const struct tramp_block *b)
{
	return p->insns.v[b->op + b->nops - 1].cuts;
}

static void enter(struct mp *p, uint32_t block)
{
	if (block != TRAMP_NONE)
		p->blocks.v[block].outside = p->blocks.v[block].owner = true;
}

static void find_outside(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];

		p->blocks.v[i] = (struct mp_block){
			.outside = b->flags != 0, .owner = is_entered(b), .end = MD_NEXT,
			.way = { TRAMP_NONE, TRAMP_NONE }, .elsewhere = TRAMP_NONE,
			.decider = TRAMP_NONE, .cond = MP_NO_COND, .number = TRAMP_NONE, .edges = TRAMP_NONE,
		};
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];
		bool kernel = enters_kernel(p, b);

		if (kernel || is_bare(p, b))
			enter(p, b->next);
		if (kernel)
			enter(p, b->target);
	}
}

static bool goes_on(const struct mp *p, const struct tramp_block *b)
{
	return (b->ends == TRAMP_END_FALL || b->ends == TRAMP_END_JMP || b->ends == TRAMP_END_JCC ||
		b->ends == TRAMP_END_TAIL_JCC) && !enters_kernel(p, b);
}

static uint32_t add_way(struct mp *p, uint32_t from, uint32_t to)
{
	if (to == TRAMP_NONE)
		return TRAMP_NONE;
	p->blocks.v[to].npreds++;
	p->ways.v[p->nways] = (struct mp_way){ .from = from, .to = to, .edge = TRAMP_NONE };
	return p->nways++;
}

static void list_preds(struct mp *p)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		p->blocks.v[i].pred = at;
		at += p->blocks.v[i].npreds;
		p->blocks.v[i].npreds = 0;
	}
	for (uint32_t w = 0; w < p->nways; w++) {
		struct mp_block *to = &p->blocks.v[p->ways.v[w].to];

		p->preds.v[to->pred + to->npreds++] = w;
	}
}

static bool add_ways(struct mp *p)
{
	uint32_t n = p->flow->nblocks;

	if (!mp_reserve(p, &p->ways, 3 * (size_t)n) || !mp_reserve(p, &p->preds, 3 * (size_t)n))
		return false;
	p->nways = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];
		struct mp_block *mb = &p->blocks.v[i];

		if (goes_on(p, b)) {
			mb->way[MP_TARGET] = add_way(p, i, b->target);
			mb->way[MP_NEXT] = add_way(p, i, b->next);
		}
		if (mb->outside)
			mb->elsewhere = add_way(p, TRAMP_NONE, i);
	}
	list_preds(p);
	return true;
}

/* ---- order ---- */

static uint32_t successor(const struct mp *p, uint32_t block, uint32_t k)
{
	const struct tramp_block *b = &p->flow->blocks[block];

	return k == MP_TARGET ? b->target : b->next;
}

/* Depth first; blocks are numbered from the end when they are done.  The stack holds 2 * block + successor. */
static void visit(struct mp *p, uint32_t start, uint32_t *left)
{
	uint32_t depth = 0;

	if (p->blocks.v[start].number != TRAMP_NONE)
		return;
	p->blocks.v[start].number = 0;
	p->stack.v[depth++] = 0;
	p->stack.v[depth++] = start;
	while (depth) {
		uint32_t block = p->stack.v[depth - 1], k = p->stack.v[depth - 2]++, to;

		if (k > MP_NEXT) {
			p->order.v[--*left] = block;
			p->blocks.v[block].number = *left;
			depth -= 2;
			continue;
		}
		to = successor(p, block, k);
		if (to == TRAMP_NONE || p->blocks.v[to].number != TRAMP_NONE)
			continue;
		p->blocks.v[to].number = 0;
		p->stack.v[depth++] = 0;
		p->stack.v[depth++] = to;
	}
}

/* The entry is visited last, to be first; the others from the end on. */
static bool find_order(struct mp *p)
{
	uint32_t n = p->flow->nblocks, left = n;

	if (!mp_reserve(p, &p->order, n) || !mp_reserve(p, &p->stack, 2 * (size_t)n + 2))
		return false;
	for (uint32_t i = n; i-- > 0;) {
		if (p->blocks.v[i].outside && i != p->flow->entry &&
		    !(p->flow->blocks[i].flags & TRAMP_BLOCK_RETURN))
			visit(p, i, &left);
	}
	visit(p, p->flow->entry, &left);
	for (uint32_t i = n; i-- > 0;)
		visit(p, i, &left);
	return true;
}

static bool list_members(struct mp *p)
{
	uint32_t nloops = p->flow->nloops, sum = 0;

	if (!mp_reserve(p, &p->loop_at, (size_t)nloops + 2))
		return false;
	memset(p->loop_at.v, 0, ((size_t)nloops + 2) * sizeof(*p->loop_at.v));
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		for (uint32_t l = p->flow->blocks[i].loop; l != TRAMP_NONE; l = p->flow->loops[l].parent)
			p->loop_at.v[l + 2]++;
	}
	for (uint32_t l = 0; l < nloops; l++)
		p->loop_at.v[l + 2] += p->loop_at.v[l + 1];
	sum = p->loop_at.v[nloops + 1];
	if (!mp_reserve(p, &p->members, (size_t)sum + 1))
		return false;
	for (uint32_t k = 0; k < p->flow->nblocks; k++) {
		uint32_t i = p->order.v[k];

		for (uint32_t l = p->flow->blocks[i].loop; l != TRAMP_NONE; l = p->flow->loops[l].parent)
			p->members.v[p->loop_at.v[l + 1]++] = i;
	}
	return true;
}

/* ---- how often ---- */

static bool stays(const struct mp *p, uint32_t from, uint32_t to)
{
	uint32_t loop = p->flow->blocks[from].loop;

	return to != TRAMP_NONE && (loop == TRAMP_NONE || mp_in_loop(p, to, loop));
}

/* Share of the times that successor k of a block is taken. */
static float share(const struct mp *p, uint32_t block, uint32_t k)
{
	uint32_t to = successor(p, block, k), other = successor(p, block, !k);
	bool in = stays(p, block, to);

	if (other == TRAMP_NONE)
		return 1;
	if (in == stays(p, block, other))
		return 0.5f;
	return in ? 1 - 1 / MP_LOOP_RUNS : 1 / MP_LOOP_RUNS;
}

/* Control comes to it by indirect jumps, most often. */
static bool is_case(const struct mp *p, uint32_t i)
{
	return p->blocks.v[i].outside && !p->blocks.v[i].polled &&
	       !(p->flow->blocks[i].flags & (TRAMP_BLOCK_ENTRY | TRAMP_BLOCK_RETURN));
}

/* @of_case: of each case; below 0: what its loops make likely. */
static float base_freq(const struct mp *p, uint32_t i, float of_case)
{
	const struct tramp_block *b = &p->flow->blocks[i];
	float freq = b->flags & TRAMP_BLOCK_ENTRY ? 1 : 0.125f;

	if (of_case >= 0 && is_case(p, i))
		return of_case;
	for (unsigned int d = 0; d < b->loop_depth && freq < FREQ_MAX && !(b->flags & TRAMP_BLOCK_ENTRY); d++)
		freq *= MP_LOOP_RUNS;
	return b->flags & TRAMP_BLOCK_RETURN ? 0 : freq;
}

/* Back to the head of its loop: that is in what the head is taken to turn.  (Cases come in front of the head.) */
static bool turns(const struct mp *p, uint32_t from, uint32_t to)
{
	uint32_t loop = p->flow->blocks[to].loop;

	return p->env->count && loop != TRAMP_NONE && p->flow->loops[loop].head == to && mp_in_loop(p, from, loop);
}

static void spread(struct mp *p, float of_case)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		p->blocks.v[i].freq = p->blocks.v[i].outside && !p->blocks.v[i].polled ? base_freq(p, i, of_case) : 0;
	for (uint32_t n = 0; n < p->flow->nblocks; n++) {
		uint32_t i = p->order.v[n], loop = p->flow->blocks[i].loop;
		struct mp_block *b = &p->blocks.v[i];

		if (loop != TRAMP_NONE && p->flow->loops[loop].head == i && b->freq < FREQ_MAX)
			b->freq *= MP_LOOP_RUNS;
		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			uint32_t to = successor(p, i, k);
			float freq = b->freq * share(p, i, k);

			if (to != TRAMP_NONE && p->blocks.v[to].number > n && !turns(p, i, to))
				p->blocks.v[to].freq += freq;
			if (b->way[k] != TRAMP_NONE)
				p->ways.v[b->way[k]].freq = freq;
		}
		if (b->elsewhere != TRAMP_NONE)
			p->ways.v[b->elsewhere].freq = b->polled ? 0 : b->freq;
	}
}

static float indirect_jumps(const struct mp *p)
{
	float n = 0;

	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		uint8_t ends = p->flow->blocks[i].ends;

		if (ends == TRAMP_END_SWITCH || ends == TRAMP_END_UNSURE)
			n += p->blocks.v[i].freq;
	}
	return n;
}

/*
 * Where it is counted what is done, cases have to be run as often as there are indirect jumps, be it one of hundreds in a
 * turn.  If they jump to each other, as those of an interpreter, that is a loop like others.
 */
static void find_freqs(struct mp *p)
{
	float cases = 0, first, again;

	for (uint32_t i = 0; p->env->count && i < p->flow->nblocks; i++)
		cases += is_case(p, i);
	spread(p, cases > 0 ? 0 : -1);
	if (!(cases > 0))
		return;
	first = indirect_jumps(p);
	spread(p, first / cases);
	again = first > 0 ? indirect_jumps(p) / first - 1 : 0;
	if (again > 1 - 1 / MP_LOOP_RUNS)
		again = 1 - 1 / MP_LOOP_RUNS;
	spread(p, first > 0 ? first / (1 - again) / cases : -1);
}

/* ---- conditions ---- */

/* The condition's number; MP_NO_COND: no ordinary conditional jump. */
static unsigned int condition(const struct mp *p, const struct tramp_op *op)
{
	size_t left = 0;
	const uint8_t *bytes = tramp_code_at(p->flow->code, tramp_code_base(p->flow->code) + op->off, &left);
	unsigned int code;

	if (op->kind != TRAMP_OP_JCC || !bytes || left < op->len || op->disp_at < 1)
		return MP_NO_COND;
	code = bytes[op->disp_at - 1];
	if (op->disp_len == 1 ? (code & 0xf0) == 0x70 : (code & 0xf0) == 0x80 && op->disp_at >= 2 &&
							bytes[op->disp_at - 2] == 0x0f)
		return code & 0xf;
	return MP_NO_COND;
}

static void find_decider(struct mp *p, uint32_t i)
{
	const struct tramp_block *b = &p->flow->blocks[i];
	struct mp_block *mb = &p->blocks.v[i];
	unsigned int cond = condition(p, &p->flow->ops[b->op + b->nops - 1]);

	if (b->ends != TRAMP_END_JCC || cond == MP_NO_COND || b->target == TRAMP_NONE || b->next == TRAMP_NONE)
		return;
	mb->cond = (uint8_t)cond;
	for (uint32_t k = b->op + b->nops - 1; k-- > b->op;) {
		const struct mp_insn *insn = &p->insns.v[k];

		if (insn->flags_effect == TRAMP_FLAGS_KEPT && !insn->cuts)
			continue;
		if (!insn->cuts && insn->flags_valid >> cond & 1)
			mb->decider = k;
		return;
	}
}

bool mp_find_ways(struct mp *p)
{
	if (!mp_reserve(p, &p->blocks, p->flow->nblocks))
		return false;
	find_outside(p);
	if (!mp_choose_polls(p) || !add_ways(p) || !find_order(p) || !list_members(p))
		return false;
	find_freqs(p);
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		find_decider(p, i);
	return mp_weigh(p);
}
