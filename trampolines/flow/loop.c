// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Dominators by the iteration of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001),
 * and natural loops, inner ones first.
 *
 * Beside the blocks there are three nodes: the root, before the entry and before all places that control
 * comes to from elsewhere; one between indirect jumps and jump tables' targets; one between calls and
 * landing pads.  So the number of edges stays proportional to that of blocks.
 */
#include "trampolines/flow/private.h"

#include <string.h>

enum { EXTRA = 3 };

struct graph {
	struct tramp_flow *flow;
	uint32_t n;		/* nodes: blocks, then root, tables, pads */
	uint32_t root, tables, pads;
	uint32_t *succ_at, *succ; /* successors of i: succ[succ_at[i] .. succ_at[i + 1]) */
	uint32_t *pred_at, *pred;
	uint32_t *order;	/* nodes in postorder */
	uint32_t *number;	/* their places in it, or TRAMP_NONE */
	uint32_t *idom;		/* nodes */
	uint32_t *stack, *edge;
	uint32_t norder;
};

typedef void (*edge_fn)(struct graph *g, uint32_t from, uint32_t to);

static bool is_root(const struct tramp_flow *flow, const struct tramp_block *b)
{
	return b->flags & TRAMP_BLOCK_ENTRY || flow_bit(flow->code->external, b->start);
}

static void block_edges(struct graph *g, uint32_t i, edge_fn edge)
{
	const struct tramp_block *b = &g->flow->blocks[i];

	if (b->target != TRAMP_NONE)
		edge(g, i, b->target);
	if (b->next != TRAMP_NONE)
		edge(g, i, b->next);
	if (tramp_end_is_switch(b->ends))
		edge(g, i, g->tables);
	if (b->ends == TRAMP_END_CALL || b->ends == TRAMP_END_NORETURN)
		edge(g, i, g->pads);
	if (b->flags & TRAMP_BLOCK_TABLE)
		edge(g, g->tables, i);
	if (b->flags & TRAMP_BLOCK_PAD)
		edge(g, g->pads, i);
	if (is_root(g->flow, b))
		edge(g, g->root, i);
}

static void all_edges(struct graph *g, edge_fn edge)
{
	for (uint32_t i = 0; i < g->flow->nblocks; i++)
		block_edges(g, i, edge);
}

static void count_edge(struct graph *g, uint32_t from, uint32_t to)
{
	g->succ_at[from + 1]++;
	g->pred_at[to + 1]++;
}

/* The lists fill from their starts, which move to their ends. */
static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	g->succ[g->succ_at[from]++] = to;
	g->pred[g->pred_at[to]++] = from;
}

static void sum_up(uint32_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		at[i + 1] += at[i];
}

static void shift_back(uint32_t *at, uint32_t n)
{
	memmove(at + 1, at, n * sizeof(*at));
	at[0] = 0;
}

static bool open_graph(struct graph *g)
{
	size_t n = g->n + 1, edges = 5 * (size_t)g->n;
	uint32_t *room = tramp_flow_reserve(&flow_priv(g->flow)->work_room, 7 * n + 2 * edges,
					    sizeof(*room));

	if (!room)
		return false;
	memset(room, 0, 2 * n * sizeof(*room));
	g->succ_at = room;
	g->pred_at = room + n;
	g->order = room + 2 * n;
	g->number = room + 3 * n;
	g->idom = room + 4 * n;
	g->stack = room + 5 * n;
	g->edge = room + 6 * n;
	g->succ = room + 7 * n;
	g->pred = g->succ + edges;
	all_edges(g, count_edge);
	sum_up(g->succ_at, g->n);
	sum_up(g->pred_at, g->n);
	all_edges(g, add_edge);
	shift_back(g->succ_at, g->n);
	shift_back(g->pred_at, g->n);
	return true;
}

/* Depth first from `start`; numbers what was not visited yet. */
static void visit(struct graph *g, uint32_t start)
{
	uint32_t depth = 0;

	if (g->number[start] != TRAMP_NONE)
		return;
	g->number[start] = 0;
	g->stack[depth] = start;
	g->edge[depth++] = g->succ_at[start];
	while (depth) {
		uint32_t node = g->stack[depth - 1], to;

		if (g->edge[depth - 1] == g->succ_at[node + 1]) {
			g->number[node] = g->norder;
			g->order[g->norder++] = node;
			depth--;
			continue;
		}
		to = g->succ[g->edge[depth - 1]++];
		if (g->number[to] != TRAMP_NONE)
			continue;
		g->number[to] = 0;
		g->stack[depth] = to;
		g->edge[depth++] = g->succ_at[to];
	}
}

static uint32_t common(const struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->number[a] < g->number[b])
			a = g->idom[a];
		while (g->number[b] < g->number[a])
			b = g->idom[b];
	}
	return a;
}

static uint32_t new_idom(const struct graph *g, uint32_t node)
{
	uint32_t idom = TRAMP_NONE;

	for (uint32_t k = g->pred_at[node]; k < g->pred_at[node + 1]; k++) {
		uint32_t pred = g->pred[k];

		if (g->number[pred] == TRAMP_NONE || g->idom[pred] == TRAMP_NONE)
			continue;
		idom = idom == TRAMP_NONE ? pred : common(g, pred, idom);
	}
	return idom;
}

static void find_dominators(struct graph *g)
{
	bool changed = true;

	memset(g->number, 0xff, g->n * sizeof(*g->number));
	memset(g->idom, 0xff, g->n * sizeof(*g->idom));
	visit(g, g->root);
	g->idom[g->root] = g->root;
	while (changed) {
		changed = false;
		for (uint32_t i = g->norder - 1; i-- > 0;) {
			uint32_t node = g->order[i], idom = new_idom(g, node);

			changed |= idom != g->idom[node];
			g->idom[node] = idom;
		}
	}
}

static bool dominates(const struct graph *g, uint32_t a, uint32_t b)
{
	while (g->number[b] < g->number[a])
		b = g->idom[b];
	return a == b;
}

/* The nearest dominator that is a block. */
static void store_idoms(const struct graph *g)
{
	for (uint32_t i = 0; i < g->flow->nblocks; i++) {
		uint32_t idom = g->idom[i];

		while (idom != TRAMP_NONE && idom >= g->flow->nblocks && idom != g->root)
			idom = g->idom[idom];
		g->flow->blocks[i].idom = idom == g->root ? TRAMP_NONE : idom;
	}
}

/* ---- loops ---- */

static uint32_t outermost(const struct tramp_flow *flow, uint32_t loop)
{
	while (flow->loops[loop].parent != TRAMP_NONE)
		loop = flow->loops[loop].parent;
	return loop;
}

/* Puts a block, or the whole loop that it is in so far, into `loop`; what leads there is looked at next. */
static void take_in(struct graph *g, uint32_t *loops, uint32_t node, uint32_t loop, uint32_t *depth)
{
	struct tramp_flow *flow = g->flow;
	uint32_t from = node;

	if (g->number[node] == TRAMP_NONE)
		return;
	if (loops[node] != TRAMP_NONE) {
		uint32_t inner = outermost(flow, loops[node]);

		if (inner == loop)
			return;
		flow->loops[inner].parent = loop;
		flow->loops[loop].nblocks += flow->loops[inner].nblocks;
		from = flow->loops[inner].head;
	} else {
		loops[node] = loop;
		flow->loops[loop].nblocks += node < flow->nblocks;
	}
	g->stack[(*depth)++] = from;
}

static void fill_loop(struct graph *g, uint32_t *loops, uint32_t loop, uint32_t depth)
{
	uint32_t head = g->flow->loops[loop].head;

	while (depth) {
		uint32_t node = g->stack[--depth];

		if (node == head)
			continue;
		for (uint32_t k = g->pred_at[node]; k < g->pred_at[node + 1]; k++)
			take_in(g, loops, g->pred[k], loop, &depth);
	}
}

/* The loop of all back edges to `head`, if there is one. */
static bool add_loop(struct graph *g, uint32_t *loops, uint32_t head)
{
	struct tramp_flow *flow = g->flow;
	struct tramp_loop *items;
	uint32_t depth = 0, loop = flow->nloops;

	for (uint32_t k = g->pred_at[head]; k < g->pred_at[head + 1]; k++) {
		uint32_t from = g->pred[k];

		if (g->number[from] == TRAMP_NONE || g->number[from] > g->number[head])
			continue;
		if (!dominates(g, head, from)) {
			flow->flags |= TRAMP_FLOW_IRREDUCIBLE;
			continue;
		}
		if (flow->nloops == loop) {
			items = tramp_flow_reserve(&flow_priv(flow)->loop_room, loop + 1,
						   sizeof(*items));
			if (!items)
				return false;
			flow->loops = items;
			items[flow->nloops++] = (struct tramp_loop){
				.head = head, .parent = TRAMP_NONE, .nblocks = 1,
			};
			loops[head] = loop;
		}
		take_in(g, loops, from, loop, &depth);
	}
	if (flow->nloops > loop)
		fill_loop(g, loops, loop, depth);
	return true;
}

/* Jump to jump through tables: a loop that any of their targets is the head of. */
static void look_at_tables(struct graph *g)
{
	uint32_t number = g->number[g->tables];

	for (uint32_t k = g->pred_at[g->tables]; k < g->pred_at[g->tables + 1]; k++) {
		if (g->number[g->pred[k]] < number)
			g->flow->flags |= TRAMP_FLOW_IRREDUCIBLE;
	}
}

static void store_depths(struct tramp_flow *flow, const uint32_t *loops)
{
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		uint32_t depth = 0;

		for (uint32_t l = loops[i]; l != TRAMP_NONE; l = flow->loops[l].parent)
			depth++;
		flow->blocks[i].loop = loops[i];
		flow->blocks[i].loop_depth = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
	}
}

enum tramp_code_status tramp_flow_loops(struct tramp_flow *flow)
{
	struct graph g = {
		.flow = flow, .n = flow->nblocks + EXTRA, .root = flow->nblocks,
		.tables = flow->nblocks + 1, .pads = flow->nblocks + 2,
	};
	uint32_t *loops = tramp_flow_reserve(&flow_priv(flow)->work2_room, g.n, sizeof(*loops));

	flow->nloops = 0;
	flow->flags &= ~(uint32_t)TRAMP_FLOW_IRREDUCIBLE;
	if (!loops || !open_graph(&g))
		return TRAMP_CODE_MEMORY;
	memset(loops, 0xff, g.n * sizeof(*loops));
	find_dominators(&g);
	store_idoms(&g);
	for (uint32_t i = 0; i < g.norder; i++) {	/* inner loops' heads come first */
		uint32_t node = g.order[i];

		if (node < flow->nblocks && !add_loop(&g, loops, node))
			return TRAMP_CODE_MEMORY;
	}
	look_at_tables(&g);
	store_depths(flow, loops);
	return TRAMP_CODE_OK;
}

bool tramp_flow_in_loop(const struct tramp_flow *flow, uint32_t block, uint32_t loop)
{
	uint32_t l = block == TRAMP_NONE ? TRAMP_NONE : flow->blocks[block].loop;

	while (l != TRAMP_NONE && l != loop)
		l = flow->loops[l].parent;
	return l == loop;
}
