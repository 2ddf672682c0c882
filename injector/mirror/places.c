// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>

#include "base/array.h"
#include "injector/mirror/mirrors.h"

/* Blocks follow each other by address; those of one loop mostly become one range. */
static void add_range(struct inj_places *p, uint64_t lo, uint64_t hi, uint32_t loop, size_t first)
{
	struct inj_place_range *last = p->nranges > first ? &p->ranges[p->nranges - 1] : NULL;

	if (last && last->hi == lo && last->loop == loop)
		last->hi = hi;
	else
		p->ranges[p->nranges++] = (struct inj_place_range){ lo, hi, loop };
}

static bool add_loops(struct inj_places *p, const struct tramp_flow *flow)
{
	uint64_t base = tramp_code_base(flow->code);
	size_t first_loop = p->nloops, first_range = p->nranges;

	if (!flow->nloops)
		return true;
	if (!array_room(p->loops, p->room_loops, p->nloops + flow->nloops) ||
	    !array_room(p->ranges, p->room_ranges, p->nranges + flow->nblocks))
		return false;
	for (uint32_t i = 0; i < flow->nloops; i++) {
		const struct tramp_block *head = &flow->blocks[flow->loops[i].head];

		p->loops[p->nloops++] = (struct inj_place_loop){ base + head->start, head->loop_depth };
	}
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];

		if (b->loop != TRAMP_NONE)
			add_range(p, base + b->start, base + b->end, (uint32_t)first_loop + b->loop, first_range);
	}
	return true;
}

enum inj_status inj_places_add(struct inj_places *p, const struct tramp_flow *flow)
{
	if (!p->added)
		p->added = calloc(tramp_code_facts(flow->code)->nfns, sizeof(*p->added));
	if (!p->added || !add_loops(p, flow))
		return INJ_MEMORY;
	p->added[flow->fn] = true;
	return INJ_OK;
}

static int by_address(const void *a, const void *b)
{
	const struct inj_place_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool list_functions(struct inj_places *p, const struct tramp_code *code)
{
	const struct tramp_facts *facts = tramp_code_facts(code);

	p->fns = calloc(facts->nfns, sizeof(*p->fns));
	if (!p->fns)
		return false;
	for (size_t i = 0; i < facts->nfns; i++) {
		uint32_t owner = tramp_code_function(code, facts->fns[i].addr);

		if (owner != TRAMP_NONE && p->added[owner])
			p->fns[p->nfns++] = (uint32_t)i;
	}
	free(p->added);
	p->added = NULL;
	return true;
}

enum inj_status inj_places_keep(struct inj_mirrors *m, struct inj_places *p, const struct tramp_code *code)
{
	struct inj_places *v;

	if (!p->added)
		return INJ_OK;
	v = reallocarray(m->places, m->nplaces + 1, sizeof(*v));
	if (v)
		m->places = v;
	if (!v || !list_functions(p, code))
		return INJ_MEMORY;
	if (p->nranges)
		qsort(p->ranges, p->nranges, sizeof(*p->ranges), by_address);
	v[m->nplaces++] = *p;
	*p = (struct inj_places){ .object = p->object };
	return INJ_OK;
}

void inj_places_free(struct inj_places *p)
{
	free(p->added);
	free(p->fns);
	free(p->loops);
	free(p->ranges);
	*p = (struct inj_places){ 0 };
}
