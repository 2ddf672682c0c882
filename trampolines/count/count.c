// SPDX-License-Identifier: GPL-3.0-or-later
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trampolines/count/private.h"

/* While a tree is looked for. */
struct sorted {
	double weight;
	uint32_t edge;
};

bool tramp_count_entered(const struct tramp_flow *flow, uint32_t i)
{
	return i == flow->entry || (flow->blocks[i].flags & (TRAMP_BLOCK_EXTERNAL | TRAMP_BLOCK_RETURN | TRAMP_BLOCK_PAD |
							     TRAMP_BLOCK_TABLE));
}

bool tramp_count_arrives(const struct tramp_flow *flow, uint32_t i)
{
	unsigned int flags = flow->blocks[i].flags;

	if (i == flow->entry || (flags & (TRAMP_BLOCK_RETURN | TRAMP_BLOCK_PAD)))
		return true;
	return (flags & TRAMP_BLOCK_EXTERNAL) && !(flags & TRAMP_BLOCK_TABLE);
}

uint32_t tramp_count_after(const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	uint32_t n = b->nops;

	while (n && flow->ops[b->op + n - 1].kind != TRAMP_OP_SYSCALL)
		n--;
	return n;
}

/* ---- edges ---- */

static bool add(struct tramp_counts *c, uint32_t from, uint32_t to, enum tramp_edge_kind kind)
{
	if (!array_room(c->edges, c->room, c->nedges + 1))
		return false;
	c->edges[c->nedges++] = (struct tramp_edge){ from, to, TRAMP_NONE, (uint8_t)kind, TRAMP_COUNT_EDGE, false };
	return true;
}

static bool add_target(struct tramp_counts *c, uint32_t i, const struct tramp_block *b)
{
	return b->target == TRAMP_NONE || add(c, i, b->target, TRAMP_EDGE_TARGET);
}

/* Where control runs on into bytes that are no instruction, it leaves. */
static bool add_next(struct tramp_counts *c, uint32_t i, const struct tramp_block *b)
{
	if (b->next == TRAMP_NONE)
		return add(c, i, TRAMP_NONE, TRAMP_EDGE_OUT);
	return add(c, i, b->next, TRAMP_EDGE_NEXT);
}

static bool add_block(struct tramp_counts *c, const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	bool good;

	switch (b->ends) {
	case TRAMP_END_FALL:
		good = add_next(c, i, b);
		break;
	case TRAMP_END_JMP:
		good = add_target(c, i, b);
		break;
	case TRAMP_END_JCC:
		good = add_target(c, i, b) && add_next(c, i, b);
		break;
	case TRAMP_END_TAIL_JCC:
		good = add(c, i, TRAMP_NONE, TRAMP_EDGE_OUT) && (b->next == TRAMP_NONE || add_next(c, i, b));
		break;
	default: /* also calls, which may return */
		good = add(c, i, TRAMP_NONE, TRAMP_EDGE_OUT);
	}
	if (good && tramp_count_after(flow, i))
		good = add(c, i, TRAMP_NONE, TRAMP_EDGE_LOST);
	return good && (!tramp_count_entered(flow, i) || add(c, TRAMP_NONE, i, TRAMP_EDGE_IN));
}

/* ---- the tree ---- */

static double weigh(const struct tramp_counts *c, const struct tramp_flow *flow, const struct tramp_edge *e,
		    const struct tramp_degree *degrees)
{
	const struct tramp_likely *likely = e->from == TRAMP_NONE ? &c->likely[flow->nblocks] : &c->likely[e->from];
	const struct tramp_block *b;
	double weight;

	if (e->kind == TRAMP_EDGE_LOST)
		return HUGE_VAL;
	if (e->kind == TRAMP_EDGE_IN)
		return tramp_count_arrives(flow, e->to) ? 0 : likely->taken;
	b = &flow->blocks[e->from];
	weight = likely->times;
	if (tramp_end_is_conditional(b->ends))
		weight = e->kind == TRAMP_EDGE_NEXT ? likely->times - likely->taken : likely->taken;
	/* to count those between other edges takes a jump more */
	if (e->to != TRAMP_NONE && degrees[e->from].out > 1 && degrees[e->to].in > 1)
		weight += weight / 4;
	return weight;
}

static int by_weight(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->edge < b->edge ? -1 : 1;
}

static uint32_t root_of(uint32_t *parent, uint32_t node)
{
	while (parent[node] != node) {
		parent[node] = parent[parent[node]];
		node = parent[node];
	}
	return node;
}

static bool *choose_tree(struct tramp_counts *c, const struct tramp_flow *flow)
{
	size_t n = flow->nblocks + (size_t)1;
	size_t bytes = n * (sizeof(struct tramp_degree) + sizeof(uint32_t)) + c->nedges * (sizeof(struct sorted) + sizeof(bool));
	uint8_t *work = c->work;
	struct sorted *sorted;
	struct tramp_degree *degrees;
	uint32_t *parent;
	bool *tree;

	if (!tramp_count_guess(c, flow) || !array_room(work, c->work_room, bytes))
		return NULL;
	c->work = work;
	memset(work, 0, bytes);
	sorted = (void *)work;
	degrees = (void *)(sorted + c->nedges);
	parent = (void *)(degrees + n);
	tree = (void *)(parent + n);
	c->degrees = degrees;
	for (size_t i = 0; i < c->nedges; i++) {
		const struct tramp_edge *e = &c->edges[i];

		if (e->kind == TRAMP_EDGE_LOST)
			continue;
		degrees[e->from == TRAMP_NONE ? flow->nblocks : e->from].out++;
		degrees[e->to == TRAMP_NONE ? flow->nblocks : e->to].in++;
	}
	for (size_t i = 0; i < c->nedges; i++)
		sorted[i] = (struct sorted){ weigh(c, flow, &c->edges[i], degrees), (uint32_t)i };
	qsort(sorted, c->nedges, sizeof(*sorted), by_weight);
	for (uint32_t i = 0; i < n; i++)
		parent[i] = i;
	for (size_t i = 0; i < c->nedges; i++) {
		const struct tramp_edge *e = &c->edges[sorted[i].edge];
		uint32_t from = root_of(parent, e->from == TRAMP_NONE ? flow->nblocks : e->from);
		uint32_t to = root_of(parent, e->to == TRAMP_NONE ? flow->nblocks : e->to);

		tree[sorted[i].edge] = from != to;
		parent[from] = to;
	}
	return tree;
}

static uint8_t where(const struct tramp_counts *c, const struct tramp_edge *e)
{
	if (e->from != TRAMP_NONE && c->degrees[e->from].out == 1)
		return TRAMP_COUNT_FROM;
	return e->to != TRAMP_NONE && c->degrees[e->to].in == 1 ? TRAMP_COUNT_TO : TRAMP_COUNT_EDGE;
}

enum tramp_code_status tramp_count_plan(struct tramp_counts *c, const struct tramp_flow *flow)
{
	bool *tree;

	c->nedges = 0;
	c->ncounters = 0;
	c->nkept = 0;
	c->ntrips = 0;
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		if (!add_block(c, flow, i))
			return TRAMP_CODE_MEMORY;
	}
	tree = choose_tree(c, flow);
	if (!tree)
		return TRAMP_CODE_MEMORY;
	for (size_t i = 0; i < c->nedges; i++) {
		struct tramp_edge *e = &c->edges[i];

		if (!tree[i] || (e->kind == TRAMP_EDGE_IN && tramp_count_arrives(flow, e->to)))
			e->counter = c->ncounters++;
		e->where = where(c, e);
	}
	return TRAMP_CODE_OK;
}

void tramp_counts_free(struct tramp_counts *c)
{
	free(c->edges);
	free(c->kept);
	free(c->trips);
	free(c->work);
	free(c->loops);
	free(c->likely);
	free(c->nodes);
	*c = (struct tramp_counts){ 0 };
}
