// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which ways the reader knows to be taken, and so, which nodes need no header.
 *
 * A block that some ways lead to that are known, and some that are not, has a header if the latter are
 * taken more often; else EDGE nodes with headers stand on these.  They write less, but are more code: so
 * they are preferred in loops.
 */
#include "trampolines/memory/plan/passes.h"

static void set_end(struct mp *p, uint32_t i, uint8_t end)
{
	struct mp_block *b = &p->blocks.v[i];

	b->end = end;
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (b->way[k] != TRAMP_NONE)
			p->ways.v[b->way[k]].implied = end != MD_NEXT;
	}
}

/* Does the reader know which way the block's branch goes? */
static bool is_decided(const struct mp_block *b)
{
	return b->cond != MP_NO_COND && b->real.out.conds >> b->cond & 1;
}

static void choose_end(struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];
	uint8_t ends = p->flow->blocks[i].ends, end = MD_NEXT;

	if (!mp_rung(p, TRAMP_MEM_IMPLIED))
		end = MD_NEXT;
	else if (ends == TRAMP_END_JCC)
		end = is_decided(b) ? MD_IF : MD_NEXT;
	else if (ends == TRAMP_END_FALL || ends == TRAMP_END_JMP)
		end = b->way[MP_TARGET] != TRAMP_NONE || b->way[MP_NEXT] != TRAMP_NONE ? MD_GOTO : MD_NEXT;
	set_end(p, i, end);
}

static uint32_t goes_to(const struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];

	if (b->end != MD_GOTO)
		return TRAMP_NONE;
	return p->ways.v[b->way[b->way[MP_TARGET] != TRAMP_NONE ? MP_TARGET : MP_NEXT]].to;
}

/* A cycle of nothing but GOTOs would tell the reader nothing of how often it is run. */
static bool break_cycles(struct mp *p)
{
	uint32_t n = p->flow->nblocks;

	if (!mp_reserve(p, &p->stack, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		p->stack.v[i] = TRAMP_NONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		while (p->stack.v[at] == TRAMP_NONE) {
			uint32_t to = goes_to(p, at);

			p->stack.v[at] = i;
			if (to == TRAMP_NONE)
				break;
			if (p->stack.v[to] == i)
				set_end(p, at, MD_NEXT);
			else
				at = to;
		}
	}
	return true;
}

void mp_choose_header(const struct mp *p, uint32_t i)
{
	float weight = p->flow->blocks[i].loop == TRAMP_NONE ? 1 : 3;
	struct mp_block *b = &p->blocks.v[i];
	float known = 0, unknown = 0;
	bool any = false;

	for (uint32_t k = 0; k < b->npreds; k++) {
		const struct mp_way *w = &p->ways.v[p->preds.v[b->pred + k]];

		if (w->from == TRAMP_NONE && b->polled)
			continue;
		if (w->implied || w->values) {
			known += w->freq;
		} else {
			unknown += w->freq;
			any = true;
		}
	}
	b->header = !mp_rung(p, TRAMP_MEM_IMPLIED) || (any && !b->bare && unknown >= weight * known);
}

/* Is there a node in front of the way's end that has to have a header by itself? */
static bool meets_header(const struct mp *p, uint32_t way)
{
	return way != TRAMP_NONE && p->blocks.v[p->ways.v[way].to].header && !p->ways.v[way].values;
}

/* Where a header follows, at no cost, nothing has to be known. */
static void use_headers(struct mp *p, uint32_t i)
{
	const struct mp_block *b = &p->blocks.v[i];
	bool target = b->way[MP_TARGET] == TRAMP_NONE || meets_header(p, b->way[MP_TARGET]);
	bool next = b->way[MP_NEXT] == TRAMP_NONE || meets_header(p, b->way[MP_NEXT]);

	if (b->end != MD_NEXT && b->end != MD_PEEK && target && next)
		set_end(p, i, MD_NEXT);
}

bool mp_choose_headers(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		choose_end(p, i);
	if (!break_cycles(p))
		return false;
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		mp_choose_header(p, i);
	if (!mp_choose_paths(p))
		return false;
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		use_headers(p, i);
	return true;
}
