// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Loops that write headers and nothing else, one in each turn at least, as searches do: several turns follow each other, so
 * that a header in the last of them, or on the way out, tells of all.  Their blocks are added to a copy of the
 * flow, which is planned anew.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

enum {
	BLOCKS_MAX = 4,		/* of such a loop */
	TURNS_MAX = 16,
	MORE_MAX = 256,		/* blocks that a function may get, more than twice its own */
};

/* ---- which loops ---- */

static bool has_inner(const struct mp *p, uint32_t loop)
{
	for (uint32_t l = 0; l < p->flow->nloops; l++) {
		if (p->flow->loops[l].parent == loop)
			return true;
	}
	return false;
}

bool mp_is_inner(const struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];

	return b->quiet && (!b->outside || b->polled) && !p->flow->blocks[i].flags &&
	       (b->way[MP_TARGET] != TRAMP_NONE || b->way[MP_NEXT] != TRAMP_NONE) &&
	       p->flow->blocks[i].ends != TRAMP_END_TAIL_JCC;
}

/* @headers: some way within the loop has one.  False: there is something else in the stream. */
static bool look_at_way(const struct mp *p, const struct mp_way *w, uint32_t loop, bool *headers)
{
	bool inside = mp_in_loop(p, w->to, loop);

	*headers |= inside && (!w->implied || p->blocks.v[w->to].header);
	return !inside || !w->values;
}

/* Is it worth it?  *bytes: of its code. */
static bool is_search(const struct mp *p, uint32_t loop, uint32_t *bytes)
{
	uint32_t first = p->loop_at.v[loop], end = p->loop_at.v[loop + 1];
	bool headers = false;

	*bytes = 0;
	if (end - first > BLOCKS_MAX || has_inner(p, loop))
		return false;
	for (uint32_t k = first; k < end; k++) {
		uint32_t i = p->members.v[k];
		const struct mp_block *b = &p->blocks.v[i];

		*bytes += p->flow->blocks[i].end - p->flow->blocks[i].start;
		if (!mp_is_inner(p, i))
			return false;
		for (uint32_t e = MP_TARGET; e <= MP_NEXT; e++) {
			if (b->way[e] != TRAMP_NONE && !look_at_way(p, &p->ways.v[b->way[e]], loop, &headers))
				return false;
		}
	}
	return headers;
}

/* ---- the copy ---- */

static bool begin(struct mp *p)
{
	const struct tramp_flow *from = p->flow;
	struct mp_unrolled *u = &p->unrolled;

	if (!mp_reserve(p, &u->blocks, from->nblocks) || !mp_reserve(p, &u->ops, from->nops) ||
	    !mp_reserve(p, &u->origin, from->nblocks) || !mp_reserve(p, &u->loops, from->nloops))
		return false;
	memset(u->loops.v, 0, from->nloops * sizeof(*u->loops.v));
	memcpy(u->blocks.v, from->blocks, from->nblocks * sizeof(*from->blocks));
	memcpy(u->ops.v, from->ops, from->nops * sizeof(*from->ops));
	for (uint32_t i = 0; i < from->nblocks; i++)
		u->origin.v[i] = i;
	u->flow = *from;
	u->flow.blocks = u->blocks.v;
	u->flow.ops = u->ops.v;
	u->ntails = u->ntail_blocks = 0;
	return true;
}

bool mp_copy_room(struct mp *p, const uint32_t *blocks, uint32_t n, uint32_t times)
{
	struct mp_unrolled *u = &p->unrolled;
	size_t nblocks = (size_t)times * n, nops = 0;

	for (uint32_t k = 0; k < n; k++)
		nops += (size_t)times * p->flow->blocks[blocks[k]].nops;
	if (!mp_reserve(p, &u->blocks, u->flow.nblocks + nblocks) || !mp_reserve(p, &u->ops, u->flow.nops + nops) ||
	    !mp_reserve(p, &u->origin, u->flow.nblocks + nblocks))
		return false;
	u->flow.blocks = u->blocks.v;
	u->flow.ops = u->ops.v;
	return true;
}

struct tramp_block *mp_copy_block(struct mp *p, uint32_t from)
{
	struct tramp_flow *flow = &p->unrolled.flow;
	struct tramp_block *b = &flow->blocks[flow->nblocks];

	*b = flow->blocks[from];
	b->op = flow->nops;
	memcpy(&flow->ops[b->op], &flow->ops[flow->blocks[from].op], b->nops * sizeof(*flow->ops));
	flow->nops += b->nops;
	p->unrolled.origin.v[flow->nblocks++] = from;
	return b;
}

/* A block of the loop, or another one. */
static uint32_t same(const struct mp_turns *u, uint32_t block, uint32_t turn)
{
	for (uint32_t k = 0; k < u->n; k++) {
		if (u->members[k] == block)
			return mp_in_turn(u, k, turn);
	}
	return block;
}

/* Where control goes from there: the head is in the next turn. */
static uint32_t led_to(const struct mp_turns *u, uint32_t to, uint32_t turn)
{
	return same(u, to, to == u->head ? (turn + 1) % u->turns : turn);
}

/* The ways of a turn, of which all blocks are as in the loop itself.  That one is the last, since others look at it. */
static void lead(struct tramp_flow *flow, const struct mp_turns *u, uint32_t turn)
{
	for (uint32_t k = 0; k < u->n; k++) {
		const struct tramp_block *from = &flow->blocks[u->members[k]];
		struct tramp_block *b = &flow->blocks[mp_in_turn(u, k, turn)];

		if (turn)
			b->idom = u->members[k] == u->head ? mp_in_turn(u, k, turn - 1) : same(u, from->idom, turn);
		b->target = led_to(u, from->target, turn);
		b->next = led_to(u, from->next, turn);
	}
}

static bool unroll(struct mp *p, uint32_t loop, uint32_t turns, uint32_t most)
{
	struct mp_turns u = {
		.members = &p->members.v[p->loop_at.v[loop]], .n = p->loop_at.v[loop + 1] - p->loop_at.v[loop],
		.loop = loop, .head = p->flow->loops[loop].head, .first = p->unrolled.flow.nblocks, .turns = turns,
	};

	if (!mp_copy_room(p, u.members, u.n, turns - 1))
		return false;
	for (uint32_t t = 1; t < turns; t++) {
		for (uint32_t k = 0; k < u.n; k++)
			mp_copy_block(p, u.members[k]);
	}
	for (uint32_t t = turns; t-- > 0;)
		lead(&p->unrolled.flow, &u, t);
	p->unrolled.loops.v[loop] = true;
	return mp_add_tails(p, &u, most);
}

static uint32_t turns_of(uint32_t bytes)
{
	uint32_t n = MEM_TURNS_BYTES / (bytes ? bytes : 1);

	return n < TURNS_MAX ? n : TURNS_MAX;
}

bool mp_unroll(struct mp *p, bool *any)
{
	uint32_t nloops = p->flow->nloops, most = 2 * p->flow->nblocks + MORE_MAX, bytes;

	*any = false;
	if (!mp_rung(p, TRAMP_MEM_PATHS) || !mp_rung(p, TRAMP_MEM_IMPLIED))
		return true;
	for (uint32_t l = 0; l < nloops; l++) {
		if (!is_search(p, l, &bytes) || turns_of(bytes) < 2)
			continue;
		if (!*any && !begin(p))
			return false;
		*any = true;
		if (p->unrolled.flow.nblocks + TURNS_MAX * BLOCKS_MAX > most)
			break;
		if (!unroll(p, l, turns_of(bytes), most))
			return false;
	}
	if (*any)
		p->flow = &p->unrolled.flow;
	return true;
}

bool mp_is_unrolled(const struct mp *p, uint32_t block)
{
	uint32_t loop = p->flow->blocks[block].loop;

	return p->flow == &p->unrolled.flow && loop != TRAMP_NONE && p->unrolled.loops.v[loop];
}

static bool name_way(struct mp *p, uint32_t from, uint32_t way)
{
	struct mp_way *w = way == TRAMP_NONE ? NULL : &p->ways.v[way];

	if (!w || !w->implied || mp_in_loop(p, w->to, p->flow->blocks[from].loop) ||
	    (!w->values && mp_begins_with_header(p, w->to)))
		return false;
	w->implied = false;
	return true;
}

/* Until nothing changes: that a way has a header now may be seen from another loop. */
bool mp_name_exits(struct mp *p)
{
	bool any, all = false;

	do {
		any = false;
		for (uint32_t i = 0; i < p->flow->nblocks; i++) {
			for (uint32_t k = MP_TARGET; mp_is_unrolled(p, i) && k <= MP_NEXT; k++)
				any |= name_way(p, i, p->blocks.v[i].way[k]);
		}
		all |= any;
	} while (any);
	return all;
}

void mp_name_origins(struct mp *p)
{
	struct mem_plan *plan = p->plan;

	for (size_t i = 0; i < plan->nnodes && p->flow == &p->unrolled.flow; i++) {
		struct mem_node *n = &plan->nodes[i];

		n->again = n->nops && n->block >= p->norig;
		n->block = p->unrolled.origin.v[n->block];
	}
}
