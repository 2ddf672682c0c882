// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which loops' trips are counted, and where these loops are entered and left.
 *
 * A loop is entered at its head.  It is left by edges, by tail jumps, and through jump tables, where the targets outside of the loop are
 * where it has been left, if it was left.  That a call in it does not return, since there was an exception or a longjmp(), is not seen;
 * then the loop is entered the next time while it seems to be running, just as in a recursion, and its trips are not known.
 */
#include <string.h>

#include "base/array.h"
#include "trampolines/count/private.h"

enum { MOST_TABLE_EXITS = 256 }; /* of a function */

/* The call that returns to the block; TRAMP_NONE: not known. */
static uint32_t caller_of(const struct tramp_flow *flow, uint32_t i)
{
	return i && flow->blocks[i - 1].ends == TRAMP_END_CALL && flow->blocks[i - 1].next == i ? i - 1 : TRAMP_NONE;
}

static uint32_t parent_of(const struct tramp_flow *flow, uint32_t loop)
{
	return flow->loops[loop].parent;
}

/* ---- which ones ---- */

static void look_at_block(struct tramp_counts *c, const struct tramp_flow *flow, uint32_t i)
{
	const struct tramp_block *b = &flow->blocks[i];
	bool known = b->flags & (TRAMP_BLOCK_TABLE | TRAMP_BLOCK_PAD);

	for (uint32_t l = b->loop; l != TRAMP_NONE; l = parent_of(flow, l)) {
		c->loops[l].unseen |= (b->flags & TRAMP_BLOCK_EXTERNAL) && !known;
		c->loops[l].unseen |= known && flow->loops[l].head == i;
		c->loops[l].switches |= b->ends == TRAMP_END_SWITCH;
	}
}

/* Where control comes to block @to of a loop from block @from, by an edge or by the return of a call. */
static void look_at_way(struct tramp_counts *c, const struct tramp_flow *flow, uint32_t from, uint32_t to)
{
	for (uint32_t l = flow->blocks[to].loop; l != TRAMP_NONE && !tramp_flow_in_loop(flow, from, l); l = parent_of(flow, l))
		c->loops[l].unseen |= flow->loops[l].head != to;
}

/* False: calls are not known to return where they do. */
static bool look(struct tramp_counts *c, const struct tramp_flow *flow)
{
	for (uint32_t l = 0; l < flow->nloops; l++) {
		c->loops[l].unseen = c->loops[l].switches = false;
		c->loops[l].trips = TRAMP_NONE;
	}
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		look_at_block(c, flow, i);
		if (!(flow->blocks[i].flags & TRAMP_BLOCK_RETURN))
			continue;
		if (caller_of(flow, i) == TRAMP_NONE)
			return false;
		look_at_way(c, flow, caller_of(flow, i), i);
	}
	for (size_t i = 0; i < c->nedges; i++) {
		const struct tramp_edge *e = &c->edges[i];

		if (e->from != TRAMP_NONE && e->to != TRAMP_NONE)
			look_at_way(c, flow, e->from, e->to);
	}
	return true;
}

static size_t count_tables(const struct tramp_flow *flow)
{
	size_t n = 0;

	for (uint32_t i = 0; i < flow->nblocks; i++)
		n += (flow->blocks[i].flags & TRAMP_BLOCK_TABLE) != 0;
	return n;
}

/* Not in those that probes take for their work. */
static bool add(struct tramp_counts *c, const struct tramp_flow *flow, uint32_t loop)
{
	tramp_regs reg = tramp_count_choose(c, loop, ~(TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX)));

	if (!array_room(c->trips, c->room_trips, c->ntrips + 1))
		return false;
	c->loops[loop].trips = (uint32_t)c->ntrips;
	c->trips[c->ntrips++] = (struct tramp_trips){ loop, reg ? (uint32_t)c->nkept : TRAMP_NONE };
	return !reg || tramp_count_take(c, flow, reg, (struct tramp_kept){ .edge = TRAMP_NONE, .trips = c->loops[loop].trips, .loop = loop });
}

enum tramp_code_status tramp_count_trips(struct tramp_counts *c, const struct tramp_flow *flow)
{
	size_t tables, exits = 0;

	if (!flow->nloops || (flow->flags & (TRAMP_FLOW_OVERLAP | TRAMP_FLOW_UNSURE)) || !look(c, flow))
		return TRAMP_CODE_OK;
	tables = count_tables(flow);
	for (uint32_t l = 0; l < flow->nloops; l++) {
		if (c->loops[l].switches && exits + tables > MOST_TABLE_EXITS)
			c->loops[l].unseen = true;
		if (c->loops[l].unseen)
			continue;
		exits += c->loops[l].switches ? tables : 0;
		if (!add(c, flow, l))
			return TRAMP_CODE_MEMORY;
	}
	return TRAMP_CODE_OK;
}

/* ---- where ---- */

typedef void (*step_fn)(void *arg, size_t trips, enum tramp_trips_step step);

static void step_if(const struct tramp_counts *c, uint32_t loop, enum tramp_trips_step what, step_fn step, void *arg)
{
	if (c->loops[loop].trips != TRAMP_NONE)
		step(arg, c->loops[loop].trips, what);
}

/* From block to block; @to TRAMP_NONE: out of the function, @from: into it. */
static void steps_of_way(const struct tramp_counts *c, const struct tramp_flow *flow, uint32_t from, uint32_t to, step_fn step, void *arg)
{
	uint32_t l;

	for (l = from == TRAMP_NONE ? TRAMP_NONE : flow->blocks[from].loop; l != TRAMP_NONE && !tramp_flow_in_loop(flow, to, l); l = parent_of(flow, l))
		step_if(c, l, TRAMP_TRIPS_LEAVE, step, arg);
	for (l = to == TRAMP_NONE ? TRAMP_NONE : flow->blocks[to].loop; l != TRAMP_NONE && !tramp_flow_in_loop(flow, from, l); l = parent_of(flow, l))
		step_if(c, l, TRAMP_TRIPS_ENTER, step, arg);
}

static void steps_of_table(const struct tramp_counts *c, const struct tramp_flow *flow, uint32_t to, step_fn step, void *arg)
{
	for (size_t k = 0; k < c->ntrips; k++)
		if (c->loops[c->trips[k].loop].switches && !tramp_flow_in_loop(flow, to, c->trips[k].loop))
			step(arg, k, TRAMP_TRIPS_MAY_LEAVE);
}

void tramp_count_steps(const struct tramp_counts *c, const struct tramp_flow *flow, const struct tramp_edge *e, step_fn step, void *arg)
{
	switch (e->kind) {
	case TRAMP_EDGE_IN:
		if (flow->blocks[e->to].flags & TRAMP_BLOCK_TABLE)
			steps_of_table(c, flow, e->to, step, arg);
		if (flow->blocks[e->to].flags & TRAMP_BLOCK_RETURN)
			steps_of_way(c, flow, caller_of(flow, e->to), e->to, step, arg);
		else if (e->to == flow->entry)
			steps_of_way(c, flow, TRAMP_NONE, e->to, step, arg);
		break;
	case TRAMP_EDGE_OUT:
		if (flow->blocks[e->from].ends == TRAMP_END_TAIL_JCC)
			steps_of_way(c, flow, e->from, TRAMP_NONE, step, arg);
		break;
	case TRAMP_EDGE_LOST:
		break;
	default:
		steps_of_way(c, flow, e->from, e->to, step, arg);
	}
}
