/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/report/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct estimate_row {
	bool counted;	 /* now */
	bool in_burst;	 /* touched */
	uint32_t active; /* open frames */
	double calls;	 /* that were counted */
	double x_now, n_now; /* in this burst: self time of calls that were sampled, and how many began */
	double x, n, xx, xn, nn; /* sums over bursts, also of products */
	double bursts;	 /* in which it was called */
	double out;	 /* self time outside of bursts, as recorded */
	double others;	 /* as a context: of that, of others */
};

/* Time of sampled calls of @row, in the context of @context: self in bursts, and from entry to return. */
struct estimate_pair {
	uint64_t key; /* context << 32 | row, + 1; 0: free */
	double self, total;
};

struct estimate_frame {
	uint32_t row;
	uint32_t burst;	  /* it was entered in it, and would not have been recorded otherwise; 0: none */
	uint64_t entered;
	uint32_t context; /* row of its context, if @burst is not 0 */
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

static struct estimate_row *touch(struct estimate *e, uint32_t row)
{
	struct estimate_row *r = &e->row[row];

	if (!r->in_burst) {
		r->in_burst = true;
		e->touched[e->ntouched++] = row;
	}
	return r;
}

/* Time of the innermost frame, in a burst. */
static void add_in_burst(struct estimate *e, double ns)
{
	uint32_t row;

	if (e->n == e->context) {
		e->before += ns;
		return;
	}
	row = e->frame[e->n - 1].row;
	pair_of(e, context_row(e), row)->self += ns;
	touch(e, row)->x_now += ns;
}

static void add_outside(struct estimate *e, double ns)
{
	if (e->n)
		e->row[e->frame[e->n - 1].row].out += ns;
}

static void begin_burst(struct estimate *e)
{
	e->now_in = (uint32_t)e->burst + 1;
	e->context = e->n;
	e->before = 0;
}

/* What is open goes on, but is not sampled any more. */
static void end_burst(struct estimate *e)
{
	for (size_t i = 0; i < e->ntouched; i++) {
		struct estimate_row *r = &e->row[e->touched[i]];

		r->x += r->x_now;
		r->n += r->n_now;
		r->xx += r->x_now * r->x_now;
		r->xn += r->x_now * r->n_now;
		r->nn += r->n_now * r->n_now;
		r->bursts += r->n_now > 0;
		r->x_now = r->n_now = 0;
		r->in_burst = false;
	}
	e->ntouched = 0;
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
			end_burst(e);
		else
			begin_burst(e);
	}
	pass(e, raw, clock);
	choose(e, raw);
}

void estimate_enter(struct estimate *e, uint32_t row)
{
	struct estimate_row *r = &e->row[row];
	struct estimate_frame f = { .row = row, .entered = e->clock };

	if (!e->budget)
		return;
	if (!array_room(e->frame, e->frame_room, e->n + 1))
		(void)!report_need(NULL);
	f.outermost = !r->active++;
	if (e->now_in && r->counted && e->context) {
		f.burst = e->now_in;
		f.context = context_row(e);
		touch(e, row)->n_now++;
	}
	e->frame[e->n++] = f;
	if (e->now_in && !f.burst) {
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
	if (f.burst && f.outermost)
		pair_of(e, f.context, f.row)->total += (double)(int64_t)(e->clock - f.entered);
	if (e->now_in && e->context > e->n)
		find_context(e);
}

/* It was called before the burst began; what has not been known of whom it was, was its own. */
void estimate_orphan(struct estimate *e, uint32_t row)
{
	if (!e->budget || !e->now_in || !e->context || e->n != e->context)
		return;
	pair_of(e, context_row(e), row)->self += e->before;
	touch(e, row)->x_now += e->before;
	e->before = 0;
}

/* ---- sums ---- */

/* Of the estimate of a call's self time, as far as bursts differ. */
static double variance(const struct estimate_row *r)
{
	double mean = r->x / r->n, sum = r->xx - 2 * mean * r->xn + mean * mean * r->nn;

	if (r->bursts < 2)
		return mean * mean;
	return sum > 0 ? sum / (r->n * r->n) * r->bursts / (r->bursts - 1) : 0;
}

static void add(struct report_sums *sums, uint32_t row, double self, double total, double variance)
{
	struct report_stats *s = report_sums_row(sums, row);

	s->self += (uint64_t)(int64_t)self;
	s->total += (uint64_t)(int64_t)total;
	s->variance += variance;
	s->estimated = true;
}

/* The context of a pair, if there is something to be moved: how much of its self time, ns. */
static struct estimate_row *moved(struct estimate *e, const struct estimate_pair *p, double *ns)
{
	const struct estimate_row *r = &e->row[(uint32_t)(p->key - 1)];

	if (!p->key || r->n <= 0 || p->self <= 0)
		return NULL;
	*ns = r->calls / r->n * p->self;
	return &e->row[(uint32_t)((p->key - 1) >> 32)];
}

/* Where no burst has shown how long counted calls take, the times are those of recorded calls alone, which says little. */
static void mark_unknown(struct estimate *e, const struct sonde_trace_thread *t, struct report_sums *sums)
{
	for (size_t i = 0; i < t->ncalls; i++) {
		uint32_t row = e->rows->counted[t->calls[i].function->index];
		struct report_stats *s = report_sums_row(sums, row);
		double self = (double)(int64_t)s->self;

		if (!s->estimated)
			add(sums, row, 0, 0, self * self);
	}
}

void estimate_finish(struct estimate *e, const struct sonde_trace_thread *t, struct report_sums *sums)
{
	struct estimate_row *from;
	double ns;

	if (!e->budget)
		return;
	if (e->now_in)
		end_burst(e);
	for (size_t i = 0; i < t->ncalls; i++)
		e->row[e->rows->counted[t->calls[i].function->index]].calls += (double)t->calls[i].calls;
	for (size_t i = 0; i < e->room; i++)
		if ((from = moved(e, &e->pair[i], &ns)))
			from->others += ns;
	for (size_t i = 0; i < e->room; i++) {
		const struct estimate_pair *p = &e->pair[i];
		uint32_t row = (uint32_t)(p->key - 1), context = (uint32_t)((p->key - 1) >> 32);
		const struct estimate_row *r = &e->row[row];
		double scale, part;

		from = moved(e, p, &ns);
		if (!from)
			continue;
		/* no more than there is */
		scale = from->others <= from->out ? 1 : from->out > 0 ? from->out / from->others : 0;
		part = scale * r->calls * (p->self / r->x);
		add(sums, row, scale * ns, scale * r->calls / r->n * p->total, part * part * variance(r));
		add(sums, context, -scale * ns, 0, part * part * variance(r));
	}
	mark_unknown(e, t, sums);
}
