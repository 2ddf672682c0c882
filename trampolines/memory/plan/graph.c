// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The graph of the function's copies: edges between blocks and edges into them from outside the
 * copies, predecessors, a reverse postorder, the blocks of each loop, and for a conditional branch,
 * the instruction whose flags it reads.
 */
#include <string.h>

#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/memory/plan/passes.h"

bool mp_in_loop(const struct mp *p, uint32_t block, uint32_t loop)
{
	uint32_t l = p->flow->blocks[block].loop;

	while (l != TRAMP_NONE && l != loop)
		l = p->flow->loops[l].parent;
	return l == loop;
}

/* A block of endbr64 alone stays where it is: control comes from it to the copy of the next block. */
static bool is_landing_pad(const struct mp *p, const struct tramp_block *b)
{
	uint64_t addr = tramp_code_base(p->flow->code) + b->start;
	size_t left = 0;
	const uint8_t *bytes = tramp_code_at(p->flow->code, addr, &left);

	return b->nops == 1 && b->ends == TRAMP_END_FALL && bytes &&
	       tramp_endbr64_size(bytes, left);
}

/* Control may come from where the pool is another thread's. */
static bool is_entered(const struct tramp_block *b)
{
	return b->flags & TRAMP_BLOCK_ENTRY ||
	       (b->flags & TRAMP_BLOCK_EXTERNAL &&
		!(b->flags & (TRAMP_BLOCK_TABLE | TRAMP_BLOCK_PAD)));
}

static bool enters_kernel(const struct mp *p, const struct tramp_block *b)
{
	return p->insns.v[b->op + b->nops - 1].cuts;
}

static void enter(struct mp *p, uint32_t block)
{
	if (block != TRAMP_NONE)
		p->blocks.v[block].external = p->blocks.v[block].owner = true;
}

bool mp_find_entries(struct mp *p)
{
	if (!mp_reserve(p, &p->blocks, p->flow->nblocks))
		return false;
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];

		p->blocks.v[i] = (struct mp_block){
			.external = b->flags != 0,
			.owner = is_entered(b),
			.end = MD_NEXT,
			.succ = {TRAMP_NONE, TRAMP_NONE},
			.external_edge = TRAMP_NONE,
			.decider = TRAMP_NONE,
			.cond = MP_NO_COND,
			.number = TRAMP_NONE,
			.edge_nodes = TRAMP_NONE,
		};
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];
		bool kernel = enters_kernel(p, b);

		if (kernel || is_landing_pad(p, b))
			enter(p, b->next);
		if (kernel)
			enter(p, b->target);
	}
	return true;
}

static bool stays_in_copies(const struct mp *p, const struct tramp_block *b)
{
	return (b->ends == TRAMP_END_FALL || b->ends == TRAMP_END_JMP || b->ends == TRAMP_END_JCC ||
		b->ends == TRAMP_END_TAIL_JCC) && !enters_kernel(p, b);
}

static uint32_t add_edge(struct mp *p, uint32_t from, uint32_t to)
{
	if (to == TRAMP_NONE)
		return TRAMP_NONE;
	p->blocks.v[to].npreds++;
	p->edges.v[p->nedges] = (struct mp_edge){ .from = from, .to = to };
	return p->nedges++;
}

static void list_preds(struct mp *p)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		p->blocks.v[i].pred = at;
		at += p->blocks.v[i].npreds;
		p->blocks.v[i].npreds = 0;
	}
	for (uint32_t edge = 0; edge < p->nedges; edge++) {
		struct mp_block *to = &p->blocks.v[p->edges.v[edge].to];

		p->preds.v[to->pred + to->npreds++] = edge;
	}
}

static bool add_edges(struct mp *p)
{
	uint32_t n = p->flow->nblocks;

	if (!mp_reserve(p, &p->edges, 3 * (size_t)n) || !mp_reserve(p, &p->preds, 3 * (size_t)n))
		return false;
	p->nedges = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];
		struct mp_block *mb = &p->blocks.v[i];

		if (stays_in_copies(p, b)) {
			mb->succ[MP_TARGET] = add_edge(p, i, b->target);
			mb->succ[MP_NEXT] = add_edge(p, i, b->next);
		}
		if (mb->external)
			mb->external_edge = add_edge(p, TRAMP_NONE, i);
	}
	list_preds(p);
	return true;
}

/* ---- order ---- */

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
		to = mp_successor(p, block, k);
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
		if (p->blocks.v[i].external && i != p->flow->entry &&
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
		for (uint32_t l = p->flow->blocks[i].loop; l != TRAMP_NONE;
		     l = p->flow->loops[l].parent)
			p->loop_at.v[l + 2]++;
	}
	for (uint32_t l = 0; l < nloops; l++)
		p->loop_at.v[l + 2] += p->loop_at.v[l + 1];
	sum = p->loop_at.v[nloops + 1];
	if (!mp_reserve(p, &p->members, (size_t)sum + 1))
		return false;
	for (uint32_t k = 0; k < p->flow->nblocks; k++) {
		uint32_t i = p->order.v[k];

		for (uint32_t l = p->flow->blocks[i].loop; l != TRAMP_NONE;
		     l = p->flow->loops[l].parent)
			p->members.v[p->loop_at.v[l + 1]++] = i;
	}
	return true;
}

/* ---- conditions ---- */

/* The condition's number; MP_NO_COND: no ordinary conditional jump. */
static unsigned int condition(const struct mp *p, const struct tramp_op *op)
{
	size_t left = 0;
	const uint8_t *bytes =
		tramp_code_at(p->flow->code, tramp_code_base(p->flow->code) + op->off, &left);
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

	if (b->ends != TRAMP_END_JCC || cond == MP_NO_COND || b->target == TRAMP_NONE ||
	    b->next == TRAMP_NONE)
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

bool mp_build_graph(struct mp *p)
{
	if (!add_edges(p) || !find_order(p) || !list_members(p))
		return false;
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		find_decider(p, i);
	return true;
}
