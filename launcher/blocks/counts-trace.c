/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts from the order of blocks, where that was recorded (`sonde --blocks=trace'): an edge is two blocks in a row in one signal
 * handler, or outside of any.
 *
 * How often each entry of a loop went round it is known as well.  A function that is called in a loop may enter the same loop again, in
 * recursion; so what is known of the loops around a call is put aside at the call, and taken back where control comes to the block
 * after it.
 */
#include "launcher/blocks/counts-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "launcher/common/message.h"
#include "launcher/memory/memtrace.h"
#include "launcher/trace/holds.h"

enum {
	LOOKED_THROUGH = 256,	/* calls that have not returned, for that which does */
	MOST_CALLS = 1 << 20,	/* that are remembered */
};

/* A block, by its place in all functions; edges and loops likewise. */
struct spot {
	uint32_t function;
	uint32_t to[2], edge[2];	/* within the function; MT_NO_BLOCK: none */
	uint64_t distance[2];	/* to[] is so far from it */
	uint32_t in, out;	/* edges from and to outside; likewise */
	uint32_t loop;		/* the innermost that it is in */
	uint32_t head;		/* the loop whose head it is */
	bool calls, returns;	/* it ends with a call; one may return to it */
	bool back[2];		/* edge[] stays in the loop whose head it leads to */
	bool back_in;		/* likewise, by the return of a call */
	uint64_t addr, end;
	uint64_t costs[COUNTS_COSTS];
};

struct known {
	uint64_t insn;		/* address in the program; 0: a free slot */
	uint32_t spot;		/* MT_NO_BLOCK: nothing is known of it */
};

/* A call in loops, or what a handler interrupted there. */
struct call {
	uint32_t spot;
	uint32_t first;		/* of put_aside: iterations of the loop that it is in, and of those around it */
	bool handler;
};

struct counts_tracer {
	struct counts *c;
	struct mt_blocks *b;
	struct mt_read *read;
	const struct sonde_trace_rank *rank;
	uint32_t *block_at, *edge_at, *loop_at;	/* by function: the first of its own */
	struct spot *spots;
	struct mt_blocks_index *index;
	uint32_t nspots, nedges, nloops;
	uint64_t *blocks, *edges;	/* counts */
	struct counts_trips *trips;	/* by loop */
	uint32_t *parents;		/* likewise; MT_NO_BLOCK: none */
	struct known *known;
	size_t room_known, nknown;
	/* of a thread */
	uint32_t last;			/* spot; MT_NO_BLOCK: none, or not known */
	uint64_t last_insn;
	uint64_t *running;		/* by loop: iterations since it was entered; 0: it is not */
	struct call *calls;
	size_t ncalls, room_calls;
	uint64_t *put_aside;
	size_t naside, room_aside;
	uint64_t before;
	struct counts_stack stack;	/* its calls are NULL if they are not wanted */
	bool failed;			/* no memory */
};

/* ---- what the trace says of control flow ---- */

static void add_edge(struct spot *spots, uint32_t nblocks, const struct mt_block_edge *e, uint32_t index)
{
	struct spot *from = e->from < nblocks ? &spots[e->from] : NULL;

	if (!from && e->to < nblocks)
		spots[e->to].in = index;
	else if (from && e->to >= nblocks && from->out == MT_NO_BLOCK)
		from->out = index;
	else if (from && e->to < nblocks) {
		unsigned int k = from->edge[0] != MT_NO_BLOCK;

		from->to[k] = e->to;
		from->edge[k] = index;
	}
}

static bool is_within(const struct counts_tracer *t, uint32_t loop, uint32_t outer)
{
	while (loop != MT_NO_BLOCK && loop != outer)
		loop = t->parents[loop];
	return loop == outer;
}

/* Indices of a function's own become those of all. */
static void add_function(struct counts_tracer *t, uint32_t index)
{
	const struct mt_block_function *f = &t->b->functions[index];
	struct spot *spots = t->spots + t->block_at[index];

	for (uint32_t i = 0; i < f->nloops; i++)
		t->parents[t->loop_at[index] + i] =
			f->loops[i].parent < f->nloops ? t->loop_at[index] + f->loops[i].parent : MT_NO_BLOCK;
	for (uint32_t i = 0; i < f->nblocks; i++) {
		spots[i] = (struct spot){
			.function = index, .to = { MT_NO_BLOCK, MT_NO_BLOCK }, .edge = { MT_NO_BLOCK, MT_NO_BLOCK },
			.in = MT_NO_BLOCK, .out = MT_NO_BLOCK, .head = MT_NO_BLOCK,
			.loop = f->blocks[i].loop < f->nloops ? t->loop_at[index] + f->blocks[i].loop : MT_NO_BLOCK,
			.calls = f->blocks[i].facts[BLOCK_FACT_NUMBERS] == TRAMP_END_CALL,
			.addr = f->blocks[i].addr, .end = f->blocks[i].addr + f->blocks[i].size,
		};
		counts_costs(f->blocks[i].facts, spots[i].costs);
	}
	for (uint32_t i = 1; i < f->nblocks; i++)
		spots[i].returns = spots[i - 1].calls && spots[i - 1].end == spots[i].addr;
	for (uint32_t i = 0; i < f->nloops; i++)
		if (f->loops[i].head < f->nblocks) {
			spots[f->loops[i].head].head = t->loop_at[index] + i;
			spots[f->loops[i].head].back_in = counts_returns_within(f, i);
		}
	for (uint32_t i = 0; i < f->nedges; i++)
		add_edge(spots, f->nblocks, &f->edges[i], t->edge_at[index] + i);
	for (uint32_t i = 0; i < f->nblocks; i++)
		for (unsigned int k = 0; k < 2; k++) {
			const struct spot *to = spots[i].edge[k] == MT_NO_BLOCK ? NULL : &spots[spots[i].to[k]];

			spots[i].back[k] = to && to->head != MT_NO_BLOCK && is_within(t, spots[i].loop, to->head);
			spots[i].distance[k] = to ? to->addr - spots[i].addr : 0;
			spots[i].to[k] = to ? t->block_at[index] + spots[i].to[k] : MT_NO_BLOCK;
		}
}

static bool allocate(struct counts_tracer *t)
{
	size_t n = t->b->nfunctions + 1;

	t->block_at = calloc(n, sizeof(*t->block_at));
	t->edge_at = calloc(n, sizeof(*t->edge_at));
	t->loop_at = calloc(n, sizeof(*t->loop_at));
	if (!t->block_at || !t->edge_at || !t->loop_at)
		return false;
	for (size_t i = 0; i < t->b->nfunctions; i++) {
		t->block_at[i] = t->nspots;
		t->edge_at[i] = t->nedges;
		t->loop_at[i] = t->nloops;
		t->nspots += t->b->functions[i].nblocks;
		t->nedges += t->b->functions[i].nedges;
		t->nloops += t->b->functions[i].nloops;
	}
	t->spots = calloc(t->nspots + (size_t)1, sizeof(*t->spots));
	t->index = mt_blocks_index(t->b);
	t->blocks = calloc(t->nspots + (size_t)1, sizeof(*t->blocks));
	t->edges = calloc(t->nedges + (size_t)1, sizeof(*t->edges));
	t->trips = calloc(t->nloops + (size_t)1, sizeof(*t->trips));
	t->parents = calloc(t->nloops + (size_t)1, sizeof(*t->parents));
	t->running = calloc(t->nloops + (size_t)1, sizeof(*t->running));
	return t->spots && t->index && t->blocks && t->edges && t->trips && t->parents && t->running;
}

/* ---- which block it is ---- */

static struct known *slot_of(const struct counts_tracer *t, uint64_t insn)
{
	return &t->known[hash_slot(i, t->room_known, hash_word(insn), !t->known[i].insn || t->known[i].insn == insn)];
}

static uint32_t look_up(const struct counts_tracer *t, uint64_t insn)
{
	uint32_t function, block;
	struct mt_where where;

	if (!mt_read_where(t->read, insn, &where) || !where.object ||
	    !mt_blocks_find(t->index, where.object->id, where.place.address, &function, &block))
		return MT_NO_BLOCK;
	return t->block_at[function] + block;
}

static uint32_t spot_of(struct counts_tracer *t, uint64_t insn)
{
	struct known *slot;

	if (!insn)
		return MT_NO_BLOCK;
	if (!hash_grow(t->known, t->room_known, t->nknown + 1, old, old->insn, slot_of(t, old->insn))) {
		t->failed = true;
		return MT_NO_BLOCK;
	}
	slot = slot_of(t, insn);
	if (!slot->insn) {
		*slot = (struct known){ insn, look_up(t, insn) };
		t->nknown++;
	}
	return slot->spot;
}

/* Where the block begins that holds an instruction. */
static uint64_t beginning(const struct counts_tracer *t, uint64_t insn, uint32_t spot)
{
	struct mt_where where;

	if (spot == MT_NO_BLOCK || !mt_read_where(t->read, insn, &where))
		return insn;
	return insn - (where.place.address - t->spots[spot].addr);
}

/* ---- loops ---- */

static void left_loop(struct counts_tracer *t, uint32_t loop)
{
	counts_trips_add(&t->trips[loop], t->running[loop]);
	t->running[loop] = 0;
}

/* The loops around a block are put aside. */
static void put_aside(struct counts_tracer *t, uint32_t spot, bool handler)
{
	struct call call = { .spot = spot, .first = (uint32_t)t->naside, .handler = handler };

	if (t->spots[spot].loop == MT_NO_BLOCK || t->ncalls >= MOST_CALLS)
		return;
	for (uint32_t l = t->spots[spot].loop; l != MT_NO_BLOCK; l = t->parents[l]) {
		if (!array_room(t->put_aside, t->room_aside, t->naside + 1)) {
			t->failed = true;
			return;
		}
		t->put_aside[t->naside++] = t->running[l];
		t->running[l] = 0;
	}
	if (array_room(t->calls, t->room_calls, t->ncalls + 1))
		t->calls[t->ncalls++] = call;
	else
		t->failed = true;
}

/* How control comes back. */
enum back { BACK_RETURN, BACK_HANDLER, BACK_EXCEPTION };

/* Does control come back there from the call, or to what was interrupted? */
static bool comes_back(const struct counts_tracer *t, const struct call *call, uint32_t spot, enum back how)
{
	const struct spot *from = &t->spots[call->spot], *to = &t->spots[spot];

	if (call->handler || how == BACK_HANDLER)
		return call->handler && how == BACK_HANDLER && call->spot == spot;
	return from->function == to->function && (how == BACK_EXCEPTION || from->end == to->addr);
}

/* Control is where the call was made. */
static void go_on(struct counts_tracer *t, const struct call *call)
{
	uint32_t at = call->first;

	for (uint32_t l = t->spots[call->spot].loop; l != MT_NO_BLOCK; l = t->parents[l]) {
		left_loop(t, l);
		t->running[l] = t->put_aside[at++];
	}
}

static void take_back(struct counts_tracer *t, uint32_t spot, enum back how)
{
	for (size_t i = t->ncalls; i-- > 0 && t->ncalls - i <= LOOKED_THROUGH;) {
		if (!comes_back(t, &t->calls[i], spot, how))
			continue;
		go_on(t, &t->calls[i]);
		t->naside = t->calls[i].first;
		t->ncalls = i;
		return;
	}
}

/* Also those around calls that did not return. */
static void leave_all_loops(struct counts_tracer *t)
{
	while (t->ncalls)
		go_on(t, &t->calls[--t->ncalls]);
	t->naside = 0;
	for (uint32_t i = 0; i < t->nloops; i++)
		left_loop(t, i);
}

/* ---- calls ---- */

/* NULL: not known. */
static const struct counts_at *at_spot(const struct counts_tracer *t, uint32_t spot, struct counts_at *at)
{
	const struct spot *s = &t->spots[spot];
	const struct mt_block_function *f;

	if (spot == MT_NO_BLOCK)
		return NULL;
	f = &t->b->functions[s->function];
	*at = (struct counts_at){
		.function = s->function, .block = spot - t->block_at[s->function], .entry = s->addr == f->addr, .returns = s->returns,
	};
	at->ends = (uint8_t)f->blocks[at->block].facts[BLOCK_FACT_NUMBERS];
	return at;
}

static void go_between(struct counts_tracer *t, uint32_t from, uint32_t to)
{
	struct counts_at last, next;

	if (t->stack.calls && at_spot(t, to, &next))
		counts_stack_go(&t->stack, at_spot(t, from, &last), &next);
}

static void resume(struct counts_tracer *t, uint32_t to)
{
	struct counts_at at;

	if (t->stack.calls)
		counts_stack_resume(&t->stack, at_spot(t, to, &at));
}

/* ---- from block to block ---- */

/* @back: from within the loop whose head it is, if it is one. */
static void enter_block(struct counts_tracer *t, uint32_t spot, bool back)
{
	uint32_t loop = t->spots[spot].head;

	t->blocks[spot]++;
	for (unsigned int k = 0; t->stack.calls && k < COUNTS_COSTS; k++)
		t->stack.now[k] += t->spots[spot].costs[k];
	if (loop == MT_NO_BLOCK)
		return;
	if (!back)
		left_loop(t, loop);
	t->running[loop]++;
}

static void go_out(struct counts_tracer *t, uint32_t spot)
{
	if (spot == MT_NO_BLOCK)
		return;
	if (t->spots[spot].out != MT_NO_BLOCK)
		t->edges[t->spots[spot].out]++;
	if (t->spots[spot].calls)
		put_aside(t, spot, false);
}

/* To a place that is neither the function's beginning, nor where calls return, nor where a jump of its own leads: a landing pad. */
static bool by_exception(const struct counts_tracer *t, uint32_t from, const struct spot *to)
{
	const struct spot *last = from == MT_NO_BLOCK ? NULL : &t->spots[from];

	return to->addr != t->b->functions[to->function].addr && (!last || last->function != to->function || last->calls);
}

static void come_in(struct counts_tracer *t, uint32_t from, uint32_t spot)
{
	if (t->spots[spot].in != MT_NO_BLOCK)
		t->edges[t->spots[spot].in]++;
	if (t->spots[spot].returns)
		take_back(t, spot, BACK_RETURN);
	else if (by_exception(t, from, &t->spots[spot]))
		take_back(t, spot, BACK_EXCEPTION);
	enter_block(t, spot, t->spots[spot].back_in);
}

static void step(struct counts_tracer *t, uint64_t insn)
{
	const uint32_t last = t->last;
	uint32_t spot = MT_NO_BLOCK;

	for (unsigned int k = 0; last != MT_NO_BLOCK && k < 2; k++) {
		const struct spot *s = &t->spots[last];

		if (s->edge[k] == MT_NO_BLOCK || s->distance[k] != insn - t->last_insn)
			continue;
		t->edges[s->edge[k]]++;
		enter_block(t, s->to[k], s->back[k]);
		t->last = s->to[k];
		t->last_insn = insn;
		return;
	}
	spot = spot_of(t, insn);
	go_between(t, last, spot);
	go_out(t, last);
	if (spot != MT_NO_BLOCK)
		come_in(t, last, spot);
	t->last = spot;
	t->last_insn = insn;
}

/* A handler begins, or ends; or recording does, or something is missing. */
static void go_elsewhere(struct counts_tracer *t)
{
	uint32_t back = spot_of(t, t->before);

	if (!t->before && t->stack.calls)
		counts_stack_interrupt(&t->stack);
	else
		resume(t, back);
	if (t->last != MT_NO_BLOCK && !t->before)
		put_aside(t, t->last, true);
	if (back != MT_NO_BLOCK)
		take_back(t, back, BACK_HANDLER);
	t->last = back;
	t->last_insn = beginning(t, t->before, back);
	t->before = t->last_insn;
}

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct counts_tracer *t = arg;

	if (!n)
		counts_stack_end(&t->stack); /* recording was off */
	if (n && t->before != t->last_insn)
		go_elsewhere(t);
	for (size_t i = 0; i < n && !t->failed; i++)
		step(t, v[i].insn);
	t->failed |= t->stack.failed;
	return !t->failed;
}

/* ---- a rank ---- */

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct counts_tracer *t = arg;
	bool none;

	t->read = read;
	t->rank = rank;
	t->b = mt_blocks_of(t->c->trace, rank, &none);
	t->c->placed[rank->index] = mt_placed_of(t->c->trace, rank);
	if (!t->b && none)
		msg_error("%s: the trace does not say which blocks functions have: the recorder was killed; `sonde dump --blocks' shows "
			  "those that were executed", rank->dir);
	if (!t->b && none)
		return EXIT_USAGE;
	if (!t->b || !t->c->placed[rank->index] || !allocate(t))
		return no_memory();
	t->c->damage += t->b->damage;
	if (t->c->o->calls && !(t->stack.calls = counts_calls_new(t->c, t->b, rank)))
		return no_memory();
	for (uint32_t i = 0; i < t->b->nfunctions; i++)
		add_function(t, i);
	return 0;
}

/* Rows of what was counted, which is nothing then. */
static bool add_counts(struct counts_tracer *t, const char *thread)
{
	struct counts_solved s = { .placed = t->c->placed[t->rank->index] };
	bool good = true;

	for (uint32_t i = 0; i < t->b->nfunctions && good; i++) {
		s.f = &t->b->functions[i];
		s.edge = t->edges + t->edge_at[i];
		s.block = t->blocks + t->block_at[i];
		s.trips = t->trips + t->loop_at[i];
		good = counts_add_function(t->c, &s, t->rank, thread);
	}
	memset(t->edges, 0, t->nedges * sizeof(*t->edges));
	memset(t->blocks, 0, t->nspots * sizeof(*t->blocks));
	memset(t->trips, 0, t->nloops * sizeof(*t->trips));
	return good;
}

static int read_thread(void *arg, const struct memtrace_thread *chosen)
{
	struct counts_tracer *t = arg;
	struct memtrace_thread thread = *chosen;
	const char *name;

	thread.before = &t->before;
	t->last = MT_NO_BLOCK;
	t->last_insn = 0;
	t->ncalls = t->naside = 0;
	t->c->damage += memtrace_accesses(&thread, take, t);
	counts_stack_end(&t->stack);
	go_out(t, t->last);
	leave_all_loops(t);
	if (t->failed || t->stack.failed)
		return no_memory();
	if (t->c->o->by != COUNTS_BY_THREAD)
		return 0;
	name = counts_name_thread(t->c, t->rank, thread.about.pid, thread.about.tid);
	return name && add_counts(t, name) ? 0 : no_memory();
}

static int end_threads(void *arg)
{
	struct counts_tracer *t = arg;

	if (t->stack.cut)
		msg_warn("calls are deeper than is looked at: inclusive costs of %" PRIu64 " end too early", t->stack.cut);
	if (t->stack.calls && !counts_calls_end(t->stack.calls))
		return no_memory();
	return t->c->o->by == COUNTS_BY_THREAD || add_counts(t, NULL) ? 0 : no_memory();
}

static void end_rank(void *arg)
{
	struct counts_tracer *t = arg;

	counts_calls_free(t->stack.calls);
	counts_stack_free(&t->stack);
	if (t->b)
		mt_blocks_free(t->b);
	free(t->block_at);
	free(t->edge_at);
	free(t->loop_at);
	free(t->spots);
	mt_blocks_index_free(t->index);
	free(t->blocks);
	free(t->edges);
	free(t->trips);
	free(t->parents);
	free(t->running);
	free(t->known);
	free(t->calls);
	free(t->put_aside);
	*t = (struct counts_tracer){ .c = t->c };
}

int counts_read_trace(struct counts *c, const char *dir)
{
	struct counts_tracer t = { .c = c };
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = read_thread, .done = end_threads, .end = end_rank, .arg = &t,
		.progress = "reading blocks",
	};
	struct memtrace trace;

	memtrace_use(c->trace, &c->o->pick, &trace);
	trace.order = true;
	if (!trace.threads) {
		msg_error("%s: no blocks of these threads were recorded", dir);
		return EXIT_USAGE;
	}
	holds_warn_without_end(c->trace, dir);
	return memtrace_visit(&trace, &visitor);
}
