/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls, added up by the block that makes them and the function that is called.  Jumps from one function to another count as calls.
 *
 * Counters say how often a block was executed that ends with a call: its function is known if the instruction names it.  What a
 * function was entered oftener than that came from elsewhere.
 */
#include "launcher/blocks/counts-private.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "injector/image/symbols.h"

struct link {
	uint32_t from, block, to;
	bool used;
	uint64_t calls, costs[COUNTS_COSTS];
};

struct counts_calls {
	struct counts *c;
	const struct mt_blocks *b;
	const struct sonde_trace_rank *rank;
	struct counts_end *functions;	/* what each is; name NULL: not looked up yet */
	uint32_t *sorted;		/* functions by object and address */
	uint64_t *entered, *named;	/* by function: how often it was entered, and called by name */
	struct link *links;
	size_t n, room;
};

/* ---- functions ---- */

static bool is_before(const struct mt_block_function *f, uint32_t object, uint64_t addr)
{
	return f->object != object ? f->object < object : f->addr < addr;
}

static int by_place(const void *left, const void *right, void *arg)
{
	const struct mt_block_function *v = arg, *a = &v[*(const uint32_t *)left], *b = &v[*(const uint32_t *)right];

	return is_before(a, b->object, b->addr) ? -1 : is_before(b, a->object, a->addr);
}

/* MT_NO_BLOCK: it was not recorded. */
static uint32_t function_at(const struct counts_calls *calls, uint32_t object, uint64_t addr)
{
	const struct mt_block_function *v = calls->b->functions;
	size_t lo = 0, hi = calls->b->nfunctions;

	while (lo < hi) {
		size_t at = lo + (hi - lo) / 2;

		if (is_before(&v[calls->sorted[at]], object, addr))
			lo = at + 1;
		else
			hi = at;
	}
	if (lo == calls->b->nfunctions || v[calls->sorted[lo]].object != object || v[calls->sorted[lo]].addr != addr)
		return MT_NO_BLOCK;
	return calls->sorted[lo];
}

struct counts_calls *counts_calls_new(struct counts *c, const struct mt_blocks *b, const struct sonde_trace_rank *rank)
{
	struct counts_calls *calls = calloc(1, sizeof(*calls));
	size_t n = b->nfunctions + 1;

	if (!calls)
		return NULL;
	*calls = (struct counts_calls){ .c = c, .b = b, .rank = rank };
	calls->functions = calloc(n, sizeof(*calls->functions));
	calls->sorted = calloc(n, sizeof(*calls->sorted));
	calls->entered = calloc(n, sizeof(*calls->entered));
	calls->named = calloc(n, sizeof(*calls->named));
	if (!calls->functions || !calls->sorted || !calls->entered || !calls->named) {
		counts_calls_free(calls);
		return NULL;
	}
	for (uint32_t i = 0; i < b->nfunctions; i++)
		calls->sorted[i] = i;
	qsort_r(calls->sorted, b->nfunctions, sizeof(*calls->sorted), by_place, b->functions);
	return calls;
}

void counts_calls_free(struct counts_calls *calls)
{
	if (!calls)
		return;
	free(calls->functions);
	free(calls->sorted);
	free(calls->entered);
	free(calls->named);
	free(calls->links);
	free(calls);
}

/* ---- calls ---- */

static struct link *slot_of(const struct counts_calls *calls, const struct link *like)
{
	uint64_t hash = hash_word(((uint64_t)like->from << 32 | like->block) ^ hash_word(like->to));

	return &calls->links[hash_slot(i, calls->room, hash, !calls->links[i].used ||
				       (calls->links[i].from == like->from && calls->links[i].block == like->block &&
					calls->links[i].to == like->to))];
}

bool counts_calls_add(struct counts_calls *calls, uint32_t from, uint32_t block, uint32_t to, uint64_t n, const uint64_t *costs)
{
	struct link like = { .from = from, .block = block, .to = to, .used = true }, *link;

	if (!hash_grow(calls->links, calls->room, calls->n + 1, old, old->used, slot_of(calls, old)))
		return false;
	link = slot_of(calls, &like);
	if (!link->used) {
		*link = like;
		calls->n++;
	}
	link->calls += n;
	for (unsigned int i = 0; costs && i < COUNTS_COSTS; i++)
		link->costs[i] += costs[i];
	return true;
}

/* How often control went from the block to the function that its last instruction names. */
static uint64_t calls_from(const struct counts_solved *s, uint32_t block)
{
	uint64_t n = 0;

	switch (s->f->blocks[block].facts[BLOCK_FACT_NUMBERS]) {
	case TRAMP_END_CALL:
	case TRAMP_END_NORETURN:
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_FALL:
		return s->block[block];
	case TRAMP_END_TAIL_JCC:
		for (uint32_t i = 0; i < s->f->nedges; i++)
			if (s->f->edges[i].from == block && s->f->edges[i].to == MT_NO_BLOCK)
				n = s->edge[i] > n ? s->edge[i] : n;
		return n;
	default:
		return 0;
	}
}

bool counts_calls_of(struct counts_calls *calls, const struct counts_solved *s)
{
	const uint32_t index = (uint32_t)(s->f - calls->b->functions);

	for (uint32_t i = 0; i < s->f->nedges; i++) {
		const struct mt_block_edge *e = &s->f->edges[i];

		if (e->from == MT_NO_BLOCK && e->to != MT_NO_BLOCK && s->f->blocks[e->to].addr == s->f->addr)
			calls->entered[index] += s->edge[i];
	}
	for (uint32_t i = 0; i < s->f->nblocks; i++) {
		uint64_t n = calls_from(s, i), addr = s->f->blocks[i].facts[BLOCK_FACT_NUMBERS + 1];
		uint32_t to = n && addr ? function_at(calls, s->f->object, addr) : MT_NO_BLOCK;

		if (to == MT_NO_BLOCK)
			continue;
		calls->named[to] += n;
		if (!counts_calls_add(calls, index, i, to, n, NULL))
			return false;
	}
	return true;
}

/* ---- in the end ---- */

static void find_line(const struct counts_calls *calls, struct counts_end *end, uint32_t object, uint64_t addr)
{
	struct sonde_trace_place place = { 0 };

	mt_placed_find(calls->c->placed[calls->rank->index], object, addr, &place);
	end->file = place.file;
	end->line = place.file ? place.line : 0;
}

/* At its beginning.  False: no memory. */
static bool describe(struct counts_calls *calls, uint32_t function)
{
	struct counts_end *end = &calls->functions[function];
	struct counts_solved s = { .f = &calls->b->functions[function] };

	if (end->name)
		return true;
	if (!counts_describe(calls->c, &s, calls->rank))
		return false;
	*end = (struct counts_end){ .name = s.about.name, .path = s.about.path, .home = s.about.home };
	find_line(calls, end, s.f->object, s.f->addr);
	return true;
}

static bool add_call(struct counts_calls *calls, const struct link *link)
{
	struct counts *c = calls->c;
	struct counts_call call = { .from.path = "", .calls = link->calls };

	if (!describe(calls, link->to) || (link->from != MT_NO_BLOCK && !describe(calls, link->from)) ||
	    !array_room(c->calls, c->room_calls, c->ncalls + 1))
		return false;
	call.to = calls->functions[link->to];
	if (link->from != MT_NO_BLOCK) {
		const struct mt_block_function *f = &calls->b->functions[link->from];

		call.from = calls->functions[link->from];
		find_line(calls, &call.from, f->object, f->blocks[link->block].addr);
	}
	for (unsigned int i = 0; i < COUNTS_COSTS; i++)
		call.costs[i] = link->costs[i];
	c->calls[c->ncalls++] = call;
	return true;
}

bool counts_calls_end(struct counts_calls *calls)
{
	bool good = true;

	for (uint32_t i = 0; i < calls->b->nfunctions && good; i++)
		if (calls->entered[i] > calls->named[i])
			good = counts_calls_add(calls, MT_NO_BLOCK, MT_NO_BLOCK, i, calls->entered[i] - calls->named[i], NULL);
	for (size_t i = 0; i < calls->room && good; i++)
		good = !calls->links[i].used || add_call(calls, &calls->links[i]);
	return good;
}
