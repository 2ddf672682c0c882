/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often each edge and block of a function was executed: from counters, which are of some edges only. */
#include "launcher/blocks/counts-private.h"

#include <string.h>

#include "base/array.h"

/* What cannot be, since a thread has not come out of a block, is nothing. */
static uint64_t not_negative(uint64_t n)
{
	return n >> 63 ? 0 : n;
}

static uint32_t block_at(const struct mt_block_function *f, uint64_t addr)
{
	for (uint32_t i = 0; i < f->nblocks; i++)
		if (addr - f->blocks[i].addr < f->blocks[i].size)
			return i;
	return MT_NO_BLOCK;
}

/* @sign: 1 before it is solved, -1 afterwards. */
static void correct(const struct counts_solved *s, const struct mt_block_left *left, uint32_t block, int sign)
{
	for (uint32_t i = 0; i < s->f->nedges; i++) {
		const struct mt_block_edge *e = &s->f->edges[i];
		uint64_t by = (uint64_t)(sign * left->net);

		if (e->counter == MT_NO_BLOCK || e->at != block)
			continue;
		/* come into, and not counted yet; or counted, and not left by it */
		if (e->to == block && e->before > left->addr)
			s->counters[e->counter] += by;
		if (e->from == block && e->before <= left->addr)
			s->counters[e->counter] -= by;
	}
}

/* Where threads were interrupted and did not go on is a way out of the function; where they went on, one into it. */
static bool add_left(struct counts_solved *s, size_t *n, size_t counters)
{
	for (size_t i = 0; i < s->nleft; i++) {
		const struct mt_block_left *left = &s->left[i];
		uint32_t block = left->object == s->f->object ? block_at(s->f, left->addr) : MT_NO_BLOCK;

		if (block == MT_NO_BLOCK)
			continue;
		if (!array_room(s->edges, s->room_edges, *n + 1) || !array_room(s->edge, s->room_edge, *n + 1))
			return false;
		s->counters[counters + i] = (uint64_t)left->net;
		s->edges[(*n)++] = (struct tramp_edge){ .from = block, .to = TRAMP_NONE, .counter = (uint32_t)(counters + i) };
		correct(s, left, block, 1);
	}
	return true;
}

static void forget_left(const struct counts_solved *s)
{
	for (size_t i = 0; i < s->nleft; i++) {
		uint32_t block = s->left[i].object == s->f->object ? block_at(s->f, s->left[i].addr) : MT_NO_BLOCK;

		if (block != MT_NO_BLOCK)
			correct(s, &s->left[i], block, -1);
	}
}

bool counts_prepare(struct counts_solved *s)
{
	size_t nodes = s->f->nblocks + (size_t)1;

	if (!array_room(s->edges, s->room_edges, s->f->nedges + (size_t)1) ||
	    !array_room(s->edge, s->room_edge, s->f->nedges + (size_t)1) ||
	    !array_room(s->block, s->room_block, nodes) || !array_room(s->work, s->room_work, 4 * nodes))
		return false;
	for (uint32_t i = 0; i < s->f->nedges; i++) {
		const struct mt_block_edge *e = &s->f->edges[i];

		s->edges[i] = (struct tramp_edge){ .from = e->from, .to = e->to, .counter = e->counter };
	}
	return true;
}

_Static_assert(MT_NO_BLOCK == TRAMP_NONE, "no block");

bool counts_solve(struct counts_solved *s, size_t counters)
{
	const struct mt_block_function *f = s->f;
	size_t n = f->nedges;
	bool any = add_left(s, &n, counters) && tramp_count_solve(s->edges, n, f->nblocks, s->counters, s->edge, s->work);

	forget_left(s);
	if (!any)
		return false;
	any = false;
	memset(s->block, 0, f->nblocks * sizeof(*s->block));
	for (uint32_t i = 0; i < f->nedges; i++) {
		s->edge[i] = not_negative(s->edge[i]);
		if (f->edges[i].to != MT_NO_BLOCK)
			s->block[f->edges[i].to] += s->edge[i];
		any |= s->edge[i] != 0;
	}
	return any;
}
