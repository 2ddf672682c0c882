// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where the room in the buffer is checked: nodes write at most tramp_mem_env.slack bytes without a
 * check.
 *
 * When control enters from outside, half of that may have been written; when it leaves, no more
 * has.  So the first node then that writes has a check; each cycle with one that writes has one
 * (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972); and where half of it is
 * exceeded.
 */
#include "trampolines/memory/plan/passes.h"

enum { ROUNDS = 8 };

/* Before all that it writes: in a forked child the pointer is zero. */
static void check_first(struct mp *p, uint32_t index)
{
	p->nodes.v[index].check = 0;
	p->nodes.v[index].check_flags = p->nodes.v[index].live & TRAMP_STATUS;
}

/* Where the flags are dead, if that is anywhere in the node. */
static void place_check(struct mp *p, uint32_t index)
{
	const struct mem_node *n = &p->plan->nodes[index];
	const struct tramp_block *b = &p->flow->blocks[n->block];
	struct mp_node *side = &p->nodes.v[index];
	uint32_t k = n->nops;
	tramp_regs live;

	side->check = 0;
	side->check_flags = side->live & TRAMP_STATUS;
	if (!side->check_flags || n->nops == 0)
		return;
	live = tramp_flow_live_at(p->flow, n->block, b->op + n->first + --k);
	while (live & TRAMP_STATUS && k > 0) {
		k--;
		live = mp_op(p, n, k)->use | (live & ~mp_op(p, n, k)->def);
	}
	if (!(live & TRAMP_STATUS)) {
		side->check = k;
		side->check_flags = false;
	}
}

static uint32_t successor(const struct mp *p, uint32_t i, uint32_t k)
{
	const struct mem_node *n = &p->plan->nodes[i];

	if (p->nodes.v[i].stays)
		return k == MP_TARGET ? n->target : n->next;
	if (k == MP_NEXT && n->last && p->flow->blocks[n->block].ends == TRAMP_END_TAIL_JCC)
		return n->next;
	return TRAMP_NONE;
}

/* ---- entries ---- */

/* Goes on through what writes nothing. */
static void check_entered(struct mp *p, uint32_t start)
{
	size_t depth = 0;

	p->stack.v[depth++] = start;
	while (depth) {
		uint32_t i = p->stack.v[--depth];
		struct mp_node *side = &p->nodes.v[i];

		if (side->index)
			continue;
		side->index = 1;
		if (side->bytes) {
			check_first(p, i);
			continue;
		}
		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			if (successor(p, i, k) != TRAMP_NONE)
				p->stack.v[depth++] = successor(p, i, k);
		}
	}
}

static void check_all_entered(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		if (p->plan->entry[i] != TRAMP_NONE && !p->blocks.v[i].polled)
			check_entered(p, p->plan->entry[i]);
	}
	for (uint32_t i = 0; i < p->nbody; i++) {	/* after system calls within blocks */
		if (!p->plan->nodes[i].last && !p->nodes.v[i].stays)
			check_entered(p, i + 1);
	}
}

/* ---- cycles ---- */

/*
 * Strongly connected components of what has no check.  The stack has three parts: where the walk is, which
 * successor of these comes next, and nodes that are in no component yet.
 */
struct walk {
	struct mp *p;
	uint32_t *path, *edge, *open;
	uint32_t depth, nopen, next, ncycles;
};

static bool is_in(const struct mp *p, uint32_t i)
{
	return i != TRAMP_NONE && p->nodes.v[i].check == TRAMP_NONE;
}

static bool leads_to_itself(const struct mp *p, uint32_t i)
{
	return successor(p, i, MP_TARGET) == i || successor(p, i, MP_NEXT) == i;
}

/* The component of node i, which is complete: its number is noted, unless it is no cycle. */
static void close_component(struct walk *w, uint32_t i)
{
	struct mp_node *nodes = w->p->nodes.v;
	bool cycle = w->open[w->nopen - 1] != i || leads_to_itself(w->p, i);
	uint32_t member;

	do {
		member = w->open[--w->nopen];
		nodes[member].cycle = cycle ? w->ncycles : TRAMP_NONE;
		nodes[member].low = UINT32_MAX;		/* done */
	} while (member != i);
	w->ncycles += cycle;
}

static void open_node(struct walk *w, uint32_t i)
{
	struct mp_node *side = &w->p->nodes.v[i];

	side->index = side->low = ++w->next;
	w->path[w->depth] = i;
	w->edge[w->depth++] = MP_TARGET;
	w->open[w->nopen++] = i;
}

static void find_component(struct walk *w, uint32_t start)
{
	struct mp_node *nodes = w->p->nodes.v;

	open_node(w, start);
	while (w->depth) {
		uint32_t i = w->path[w->depth - 1], k = w->edge[w->depth - 1]++, to;

		if (k > MP_NEXT) {
			if (nodes[i].low == nodes[i].index)
				close_component(w, i);
			w->depth--;
			if (w->depth && nodes[i].low < nodes[w->path[w->depth - 1]].low)
				nodes[w->path[w->depth - 1]].low = nodes[i].low;
			continue;
		}
		to = successor(w->p, i, k);
		if (!is_in(w->p, to))
			continue;
		if (!nodes[to].index)
			open_node(w, to);
		else if (nodes[to].low != UINT32_MAX && nodes[to].index < nodes[i].low)
			nodes[i].low = nodes[to].index;
	}
}

static uint32_t find_cycles(struct mp *p)
{
	uint32_t n = (uint32_t)p->plan->nnodes;
	struct walk w = {
		.p = p,
		.path = p->stack.v,
		.edge = p->stack.v + n,
		.open = p->stack.v + 2 * (size_t)n,
	};

	for (uint32_t i = 0; i < n; i++) {
		p->nodes.v[i].index = p->nodes.v[i].low = 0;
		p->nodes.v[i].cycle = TRAMP_NONE;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (is_in(p, i) && !p->nodes.v[i].index)
			find_component(&w, i);
	}
	return w.ncycles;
}

/* The one that writes most often is most likely to be on all of a component's cycles.  False: none writes. */
static bool check_cycles(struct mp *p, uint32_t ncycles, bool all)
{
	uint32_t *best = p->stack.v;
	bool any = false;

	for (uint32_t c = 0; c < ncycles; c++)
		best[c] = TRAMP_NONE;
	for (uint32_t i = 0; i < p->plan->nnodes; i++) {
		const struct mp_node *side = &p->nodes.v[i];

		if (side->cycle == TRAMP_NONE || !side->bytes)
			continue;
		any = true;
		if (all)
			place_check(p, i);
		else if (best[side->cycle] == TRAMP_NONE ||
			 side->freq > p->nodes.v[best[side->cycle]].freq)
			best[side->cycle] = i;
	}
	for (uint32_t c = 0; c < ncycles && !all; c++) {
		if (best[c] != TRAMP_NONE)
			place_check(p, best[c]);
	}
	return any;
}

/* ---- long paths ---- */

static bool pass_on(struct mp *p, uint32_t i)
{
	struct mp_node *side = &p->nodes.v[i];
	uint32_t half = p->env->slack / 2, after;
	bool changed = false;

	if (side->check == TRAMP_NONE && side->bytes && side->since + side->bytes > half)
		place_check(p, i);
	after = side->bytes + (side->check == TRAMP_NONE ? side->since : 0);
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		uint32_t to = successor(p, i, k);

		if (to != TRAMP_NONE && p->nodes.v[to].since < after) {
			p->nodes.v[to].since = after;
			changed = true;
		}
	}
	return changed;
}

bool mp_place_checks(struct mp *p)
{
	size_t n = p->plan->nnodes;
	bool changed = true;

	if (!mp_reserve(p, &p->stack, 3 * n + 4))
		return false;
	for (size_t i = 0; i < n; i++)
		p->nodes.v[i].index = 0;
	check_all_entered(p);
	for (int round = 0; round <= ROUNDS; round++) {
		if (!check_cycles(p, find_cycles(p), round == ROUNDS))
			break;
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < n; i++)
			changed |= pass_on(p, i);
	}
	return true;
}
