/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/report/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct estimate_row {
	bool counted;	 /* now */
	bool in_burst;	 /* touched */
	uint32_t active; /* open frames */
	double x_now;	 /* in this burst: self time */
	double x, xx, xy; /* over bursts */
	double out;	 /* self time outside of bursts, as recorded */
	double known;	 /* in bursts, as a context: its own and that of others */
};

/* Time in bursts of @row, in the context of @context. */
struct estimate_pair {
	uint64_t key; /* context << 32 | row, + 1; 0: free */
	double self, total;
};

struct estimate_frame {
	uint32_t row;
	uint32_t burst;	  /* it was entered in it, and would not have been recorded otherwise; 0: none */
	uint64_t entered; /* or when the burst began that it is in */
	bool outermost;	  /* of its row */
};

void estimate_init(struct estimate *e, const struct report_rows *rows)
{
	*e = (struct estimate){ .rows = rows };
	e->row = report_zeroed(rows->n, sizeof(*e->row));
	e->touched = report_zeroed(rows->n, sizeof(*e->touched));
}

void estimate_free(struct estimate *e)
{
	free(e->row);
	free(e->touched);
	free(e->pair);
	free(e->frame);
	*e = (struct estimate){ 0 };
}

void estimate_start(struct estimate *e, const struct sonde_trace_budget *budget, uint64_t clock)
{
	struct estimate old = *e;

	*e = (struct estimate){
		.rows = old.rows, .budget = budget, .row = old.row, .touched = old.touched, .pair = old.pair, .room = old.room,
		.frame = old.frame, .frame_room = old.frame_room, .clock = clock,
	};
	if (!budget)
		return;
	memset(e->row, 0, e->rows->n * sizeof(*e->row));
	if (e->room)
		memset(e->pair, 0, e->room * sizeof(*e->pair));
}

/* ---- pairs ---- */

static size_t slot_of(const struct estimate_pair *v, size_t room, uint64_t key)
{
	return hash_slot(i, room, hash_word(key), !v[i].key || v[i].key == key);
}

static void rehash(struct estimate *e)
{
	size_t room = e->room ? 2 * e->room : 256;
	struct estimate_pair *v = report_zeroed(room, sizeof(*v));

	for (size_t i = 0; i < e->room; i++)
		if (e->pair[i].key)
			v[slot_of(v, room, e->pair[i].key)] = e->pair[i];
	free(e->pair);
	e->pair = v;
	e->room = room;
}

static struct estimate_pair *pair_of(struct estimate *e, uint32_t context, uint32_t row)
{
	uint64_t key = ((uint64_t)context << 32 | row) + 1;
	struct estimate_pair *p;

	if (2 * e->npairs >= e->room)
		rehash(e);
	p = &e->pair[slot_of(e->pair, e->room, key)];
	if (!p->key) {
		p->key = key;
		e->npairs++;
	}
	return p;
}

/* ---- bursts ---- */

static uint32_t context_row(const struct estimate *e)
{
	return e->frame[e->context - 1].row;
}

static void touch(struct estimate *e, uint32_t row, double ns)
{
	struct estimate_row *r = &e->row[row];

	if (!r->in_burst) {
		r->in_burst = true;
		e->touched[e->ntouched++] = row;
	}
	r->x_now += ns;
}

/* Time of the innermost frame, in a burst. */
static void add_in_burst(struct estimate *e, double ns)
{
	uint32_t context, row;

	if (!e->context)
		return;
	context = context_row(e);
	row = e->frame[e->n - 1].row;
	pair_of(e, context, row)->self += ns;
	e->row[context].known += ns;
	if (e->n == e->context)
		e->before += (uint64_t)(int64_t)ns;
	touch(e, row, ns);
	e->y_now += ns;
}

static void add_outside(struct estimate *e, double ns)
{
	if (!e->n)
		return;
	e->row[e->frame[e->n - 1].row].out += ns;
	e->outside += ns;
}

static void begin_burst(struct estimate *e, uint64_t clock)
{
	e->now_in = (uint32_t)e->burst + 1;
	e->context = e->n;
	e->began = clock;
	e->before = 0;
}

/* What is open goes on, but is not sampled any more. */
static void end_burst(struct estimate *e, uint64_t clock)
{
	for (size_t i = e->n; i-- > 0 && e->frame[i].entered >= e->began && i + 1 > e->context;)
		if (e->frame[i].burst == e->now_in && e->frame[i].outermost)
			pair_of(e, context_row(e), e->frame[i].row)->total += (double)(int64_t)(clock - e->frame[i].entered);
	for (size_t i = 0; i < e->ntouched; i++) {
		struct estimate_row *r = &e->row[e->touched[i]];

		r->x += r->x_now;
		r->xx += r->x_now * r->x_now;
		r->xy += r->x_now * e->y_now;
		r->x_now = 0;
		r->in_burst = false;
	}
	e->ntouched = 0;
	e->y += e->y_now;
	e->yy += e->y_now * e->y_now;
	e->bursts += e->y_now > 0;
	e->y_now = 0;
	e->now_in = 0;
	e->burst++;
}

/* ---- events ---- */

static void choose(struct estimate *e, uint64_t raw)
{
	const struct sonde_trace_budget *b = e->budget;

	for (; e->next_chosen < b->nchosen && b->chosen[e->next_chosen].time <= raw; e->next_chosen++) {
		const struct sonde_trace_chosen *c = &b->chosen[e->next_chosen];
		uint32_t row = e->rows->counted[c->function->index];

		if (row != REPORT_NO_SLOT)
			e->row[row].counted = c->counted;
	}
}

/* The clock stands for what passed from the last event to this one, in proportion. */
static uint64_t clock_at(const struct estimate *e, uint64_t at, uint64_t raw, uint64_t clock)
{
	double part = raw > e->raw ? (double)(at - e->raw) / (double)(raw - e->raw) : 0;

	return e->clock + (uint64_t)(int64_t)(part * (double)(int64_t)(clock - e->clock));
}

static void pass(struct estimate *e, uint64_t raw, uint64_t clock)
{
	double ns = (double)(int64_t)(clock - e->clock);

	if (e->now_in)
		add_in_burst(e, ns);
	else
		add_outside(e, ns);
	e->raw = raw;
	e->clock = clock;
}

void estimate_time(struct estimate *e, uint64_t raw, uint64_t clock)
{
	const struct sonde_trace_budget *b = e->budget;

	if (!b)
		return;
	raw = raw > e->raw ? raw : e->raw;
	while (e->burst < b->nbursts && (e->now_in ? b->bursts[e->burst].end : b->bursts[e->burst].begin) <= raw) {
		uint64_t at = e->now_in ? b->bursts[e->burst].end : b->bursts[e->burst].begin;
		uint64_t then;

		at = at > e->raw ? at : e->raw;
		then = clock_at(e, at, raw, clock);
		pass(e, at, then);
		choose(e, at);
		if (e->now_in)
			end_burst(e, then);
		else
			begin_burst(e, then);
	}
	pass(e, raw, clock);
	choose(e, raw);
}

void estimate_enter(struct estimate *e, uint32_t row)
{
	struct estimate_row *r = &e->row[row];
	bool sampled = e->now_in && r->counted && e->context;

	if (!e->budget)
		return;
	if (!array_room(e->frame, e->frame_room, e->n + 1))
		(void)!report_need(NULL);
	e->frame[e->n++] = (struct estimate_frame){ row, sampled ? e->now_in : 0, e->clock, !r->active++ };
	if (e->now_in && !sampled) {
		e->context = e->n;
		e->before = 0;
	}
}

static void find_context(struct estimate *e)
{
	e->context = e->n;
	while (e->context > 1 && e->frame[e->context - 1].burst == e->now_in)
		e->context--;
	e->before = 0;
}

void estimate_leave(struct estimate *e)
{
	struct estimate_frame f;

	if (!e->budget || !e->n)
		return;
	f = e->frame[--e->n];
	e->row[f.row].active--;
	if (!e->now_in)
		return;
	if (f.burst == e->now_in && e->context <= e->n) {
		if (f.outermost && e->context)
			pair_of(e, context_row(e), f.row)->total += (double)(int64_t)(e->clock - f.entered);
	} else {
		find_context(e);
	}
}

/* It was called before the burst began; what has not been known of whom it was, was its own. */
void estimate_orphan(struct estimate *e, uint32_t row)
{
	double ns = (double)(int64_t)e->before;
	uint32_t context;

	if (!e->budget || !e->now_in || !e->context || e->n != e->context)
		return;
	context = context_row(e);
	pair_of(e, context, context)->self -= ns;
	pair_of(e, context, row)->self += ns;
	if (!e->row[row].active)
		pair_of(e, context, row)->total += (double)(int64_t)(e->clock - e->began);
	touch(e, context, -ns);
	touch(e, row, ns);
	e->before = 0;
}

/* ---- sums ---- */

static double variance(const struct estimate *e, const struct estimate_row *r)
{
	double share = r->x / e->y, sum = r->xx - 2 * share * r->xy + share * share * e->yy;

	if (e->bursts < 2)
		return e->outside * e->outside;
	return sum > 0 ? sum / (e->y * e->y) * (double)e->bursts / (double)(e->bursts - 1) * e->outside * e->outside : 0;
}

static void add(struct estimate *e, struct report_sums *sums, uint32_t row, double self, double total)
{
	struct report_stats *s = report_sums_row(sums, row);

	s->self += (uint64_t)(int64_t)self;
	s->total += (uint64_t)(int64_t)total;
	if (s->estimated)
		return;
	s->estimated = true;
	s->variance = variance(e, &e->row[row]);
}

void estimate_finish(struct estimate *e, struct report_sums *sums)
{
	if (!e->budget || e->y <= 0)
		return;
	for (size_t i = 0; i < e->room; i++) {
		const struct estimate_pair *p = &e->pair[i];
		uint32_t context = (uint32_t)((p->key - 1) >> 32), row = (uint32_t)(p->key - 1);
		const struct estimate_row *from = &e->row[context];
		double scale;

		if (!p->key || context == row || from->known <= 0 || from->out <= 0)
			continue;
		scale = from->out / from->known;
		add(e, sums, row, scale * p->self, scale * p->total);
		add(e, sums, context, -scale * p->self, 0);
	}
}
