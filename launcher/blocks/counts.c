/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/blocks/counts-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/image/symbols.h"
#include "launcher/blocks/blocks.h"
#include "launcher/common/message.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "launcher/trace/holds.h"

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

/* Keeps a string that was allocated; NULL: no memory. */
static const char *keep(struct counts *c, char *text)
{
	if (!text || !array_room(c->texts, c->room_texts, c->ntexts + 1)) {
		free(text);
		return NULL;
	}
	return c->texts[c->ntexts++] = text;
}

/* Of some threads. */
struct sum {
	uint64_t *counters;	/* [n + nleft]: the latter are for each of left */
	size_t n;
	struct counts_trips *trips; /* [ntrips]: by function and loop */
	size_t ntrips;
	struct mt_block_left *left;
	size_t nleft, room_left, room_counters;
};

static uint64_t counter_of(const struct mt_block_thread *t, uint32_t first, enum mt_trips word)
{
	return first + (uint64_t)word < t->n ? t->counts[first + (uint64_t)word] : 0;
}

/* The exit of what was still running when the thread ended is not waited for. */
static void add_loop(struct counts_trips *trips, const struct mt_block_thread *t, uint32_t first)
{
	counts_trips_add(trips, counter_of(t, first, MT_TRIPS_MOST));
	counts_trips_add(trips, counter_of(t, first, MT_TRIPS_LEAST));
	counts_trips_add(trips, counter_of(t, first, MT_TRIPS_RUNNING));
	trips->unknown |= counter_of(t, first, MT_TRIPS_UNKNOWN) != 0;
}

static void add_loops(struct sum *sum, const struct mt_blocks *b, const struct mt_block_thread *t)
{
	struct counts_trips *trips = sum->trips;

	for (size_t i = 0; i < b->nfunctions; i++)
		for (uint32_t l = 0; l < b->functions[i].nloops; l++, trips++)
			if (b->functions[i].loops[l].trips != MT_NO_BLOCK)
				add_loop(trips, t, b->functions[i].loops[l].trips);
}

static bool add_up(struct sum *sum, const struct mt_blocks *b, const struct mt_block_thread *t)
{
	if (!array_room(sum->left, sum->room_left, sum->nleft + t->nleft + 1) ||
	    !array_room(sum->counters, sum->room_counters, sum->n + sum->nleft + t->nleft + 1))
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		sum->counters[i] += t->counts[i];
	for (uint32_t i = 0; i < t->nleft; i++)
		sum->left[sum->nleft++] = t->left[i];
	add_loops(sum, b, t);
	return true;
}

static bool begin_sum(struct sum *sum, size_t n)
{
	sum->nleft = 0;
	sum->n = n;
	if (!array_room(sum->counters, sum->room_counters, n + 1))
		return false;
	memset(sum->counters, 0, n * sizeof(*sum->counters));
	memset(sum->trips, 0, sum->ntrips * sizeof(*sum->trips));
	return true;
}

static const struct sonde_trace_object *object_of(const struct sonde_trace *trace, const struct sonde_trace_rank *rank, uint32_t id)
{
	for (size_t i = 0; i < sonde_trace_objects(trace); i++) {
		const struct sonde_trace_object *o = sonde_trace_object(trace, i);

		if (o->rank_index == rank->index && o->id == id)
			return o;
	}
	return NULL;
}

/* Its name, and where it is.  False: no memory. */
static bool describe(struct counts *c, struct counts_solved *s)
{
	struct sonde_trace_place place = { 0 };
	const char *symbol;
	char *plain;

	mt_placed_find(s->placed, s->f->object, s->f->addr, &place);
	symbol = place.function ? place.function : "?";
	plain = c->o->mangled ? NULL : inj_demangle(symbol);
	s->about = (struct counts_row){
		.name = plain ? keep(c, plain) : symbol,
		.path = s->object ? s->object->path : "",
		.home = place.file,
		.hash = s->object ? blocks_hash(s->object->build_id, s->object->code) : 0,
	};
	return s->about.name != NULL;
}

bool counts_describe(struct counts *c, struct counts_solved *s, const struct sonde_trace_rank *rank)
{
	s->placed = c->placed[rank->index];
	s->object = object_of(c->trace, rank, s->f->object);
	return describe(c, s);
}

static bool is_wanted(const struct counts *c, const struct counts_solved *s)
{
	const char *names[1] = { s->about.name };
	struct sonde_trace_place place = { 0 };
	struct select_function fn = { .addr = s->f->addr, .names = names, .nnames = 1 };

	if (!c->select)
		return true;
	mt_placed_find(s->placed, s->f->object, s->f->addr, &place);
	if (place.function)
		names[0] = place.function;
	fn.size = place.size;
	return select_wants_in(c->select, s->about.path, &fn);
}

bool counts_add_function(struct counts *c, struct counts_solved *s, const struct sonde_trace_rank *rank, const char *thread)
{
	bool any = false;

	for (uint32_t i = 0; i < s->f->nblocks && !any; i++)
		any = s->block[i] != 0;
	if (!any)
		return true;
	return counts_describe(c, s, rank) && (!is_wanted(c, s) || counts_add(c, s, thread));
}

static bool add_counters(struct counts *c, struct mt_blocks *b, const struct sonde_trace_rank *rank,
			 const struct sum *sum, const char *thread)
{
	struct counts_solved s = {
		.placed = c->placed[rank->index], .counters = sum->counters, .left = sum->left, .nleft = sum->nleft, .trips = sum->trips,
	};
	struct counts_calls *calls = c->o->calls ? counts_calls_new(c, b, rank) : NULL;
	bool good = calls || !c->o->calls;

	for (size_t i = 0; i < b->nfunctions && good; s.trips += b->functions[i++].nloops) {
		s.f = &b->functions[i];
		if (!s.object || s.object->id != s.f->object)
			s.object = object_of(c->trace, rank, s.f->object);
		good = counts_prepare(&s) && describe(c, &s);
		if (good && is_wanted(c, &s) && counts_solve(&s, sum->n))
			good = counts_add(c, &s, thread) && (!calls || counts_calls_of(calls, &s));
	}
	good = good && (!calls || counts_calls_end(calls));
	counts_calls_free(calls);
	free(s.edges);
	free(s.edge);
	free(s.block);
	free(s.work);
	return good;
}

static bool is_picked(const struct counts *c, const struct sonde_trace_rank *rank, const struct mt_block_thread *t)
{
	const struct sonde_trace_thread like = { .pid = t->pid, .tid = t->tid, .rank_index = rank->index };

	return pick_thread(&like, &c->o->pick);
}

static size_t count_loops(const struct mt_blocks *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->nfunctions; i++)
		n += b->functions[i].nloops;
	return n;
}

/* As many as are mentioned. */
static size_t count_counters(const struct mt_blocks *b)
{
	uint32_t n = 0;

	for (size_t i = 0; i < b->nthreads; i++)
		n = b->threads[i].n > n ? b->threads[i].n : n;
	for (size_t i = 0; i < b->nfunctions; i++)
		for (uint32_t k = 0; k < b->functions[i].nedges; k++) {
			uint32_t counter = b->functions[i].edges[k].counter;

			n = counter != MT_NO_BLOCK && counter >= n ? counter + 1 : n;
		}
	return n;
}

const char *counts_name_thread(struct counts *c, const struct sonde_trace_rank *rank, int pid, int tid)
{
	char *text;
	int n = rank->rank < 0 ? asprintf(&text, "%d.%d", pid, tid) : asprintf(&text, "rank %d, %d.%d", rank->rank, pid, tid);

	return n < 0 ? NULL : keep(c, text);
}

static bool add_threads(struct counts *c, struct mt_blocks *b, const struct sonde_trace_rank *rank)
{
	struct sum sum = { .ntrips = count_loops(b) };
	size_t n = count_counters(b);
	bool good;

	sum.trips = calloc(sum.ntrips + 1, sizeof(*sum.trips));
	good = sum.trips && begin_sum(&sum, n);

	for (size_t i = 0; i < b->nthreads && good; i++) {
		const struct mt_block_thread *t = &b->threads[i];
		const char *name;

		if (!is_picked(c, rank, t))
			continue;
		c->killed += t->killed;
		good = add_up(&sum, b, t);
		if (c->o->by != COUNTS_BY_THREAD || !good)
			continue;
		name = counts_name_thread(c, rank, t->pid, t->tid);
		good = name && add_counters(c, b, rank, &sum, name) && begin_sum(&sum, n);
	}
	if (good && c->o->by != COUNTS_BY_THREAD)
		good = add_counters(c, b, rank, &sum, NULL);
	free(sum.counters);
	free(sum.left);
	free(sum.trips);
	return good;
}

static int read_rank(struct counts *c, const struct sonde_trace_rank *rank, bool *any)
{
	bool none, good;
	struct mt_blocks *b = mt_blocks_of(c->trace, rank, &none);

	if (!b)
		return none ? 0 : no_memory();
	*any = true;
	c->placed[rank->index] = mt_placed_of(c->trace, rank);
	c->damage += b->damage;
	good = c->placed[rank->index] && add_threads(c, b, rank);
	mt_blocks_free(b);
	return good ? 0 : no_memory();
}

/* ---- all ---- */

static int by_work(const void *left, const void *right)
{
	const struct counts_row *a = left, *b = right;
	int order;

	if (a->facts[FACT_INSNS] != b->facts[FACT_INSNS])
		return a->facts[FACT_INSNS] > b->facts[FACT_INSNS] ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	order = strcmp(a->path, b->path);
	if (!order)
		order = a->addr < b->addr ? -1 : a->addr > b->addr;
	return order ? order : strcmp(a->name, b->name);
}

static int read_ranks(struct counts *c, const char *dir)
{
	size_t nranks = sonde_trace_ranks(c->trace);
	int status = 0;
	bool any = false;

	c->placed = calloc(nranks + 1, sizeof(*c->placed));
	if (!c->placed)
		return no_memory();
	if (holds_order(c->trace))
		status = counts_read_trace(c, dir);
	for (size_t i = 0; i < nranks && !status && !holds_order(c->trace); i++)
		status = read_rank(c, sonde_trace_rank(c->trace, i), &any);
	if (!status && !any && !holds_order(c->trace)) {
		msg_error("%s: no blocks were counted; `sonde record --blocks' does", dir);
		status = EXIT_USAGE;
	}
	if (!status)
		status = traced_check(c->select, dir, c->n);
	if (c->n)
		qsort(c->rows, c->n, sizeof(*c->rows), by_work);
	return status;
}

int counts_read(struct counts *c, struct counts_options *o, const char *dir)
{
	int status;

	*c = (struct counts){ .o = o };
	status = pick_open(dir, &c->trace);
	if (!status)
		status = processes_choose(&c->trace, &o->pick.processes);
	if (status)
		return status;
	o->pick.trace = c->trace;
	status = pick_check(&o->pick);
	if (!status)
		status = traced_select(c->trace, &o->select, &c->select);
	if (!status)
		status = read_ranks(c, dir);
	if (status)
		counts_free(c);
	return status;
}

void counts_free(struct counts *c)
{
	for (size_t i = 0; c->placed && i < sonde_trace_ranks(c->trace); i++)
		mt_placed_close(c->placed[i]);
	free(c->placed);
	for (size_t i = 0; i < c->ntexts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->rows);
	free(c->calls);
	free(c->slots);
	select_free(c->select);
	if (c->trace)
		sonde_trace_close(c->trace);
	*c = (struct counts){ 0 };
}
