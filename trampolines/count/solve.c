// SPDX-License-Identifier: GPL-3.0-or-later
/* All counts from those of the counters: at a node where only one edge is not known it is what the others leave. */
#include "trampolines/count/count.h"

#include <string.h>

struct solver {
	const struct tramp_edge *edges;
	uint64_t *counts;
	uint32_t nblocks;	/* also the node that stands for outside */
	uint64_t *unknown;	/* by node: edges that are not known ... */
	uint64_t *which;	/* ... and their exclusive or, which is the last one */
	uint64_t *surplus;	/* by node: what comes in, less what goes out, of those that are known */
	uint64_t *ready;	/* nodes that have one */
	size_t nready;
};

static uint32_t node_of(const struct solver *s, uint32_t block)
{
	return block == TRAMP_NONE ? s->nblocks : block;
}

static void expect(struct solver *s, uint32_t block, size_t edge)
{
	s->unknown[node_of(s, block)]++;
	s->which[node_of(s, block)] ^= edge;
}

static void settle(struct solver *s, uint32_t block, size_t edge, bool was_unknown, uint64_t surplus)
{
	uint32_t node = node_of(s, block);

	s->surplus[node] += surplus;
	if (!was_unknown)
		return;
	s->which[node] ^= edge;
	if (--s->unknown[node] == 1)
		s->ready[s->nready++] = node;
}

static void set(struct solver *s, size_t edge, uint64_t count, bool was_unknown)
{
	s->counts[edge] = count;
	settle(s, s->edges[edge].from, edge, was_unknown, -count);
	settle(s, s->edges[edge].to, edge, was_unknown, count);
}

bool tramp_count_solve(const struct tramp_edge *edges, size_t nedges, uint32_t nblocks, const uint64_t *counters,
		       uint64_t *counts, uint64_t *work)
{
	size_t n = nblocks + (size_t)1, left = 0;
	struct solver s = {
		.edges = edges, .counts = counts, .nblocks = nblocks,
		.unknown = work, .which = work + n, .surplus = work + 2 * n, .ready = work + 3 * n,
	};

	memset(work, 0, 4 * n * sizeof(*work));
	for (size_t i = 0; i < nedges; i++) {
		if (edges[i].counter != TRAMP_NONE) {
			set(&s, i, counters[edges[i].counter], false);
			continue;
		}
		expect(&s, edges[i].from, i);
		expect(&s, edges[i].to, i);
		left++;
	}
	for (uint32_t i = 0; i < n; i++)
		if (s.unknown[i] == 1)
			s.ready[s.nready++] = i;
	while (s.nready) {
		uint32_t node = (uint32_t)s.ready[--s.nready];
		size_t edge = (size_t)s.which[node];

		if (s.unknown[node] != 1)
			continue;
		set(&s, edge, node_of(&s, edges[edge].to) == node ? -s.surplus[node] : s.surplus[node], true);
		left--;
	}
	return left == 0;
}
