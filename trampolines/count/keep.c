// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which counters are kept in registers, and in which loop: the outermost one around where it is counted that does not use some
 * register.  If the register is of use after the loop it is saved meanwhile.  Counters of inner loops choose first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trampolines/count/private.h"

struct keeper {
	struct tramp_counts *c;
	const struct tramp_flow *flow;
	struct tramp_count_loop *loops;
};

static bool contains(const struct tramp_flow *flow, uint32_t loop, uint32_t inner)
{
	while (inner != TRAMP_NONE && inner != loop)
		inner = flow->loops[inner].parent;
	return inner == loop;
}

tramp_regs tramp_count_kept(const struct tramp_counts *c, const struct tramp_flow *flow, uint32_t block)
{
	uint32_t loop = flow->blocks[block].loop;

	return c->nkept && loop != TRAMP_NONE ? c->loops[loop].kept : 0;
}

/* ---- loops ---- */

static bool stays(const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];

	if (tramp_count_entered(flow, i) || tramp_count_after(flow, i))
		return false;
	switch (b->ends) {
	case TRAMP_END_FALL:
		return b->next != TRAMP_NONE;
	case TRAMP_END_JMP:
		return b->target != TRAMP_NONE;
	case TRAMP_END_JCC:
		return b->target != TRAMP_NONE && b->next != TRAMP_NONE;
	default:
		return false;
	}
}

static tramp_regs used(const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	/* profilers look for frames by the latter */
	tramp_regs regs = TRAMP_REG(TRAMP_RSP) | TRAMP_REG(TRAMP_RBP);

	for (uint32_t k = 0; k < b->nops; k++)
		regs |= flow->ops[b->op + k].use | flow->ops[b->op + k].def;
	return regs & TRAMP_GPRS;
}

static void look_at_loops(struct keeper *k)
{
	const struct tramp_flow *flow = k->flow;

	memset(k->loops, 0, flow->nloops * sizeof(*k->loops));
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		uint32_t loop = flow->blocks[i].loop;

		if (loop == TRAMP_NONE || k->loops[loop].left)
			continue;
		k->loops[loop].left = !stays(flow, i);
		k->loops[loop].used |= (uint32_t)used(flow, i);
		k->loops[loop].live |= (uint32_t)((flow->blocks[i].live_in | flow->blocks[i].live_out) & TRAMP_GPRS);
	}
	/* inner ones come first */
	for (uint32_t l = 0; l < flow->nloops; l++) {
		uint32_t parent = flow->loops[l].parent;

		if (parent == TRAMP_NONE)
			continue;
		k->loops[parent].left |= k->loops[l].left;
		k->loops[parent].used |= k->loops[l].used;
		k->loops[parent].live |= k->loops[l].live;
	}
}

static uint32_t loop_of_block(const struct keeper *k, uint32_t block)
{
	return block == TRAMP_NONE ? TRAMP_NONE : k->flow->blocks[block].loop;
}

/* Each edge is of the loops around one of its ends, or both. */
static void look_at_edge(struct keeper *k, const struct tramp_edge *e)
{
	const struct tramp_flow *flow = k->flow;
	uint32_t loop;

	for (loop = loop_of_block(k, e->to); loop != TRAMP_NONE && !tramp_flow_in_loop(flow, e->from, loop); loop = flow->loops[loop].parent)
		k->loops[loop].entered |= e->from == TRAMP_NONE || e->to != flow->loops[loop].head;
	for (loop = loop_of_block(k, e->from); loop != TRAMP_NONE && e->to == TRAMP_NONE; loop = flow->loops[loop].parent)
		k->loops[loop].entered = true;
	for (loop = loop_of_block(k, e->from); loop != TRAMP_NONE && !tramp_flow_in_loop(flow, e->to, loop); loop = flow->loops[loop].parent)
		k->loops[loop].ends = true;
	loop = loop_of_block(k, e->to);
	if (loop != TRAMP_NONE && flow->loops[loop].head == e->to && (e->from == TRAMP_NONE || tramp_flow_in_loop(flow, e->from, loop)))
		k->loops[loop].backs++;
}

/* ---- registers ---- */

/* Those of loops around it or inside of it are taken. */
static tramp_regs left_in(const struct tramp_count_loop *loop)
{
	tramp_regs taken = loop->kept | loop->inside;

	return __builtin_popcountll(taken) < TRAMP_KEPT_MAX ? TRAMP_GPRS & ~(tramp_regs)loop->used & ~taken : 0;
}

tramp_regs tramp_count_choose(const struct tramp_counts *c, uint32_t loop, tramp_regs among)
{
	const struct tramp_count_loop *l = &c->loops[loop];
	tramp_regs regs = left_in(l) & among, dead = regs & ~(tramp_regs)l->live;

	if (dead)
		regs = dead;
	return regs && l->ends && !l->left && !l->entered ? TRAMP_REG(63 - __builtin_clzll(regs)) : 0;
}

bool tramp_count_take(struct tramp_counts *c, const struct tramp_flow *flow, tramp_regs reg, struct tramp_kept k)
{
	if (!array_room(c->kept, c->room_kept, c->nkept + 1))
		return false;
	for (uint32_t l = 0; l < flow->nloops; l++)
		if (contains(flow, k.loop, l))
			c->loops[l].kept |= (uint32_t)reg;
	for (uint32_t l = k.loop; l != TRAMP_NONE; l = flow->loops[l].parent)
		c->loops[l].inside |= (uint32_t)reg;
	k.reg = (uint8_t)__builtin_ctzll(reg);
	k.saved = c->loops[k.loop].live & reg;
	c->kept[c->nkept++] = k;
	return true;
}

/* ---- counters ---- */

/* Is it the only edge to a loop's head that does not enter the loop?  Then all that comes to the head, less what enters, came by it. */
static bool is_only_back(const struct keeper *k, const struct tramp_edge *e)
{
	const struct tramp_flow *flow = k->flow;
	uint32_t loop = flow->blocks[e->to].loop;

	return loop != TRAMP_NONE && flow->loops[loop].head == e->to && tramp_flow_in_loop(flow, e->from, loop) && k->loops[loop].backs == 1;
}

/* The innermost loop that it is counted in. */
static uint32_t loop_of(const struct keeper *k, const struct tramp_edge *e)
{
	uint32_t loop = k->flow->blocks[e->where == TRAMP_COUNT_TO ? e->to : e->from].loop;

	while (loop != TRAMP_NONE && e->where == TRAMP_COUNT_EDGE && !tramp_flow_in_loop(k->flow, e->to, loop))
		loop = k->flow->loops[loop].parent;
	return loop;
}

static bool keep(struct keeper *k, size_t i)
{
	struct tramp_edge *e = &k->c->edges[i];
	uint32_t loop = loop_of(k, e), best = TRAMP_NONE;
	tramp_regs reg = 0, found;

	for (; loop != TRAMP_NONE && !k->loops[loop].left; loop = k->flow->loops[loop].parent) {
		found = tramp_count_choose(k->c, loop, TRAMP_GPRS);
		if (!found)
			break;
		reg = found;
		best = loop;
	}
	if (best == TRAMP_NONE)
		return true;
	if (e->where == TRAMP_COUNT_EDGE && e->kind == TRAMP_EDGE_TARGET && is_only_back(k, e))
		e->where = TRAMP_COUNT_HEAD;
	e->kept = true;
	return tramp_count_take(k->c, k->flow, reg, (struct tramp_kept){ .edge = (uint32_t)i, .loop = best });
}

static uint32_t depth_of(const struct keeper *k, const struct tramp_edge *e)
{
	uint32_t loop, depth = 0;

	if (e->counter == TRAMP_NONE || e->kind == TRAMP_EDGE_IN || e->kind == TRAMP_EDGE_LOST)
		return 0;
	for (loop = loop_of(k, e); loop != TRAMP_NONE; loop = k->flow->loops[loop].parent)
		depth++;
	return depth;
}

static uint32_t deepest(const struct keeper *k)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < k->flow->nblocks; i++)
		depth = k->flow->blocks[i].loop_depth > depth ? k->flow->blocks[i].loop_depth : depth;
	return depth;
}

enum tramp_code_status tramp_count_keep(struct tramp_counts *c, const struct tramp_flow *flow)
{
	struct keeper k = { .c = c, .flow = flow };

	if (!flow->nloops || (flow->flags & (TRAMP_FLOW_OVERLAP | TRAMP_FLOW_UNSURE)))
		return TRAMP_CODE_OK;
	if (!array_room(c->loops, c->room_loops, flow->nloops))
		return TRAMP_CODE_MEMORY;
	k.loops = c->loops;
	look_at_loops(&k);
	for (size_t i = 0; i < c->nedges; i++)
		look_at_edge(&k, &c->edges[i]);
	for (uint32_t depth = deepest(&k); depth; depth--) {
		for (size_t i = 0; i < c->nedges; i++)
			if (depth_of(&k, &c->edges[i]) == depth && !keep(&k, i))
				return TRAMP_CODE_MEMORY;
	}
	return TRAMP_CODE_OK;
}
