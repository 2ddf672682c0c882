// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Sums over executions straight from counters.  All counts are sums and differences of counters, so what is added at each execution
 * of a block is, in the end, added so and so often by each counter: by the edge that it counts, and by those of the way through edges
 * that are not counted which leads from where that edge ends back to where it begins.  @way of a block is what edges add from outside
 * to there; so a counter's weight is that of its edge, with the way to its beginning, less that to its end.
 */
#include "trampolines/count/count.h"

#include <string.h>

struct weigher {
	const struct tramp_counts *c;
	const struct tramp_weight *blocks, *after;
	uint32_t nblocks;	/* also the node that stands for outside */
	uint64_t *unknown;	/* by node: edges that are not counted, and lead to nodes that have not been removed ... */
	uint64_t *which;	/* ... and their exclusive or; of those that have been, the last one */
	uint64_t *ready;	/* nodes that have one */
	uint64_t *order;	/* in which nodes are removed */
	size_t nready, norder;
};

static uint32_t node_of(const struct weigher *w, uint32_t block)
{
	return block == TRAMP_NONE ? w->nblocks : block;
}

/* What an edge adds: the block that it leads to. */
static void add_edge(const struct weigher *w, struct tramp_weight *to, const struct tramp_edge *e, bool less)
{
	if (e->to != TRAMP_NONE)
		tramp_weight_add(to, &w->blocks[e->to], less ? TRAMP_WEIGHT_LESS : 1);
	else if (e->kind == TRAMP_EDGE_LOST)
		tramp_weight_add(to, &w->after[e->from], less ? 1 : TRAMP_WEIGHT_LESS);
}

static void forget(struct weigher *w, uint32_t node, uint64_t edge)
{
	w->which[node] ^= edge;
	if (--w->unknown[node] == 1 && node != w->nblocks)
		w->ready[w->nready++] = node;
}

/* Leaves of the forest of edges that are not counted first; roots, outside among them, stay. */
static void find_order(struct weigher *w)
{
	for (size_t i = 0; i < w->c->nedges; i++) {
		const struct tramp_edge *e = &w->c->edges[i];

		if (e->counter != TRAMP_NONE)
			continue;
		w->unknown[node_of(w, e->from)]++;
		w->which[node_of(w, e->from)] ^= i;
		w->unknown[node_of(w, e->to)]++;
		w->which[node_of(w, e->to)] ^= i;
	}
	for (uint32_t i = 0; i < w->nblocks; i++)
		if (w->unknown[i] == 1)
			w->ready[w->nready++] = i;
	while (w->nready) {
		uint32_t node = (uint32_t)w->ready[--w->nready];
		const struct tramp_edge *e;

		if (w->unknown[node] != 1)
			continue;
		e = &w->c->edges[w->which[node]];
		w->unknown[node] = 0;
		w->order[w->norder++] = node;
		forget(w, node_of(w, e->to) == node ? node_of(w, e->from) : node_of(w, e->to), w->which[node]);
	}
}

void tramp_count_weigh(const struct tramp_counts *c, uint32_t nblocks, const struct tramp_weight *blocks,
		       const struct tramp_weight *after, struct tramp_weight *counters, struct tramp_weight *way, uint64_t *work)
{
	size_t n = nblocks + (size_t)1;
	struct weigher w = {
		.c = c, .blocks = blocks, .after = after, .nblocks = nblocks,
		.unknown = work, .which = work + n, .ready = work + 2 * n, .order = work + 3 * n,
	};

	memset(work, 0, 4 * n * sizeof(*work));
	memset(way, 0, n * sizeof(*way));
	memset(counters, 0, c->ncounters * sizeof(*counters));
	find_order(&w);
	while (w.norder) {
		uint32_t node = (uint32_t)w.order[--w.norder];
		const struct tramp_edge *e = &c->edges[w.which[node]];
		bool into = node_of(&w, e->to) == node;

		way[node] = way[node_of(&w, into ? e->from : e->to)];
		add_edge(&w, &way[node], e, !into);
	}
	for (size_t i = 0; i < c->nedges; i++) {
		const struct tramp_edge *e = &c->edges[i];

		if (e->counter == TRAMP_NONE)
			continue;
		add_edge(&w, &counters[e->counter], e, false);
		tramp_weight_add(&counters[e->counter], &way[node_of(&w, e->from)], 1);
		tramp_weight_add(&counters[e->counter], &way[node_of(&w, e->to)], TRAMP_WEIGHT_LESS);
	}
}
