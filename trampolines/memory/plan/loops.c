// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Values that are wanted in a loop, and stay known in it, are stored on the ways into it; outer loops first,
 * so that inner ones find them known.
 *
 * Where a loop calls something, nothing is known behind the call.  If the loop can also be run through
 * without, the call's return counts as a way into the loop.
 */
#include "trampolines/memory/plan/passes.h"

/* So many can be stored with a register left for the pointer. */
enum { VALUES_MAX = 13 };

/* Is there a way around the loop that control does not leave the copies on? */
static bool runs_through(struct mp *p, uint32_t loop, bool *memory)
{
	uint32_t head = p->flow->loops[loop].head, n = p->flow->nblocks;
	size_t depth = 0;
	uint32_t *seen, *stack;

	*memory = mp_reserve(p, &p->stack, 2 * (size_t)n + 2);
	if (!*memory)
		return false;
	stack = p->stack.v;
	seen = p->stack.v + n + 1;
	for (uint32_t k = p->loop_at.v[loop]; k < p->loop_at.v[loop + 1]; k++)
		seen[p->members.v[k]] = 0;
	stack[depth++] = head;
	while (depth) {
		const struct mp_block *b = &p->blocks.v[stack[--depth]];

		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			uint32_t to = b->way[k] == TRAMP_NONE ? TRAMP_NONE : p->ways.v[b->way[k]].to;

			if (to == TRAMP_NONE || !mp_in_loop(p, to, loop))
				continue;
			if (to == head)
				return true;
			if (!seen[to]) {
				seen[to] = 1;
				stack[depth++] = to;
			}
		}
	}
	return false;
}

/* Do the ways back into the loop, from calls, count as ways in? */
static bool counts_returns(struct mp *p, uint32_t loop, bool *memory)
{
	uint32_t head = p->flow->loops[loop].head;
	float returns = 0;

	*memory = true;
	for (uint32_t k = p->loop_at.v[loop]; k < p->loop_at.v[loop + 1]; k++) {
		uint32_t i = p->members.v[k];

		if (i == head || !p->blocks.v[i].outside || p->blocks.v[i].polled)
			continue;
		if (p->flow->blocks[i].flags & TRAMP_BLOCK_TABLE)
			return false;
		returns += p->blocks.v[i].freq;
	}
	return returns > 0 && returns < 0.7f * p->blocks.v[head].freq && runs_through(p, loop, memory);
}

static uint16_t limited(mp_set values)
{
	while (__builtin_popcount(values) > VALUES_MAX)
		values &= values - 1;
	return (uint16_t)values;
}

bool mp_store_on(struct mp *p, struct mp_way *w, mp_set values)
{
	mp_set known = w->values;

	if (w->from != TRAMP_NONE)
		known |= p->blocks.v[w->from].real.out.known;
	values &= TRAMP_GPRS;
	w->values = limited(w->values | (values & ~known));
	return values & ~known;
}

static bool store_values(struct mp *p, uint32_t loop, bool returns)
{
	uint32_t head = p->flow->loops[loop].head;
	const struct mp_block *b = &p->blocks.v[head];
	bool any = false;

	for (uint32_t k = 0; k < b->npreds; k++) {
		struct mp_way *w = &p->ways.v[p->preds.v[b->pred + k]];

		if (w->from == TRAMP_NONE ? !b->polled : !mp_in_loop(p, w->from, loop))
			any |= mp_store_on(p, w, b->want);
	}
	for (uint32_t k = p->loop_at.v[loop]; k < p->loop_at.v[loop + 1]; k++) {
		uint32_t i = p->members.v[k];

		if (i != head && p->blocks.v[i].outside && returns && !p->blocks.v[i].polled)
			any |= mp_store_on(p, &p->ways.v[p->blocks.v[i].elsewhere], p->blocks.v[i].want);
	}
	return any;
}

/* What is known in the loop now, and behind it. */
static bool know_anew(struct mp *p, uint32_t loop)
{
	uint32_t first = p->loop_at.v[loop], last = p->loop_at.v[loop + 1];

	mp_know_some(p, &p->members.v[first], last - first);
	for (uint32_t k = first; k < last; k++) {
		const struct mp_block *b = &p->blocks.v[p->members.v[k]];
		bool out = false;

		for (uint32_t e = MP_TARGET; e <= MP_NEXT; e++)
			out |= b->way[e] != TRAMP_NONE && !mp_in_loop(p, p->ways.v[b->way[e]].to, loop);
		if (out && !mp_know_more(p, p->members.v[k], loop))
			return false;
	}
	return true;
}

static bool hoist_loop(struct mp *p, uint32_t loop)
{
	bool memory, returns = counts_returns(p, loop, &memory);

	if (!memory)
		return false;
	mp_know_loop(p, loop, returns);
	mp_want_loop(p, loop);
	return !store_values(p, loop, returns) || know_anew(p, loop);
}

bool mp_hoist(struct mp *p)
{
	mp_know_all(p);
	if (!mp_rung(p, TRAMP_MEM_KNOWN) || !mp_rung(p, TRAMP_MEM_CHAINS))
		return true;
	for (uint32_t l = p->flow->nloops; l-- > 0;) {	/* outer loops come behind inner ones */
		if (!hoist_loop(p, l))
			return false;
	}
	mp_know_all(p);
	return true;
}
