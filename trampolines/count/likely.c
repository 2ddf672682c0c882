// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How often blocks are likely executed each time that control comes into the function, from the shape of its control flow alone
 * (Y. Wu and J. Larus, "Static branch frequency and program profile analysis", 1994): what comes into a block is divided among its
 * successors, in an order in which they come later; edges that lead back add nothing, but loops' heads count several times.  Beside
 * loops only that is looked at which compilers put apart: other rules for branches gained nothing on some programs, and cost on others.
 * One node more stands between jumps through tables and where these lead.
 */
#include <string.h>

#include "base/array.h"
#include "trampolines/count/private.h"

enum {
	LOOP_TIMES = 8,		/* executions of a loop's head for each entry: one in so many leaves it */
	SELDOM = 50,		/* code that is apart, or does not return */
};

struct guess {
	struct tramp_counts *c;
	const struct tramp_flow *flow;
	uint32_t tables;	/* the node of tables' targets, after blocks */
	uint32_t norder;
	uint32_t *order;	/* nodes: each after its successors, but for edges that lead back */
	uint32_t *number;	/* their places in it; TRAMP_NONE: not visited; `tables' + 1: not left */
	uint32_t *stack, *next;	/* nodes, and which successor comes next */
	uint32_t ntargets;
};

static const struct tramp_block *block_of(const struct guess *g, uint32_t i)
{
	return &g->flow->blocks[i];
}

/* The k-th one of a node: *to, which may be TRAMP_NONE.  False: there are no more. */
static bool successor(const struct guess *g, uint32_t node, uint32_t k, uint32_t *to)
{
	const struct tramp_block *b = block_of(g, node);

	if (node == g->tables) {
		*to = k < g->tables && (block_of(g, k)->flags & TRAMP_BLOCK_TABLE) ? k : TRAMP_NONE;
		return k < g->tables;
	}
	if (k < 2)
		*to = k ? b->next : b->target;
	else
		*to = tramp_end_is_switch(b->ends) ? g->tables : TRAMP_NONE;
	return k < 3;
}

static void visit(struct guess *g, uint32_t start)
{
	uint32_t depth = 0, to = start;

	for (;;) {
		if (to != TRAMP_NONE && g->number[to] == TRAMP_NONE) {
			g->number[to] = g->tables + 1;
			g->stack[depth] = to;
			g->next[depth++] = 0;
		}
		while (!successor(g, g->stack[depth - 1], g->next[depth - 1]++, &to)) {
			uint32_t node = g->stack[--depth];

			g->number[node] = g->norder;
			g->order[g->norder++] = node;
			if (!depth)
				return;
		}
	}
}

/* Is it seldom executed?  Its successors come first. */
static bool is_seldom(const struct guess *g, uint32_t i)
{
	const struct tramp_fn *fn = &tramp_code_facts(g->flow->code)->fns[g->flow->fn];
	const struct tramp_block *b = block_of(g, i);
	bool next, target;

	if ((b->flags & TRAMP_BLOCK_PAD) || b->ends == TRAMP_END_NORETURN || b->ends == TRAMP_END_STOP)
		return true;
	if (tramp_code_base(g->flow->code) + b->start - fn->addr >= fn->size && i != g->flow->entry)
		return true;
	next = b->next == TRAMP_NONE || g->c->likely[b->next].seldom;
	target = b->target == TRAMP_NONE || g->c->likely[b->target].seldom;
	return (b->next != TRAMP_NONE || b->target != TRAMP_NONE) && b->ends != TRAMP_END_TAIL_JCC && next && target;
}

/* How likely a conditional jump is taken. */
static double chance(const struct guess *g, const struct tramp_block *b)
{
	double taken = 1, not = 1;
	bool seldom, inside;

	if (b->target == TRAMP_NONE || b->next == TRAMP_NONE)
		return 0.5;
	seldom = g->c->likely[b->target].seldom;
	if (seldom != g->c->likely[b->next].seldom)
		*(seldom ? &not : &taken) *= SELDOM;
	inside = b->loop != TRAMP_NONE && tramp_flow_in_loop(g->flow, b->target, b->loop);
	if (b->loop != TRAMP_NONE && inside != tramp_flow_in_loop(g->flow, b->next, b->loop))
		*(inside ? &taken : &not) *= LOOP_TIMES - 1;
	return taken / (taken + not);
}

static void send(struct guess *g, uint32_t from, uint32_t to, double times)
{
	/* those that come earlier in the order are later ones */
	if (to != TRAMP_NONE && g->number[to] < g->number[from])
		g->c->likely[to].times += times;
}

static void send_on(struct guess *g, uint32_t i)
{
	struct tramp_likely *l = &g->c->likely[i];
	const struct tramp_block *b = block_of(g, i);
	const bool conditional = tramp_end_is_conditional(b->ends);

	if (b->loop != TRAMP_NONE && g->flow->loops[b->loop].head == i)
		l->times *= LOOP_TIMES;
	l->taken = conditional ? l->times * chance(g, b) : l->times;
	send(g, i, b->target, l->taken);
	send(g, i, b->next, conditional ? l->times - l->taken : l->times);
	if (tramp_end_is_switch(b->ends))
		send(g, i, g->tables, l->times);
}

static void go_round(struct guess *g)
{
	for (uint32_t k = g->norder; k-- > 0;) {
		uint32_t node = g->order[k];

		if (node != g->tables) {
			send_on(g, node);
			continue;
		}
		g->c->likely[node].taken = g->ntargets ? g->c->likely[node].times / g->ntargets : 0;
		for (uint32_t i = 0; i < g->tables; i++)
			if (block_of(g, i)->flags & TRAMP_BLOCK_TABLE)
				send(g, node, i, g->c->likely[node].taken);
	}
}

bool tramp_count_guess(struct tramp_counts *c, const struct tramp_flow *flow)
{
	struct guess g = { .c = c, .flow = flow, .tables = flow->nblocks };
	size_t n = flow->nblocks + (size_t)1;

	if (!array_room(c->likely, c->room_likely, n) || !array_room(c->nodes, c->room_nodes, 4 * n))
		return false;
	g.order = c->nodes;
	g.number = g.order + n;
	g.stack = g.number + n;
	g.next = g.stack + n;
	memset(c->likely, 0, n * sizeof(*c->likely));
	memset(g.number, 0xff, n * sizeof(*g.number));
	visit(&g, flow->entry);
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		g.ntargets += (block_of(&g, i)->flags & TRAMP_BLOCK_TABLE) != 0;
		if (g.number[i] == TRAMP_NONE)
			visit(&g, i);
	}
	for (uint32_t k = 0; k < g.norder; k++)
		if (g.order[k] != g.tables)
			c->likely[g.order[k]].seldom = is_seldom(&g, g.order[k]);
	for (uint32_t i = 0; i < flow->nblocks; i++)
		if (tramp_count_arrives(flow, i) && !(block_of(&g, i)->flags & TRAMP_BLOCK_RETURN))
			c->likely[i].times = c->likely[i].seldom ? 1.0 / SELDOM : 1;
	go_round(&g);
	return true;
}
