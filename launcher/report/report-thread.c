/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reader tells how deep each event is. An intact thread is a stack: each enter one deeper than the
 * frame on top, each leave that of the top. After damage frames may be missing from our stack, or
 * still be on it although they have been left unseen; the depths, and the functions of leaves, tell which.
 */
#include "launcher/report/report-thread.h"

#include <stdlib.h>
#include <string.h>

struct report_frame {
	const struct report_site *site; /* of the enter */
	uint64_t entered;
	uint64_t inner; /* ns spent in recorded calls below; signed, as all differences of times */
	size_t held;	/* its amounts start here */
	uint32_t depth;
	bool counts;	/* it was entered in a phase that counts */
};

struct report_held {
	uint32_t slot;
	uint64_t value;
};

void report_walk_init(struct report_walk *w, const struct report_rows *rows)
{
	*w = (struct report_walk){
		.rows = rows,
		.module_time = report_zeroed(rows->nmodules + 1, sizeof(*w->module_time)),
		.class_time = report_zeroed(rows->nclasses, sizeof(*w->class_time)),
		.module_active = report_zeroed(rows->nmodules + 1, sizeof(*w->module_active)),
		.active = report_zeroed(rows->n, sizeof(*w->active)),
	};
	report_sums_init(&w->sums, rows);
	estimate_init(&w->estimate, rows);
}

void report_walk_free(struct report_walk *w)
{
	report_sums_free(&w->sums);
	estimate_free(&w->estimate);
	free(w->module_time);
	free(w->class_time);
	free(w->module_active);
	free(w->active);
	free(w->frame);
	free(w->held);
	*w = (struct report_walk){ 0 };
}

void report_walk_start(struct report_walk *w, const struct cost_clock *clock, const struct sonde_trace_budget *budget,
		       const struct stretches *const *phases, const struct offcpu_thread *offcpu)
{
	w->clock = *clock;
	estimate_start(&w->estimate, budget, COST_BIAS);
	report_sums_clear(&w->sums);
	memset(w->module_time, 0, (w->rows->nmodules + 1) * sizeof(*w->module_time));
	memset(w->class_time, 0, w->rows->nclasses * sizeof(*w->class_time));
	w->wait = w->events = w->unknown = w->last = 0;
	w->gap = false;
	w->phased = phases != NULL;
	w->phase = (struct stretch_clock){ .of = phases ? *phases : NULL };
	w->in_phase = !phases;
	w->recorded = w->phase_ns = w->raw = w->outside = w->inside = 0;
	w->begun = false;
	w->blocked = (struct stretch_clock){ .of = offcpu ? &offcpu->blocked : NULL };
	w->preempted = (struct stretch_clock){ .of = offcpu ? &offcpu->preempted : NULL };
	w->offcpu = offcpu;
	w->count = 0;
	w->blocked_ns = w->preempted_ns = w->waited = 0;
}

/* ---- amounts ---- */

static void hold(struct report_walk *w, uint32_t slot, uint64_t value)
{
	report_room(w->held, w->held_room, w->nheld + 1);
	w->held[w->nheld++] = (struct report_held){ slot, value };
}

static void add_amounts(struct report_walk *w, const struct report_site *s,
			const struct sonde_trace_event *ev)
{
	const struct report_amount *a = &w->rows->amounts[s->amounts];

	for (uint32_t i = 0; i < s->namounts; i++) {
		uint64_t value = ev->values[a[i].value].u;

		if (a[i].held)
			hold(w, a[i].slot, value);
		else
			w->sums.amount[a[i].slot] += value;
	}
}

static bool tells(const struct report_walk *w, const struct report_site *leave, uint32_t slot)
{
	for (uint32_t i = 0; leave && i < leave->namounts; i++) {
		if (w->rows->amounts[leave->amounts + i].slot == slot)
			return true;
	}
	return false;
}

/* What was recorded at the call's entry counts where its return recorded nothing. */
static void release_held(struct report_walk *w, size_t from, const struct report_site *leave)
{
	for (size_t i = from; i < w->nheld; i++) {
		if (!tells(w, leave, w->held[i].slot))
			w->sums.amount[w->held[i].slot] += w->held[i].value;
	}
	w->nheld = from;
}

/* ---- frames ---- */

static void push(struct report_walk *w, const struct report_site *s,
		 const struct sonde_trace_event *ev)
{
	report_room(w->frame, w->room, w->n + 1);
	w->frame[w->n++] = (struct report_frame){ s, w->now, 0, w->nheld, ev->depth, w->in_phase };
	estimate_enter(&w->estimate, s->row);
}

/* @s is the site that says so: the enter, or a leave. */
static void end_wait(struct report_walk *w, struct report_stats *stats, const struct report_site *s,
		     uint64_t ns)
{
	if (s->site->kind == SONDE_TRACE_ENTER)
		w->waiting--;
	if (w->waiting)
		return;
	stats->wait += ns;
	w->class_time[s->time_class] += ns;
	w->wait += ns;
}

static void end_apart(struct report_walk *w, const struct report_site *s, uint64_t ns)
{
	if (!--w->apart && !w->waiting)
		w->class_time[s->time_class] += ns;
}

/*
 * Takes the top frame off and counts the call; @leave is NULL where its return recorded nothing.  Returns the figures for how it
 * ended: of a call that does not count, nobody's.
 */
static struct report_stats *pop(struct report_walk *w, uint64_t time, const struct report_site *leave,
				uint64_t *duration)
{
	const struct report_frame f = w->frame[--w->n];
	uint64_t passed = time - f.entered, ns = cost_shown(passed);
	struct report_stats *stats = f.counts || passed ? report_sums_row(&w->sums, f.site->row) : &w->nobody;

	estimate_leave(&w->estimate);
	stats->calls += f.counts;
	if (!--w->active[f.site->row])
		stats->total += passed;
	if (!--w->module_active[f.site->module])
		w->module_time[f.site->module] += ns;
	if (f.site->site->apart)
		end_apart(w, f.site, ns);
	else if (!w->apart && (f.site->site->waits || (leave && leave->site->waits)))
		end_wait(w, stats, f.site->site->waits ? f.site : leave, ns);
	stats->self += passed - f.inner;
	if (w->n)
		w->frame[w->n - 1].inner += passed;
	if (w->nheld > f.held)
		release_held(w, f.held, leave);
	*duration = passed;
	return f.counts ? stats : &w->nobody;
}

static void pop_open(struct report_walk *w)
{
	uint64_t ns;
	struct report_stats *stats = pop(w, w->last, NULL, &ns);

	stats->open++;
	report_duration(&stats->unended, ns);
}

/* ---- events ---- */

static void enter(struct report_walk *w, const struct sonde_trace_event *ev)
{
	const struct report_site *s = report_site_find(w->rows, ev->site);

	while (w->n && w->frame[w->n - 1].depth >= ev->depth)
		pop_open(w);
	push(w, s, ev);
	w->active[s->row]++;
	w->module_active[s->module]++;
	if (s->site->apart)
		w->apart++;
	else if (s->site->waits && !w->apart)
		w->waiting++;
	if (s->namounts && w->in_phase)
		add_amounts(w, s, ev);
}

/* A return whose enter we have not seen. */
static void orphan(struct report_walk *w, const struct sonde_trace_event *ev)
{
	if (!ev->site || !w->in_phase)
		return;
	const struct report_site *s = report_site_find(w->rows, ev->site);
	struct report_stats *stats;

	/* it is among those that were counted */
	if (w->estimate.budget && !s->site->module) {
		estimate_orphan(&w->estimate, s->row);
		return;
	}
	stats = report_sums_row(&w->sums, s->row);
	stats->calls++;
	stats->orphans++;
	add_amounts(w, s, ev);
}

/* Is the top frame the one that is left?  What lies above it is gone. */
static bool find_frame(struct report_walk *w, const struct sonde_trace_event *ev)
{
	while (w->n && w->frame[w->n - 1].depth > ev->depth)
		pop_open(w);
	if (!w->n || w->frame[w->n - 1].depth != ev->depth)
		return false;
	if (!ev->function || w->frame[w->n - 1].site->site->function == ev->function)
		return true;
	pop_open(w);
	return false;
}

static void leave(struct report_walk *w, const struct sonde_trace_event *ev)
{
	const struct report_site *s = NULL;
	uint64_t ns;

	if ((ev->flags & SONDE_TRACE_ORPHAN) || !find_frame(w, ev)) {
		orphan(w, ev);
		return;
	}
	/* Most returns tell nothing but the time. */
	if (ev->site && (ev->nvalues || ev->site->waits))
		s = report_site_find(w->rows, ev->site);
	struct report_stats *stats = pop(w, w->now, s, &ns);
	stats->unwound += (ev->flags & SONDE_TRACE_UNWOUND) != 0;
	report_duration(&stats->ended, ns);
	if (s && s->namounts && stats != &w->nobody) {
		report_sums_row(&w->sums, s->row);
		add_amounts(w, s, ev);
	}
}

/* Events that damaged metadata does not describe: a frame of that kind is missing from the stack. */
static bool is_unknown(const struct sonde_trace_event *ev)
{
	return !ev->site && (ev->kind != SONDE_TRACE_LEAVE || !ev->function);
}

static void point(struct report_walk *w, const struct sonde_trace_event *ev)
{
	if (!w->in_phase)
		return;
	const struct report_site *s = report_site_find(w->rows, ev->site);

	report_sums_row(&w->sums, s->row)->calls++;
	add_amounts(w, s, ev);
}

/*
 * The clock's time, @time, without what was outside of phases.  Where one begins or ends between two events of the thread, which is
 * where another thread has marked it, what recording took there is shared out as the time is.
 */
static uint64_t in_phases(struct report_walk *w, uint64_t recorded, uint64_t time)
{
	uint64_t in, passed, between;

	if (!w->phased)
		return time;
	in = stretch_clock_until(&w->phase, recorded);
	w->in_phase = stretch_clock_in(&w->phase, recorded);
	passed = recorded - w->recorded;
	between = in - w->phase_ns;
	if (!w->begun)
		w->outside = time - COST_BIAS;
	else if (recorded > w->recorded && between < passed)
		w->outside += (uint64_t)(int64_t)((double)(int64_t)(time - w->raw) * (double)(passed - between) / (double)passed);
	w->begun = true;
	w->recorded = recorded;
	w->phase_ns = in;
	w->raw = time;
	return time - w->outside;
}

/* ---- when it did not run ---- */

/* In a phase that counts, at a time between the event before and now. */
static bool counts_at(const struct report_walk *w, uint64_t time)
{
	struct stretch_clock phase = w->phase;

	if (!w->phased)
		return true;
	(void)stretch_clock_until(&phase, time);
	return stretch_clock_in(&phase, time);
}

static void add_counts(struct report_walk *w, uint64_t time)
{
	const struct offcpu_thread *o = w->offcpu;

	for (; w->count < o->ncounts && o->count[w->count].time < time; w->count++) {
		const struct offcpu_count *c = &o->count[w->count];

		if (w->n && counts_at(w, c->time))
			report_sums_row(&w->sums, w->frame[w->n - 1].site->row)->counted[c->counter] += c->n;
	}
}

/*
 * What is between two events is the time of the function that is open.  Waits for room to record something, which are taken off,
 * are mostly such time.  @share: of that, what counts.
 */
static void add_offcpu(struct report_walk *w, uint64_t time, uint64_t waited, double share)
{
	uint64_t blocked = stretch_clock_until(&w->blocked, time), preempted = stretch_clock_until(&w->preempted, time);
	uint64_t more = blocked - w->blocked_ns;
	uint64_t off = w->clock.raw ? 0 : waited - w->waited;

	add_counts(w, time);
	if (w->n && (more || preempted != w->preempted_ns)) {
		struct report_stats *stats = report_sums_row(&w->sums, w->frame[w->n - 1].site->row);

		more -= off < more ? off : more;
		stats->blocked += (uint64_t)((double)more * share);
		stats->preempted += (uint64_t)((double)(preempted - w->preempted_ns) * share);
	}
	w->blocked_ns = blocked;
	w->preempted_ns = preempted;
	w->waited = waited;
}

/* Of the time since the event before, what was in phases. */
static double phase_share(const struct report_walk *w, uint64_t recorded)
{
	struct stretch_clock phase = w->phase;

	if (!w->phased || recorded <= w->recorded)
		return w->in_phase ? 1 : 0;
	return (double)(stretch_clock_until(&phase, recorded) - w->phase_ns) / (double)(recorded - w->recorded);
}

void report_walk_event(struct report_walk *w, const struct sonde_trace_event *ev)
{
	if (w->blocked.of)
		add_offcpu(w, ev->time, ev->waited, phase_share(w, ev->time));
	w->now = in_phases(w, ev->time, cost_time(&w->clock, ev));
	estimate_time(&w->estimate, ev->time, w->now);
	if (is_unknown(ev)) {
		w->unknown += ev->kind != SONDE_TRACE_LOST;
		return;
	}
	switch (ev->kind) {
	case SONDE_TRACE_ENTER:
		enter(w, ev);
		break;
	case SONDE_TRACE_LEAVE:
		leave(w, ev);
		break;
	case SONDE_TRACE_POINT:
		point(w, ev);
		break;
	case SONDE_TRACE_LOST:
		w->gap = true;
		return; /* what was open before a gap ends with the last event that was seen */
	}
	w->last = w->now;
	w->gap = false;
	w->events += w->in_phase;
}

void report_walk_finish(struct report_walk *w, const struct sonde_trace_thread *t)
{
	if (w->blocked.of && (w->waiting || w->apart) && !w->gap)
		add_offcpu(w, w->clock.end + w->clock.off, w->waited, phase_share(w, w->clock.end + w->clock.off));
	uint64_t end = in_phases(w, w->clock.end + w->clock.off, cost_end(&w->clock));

	if ((w->waiting || w->apart) && !w->gap && (int64_t)(end - w->last) > 0)
		w->last = end;
	w->inside = w->phased ? cost_shown(w->last - COST_BIAS) : 0;
	while (w->n)
		pop_open(w);
	estimate_finish(&w->estimate, t, &w->sums);
	if (w->phased)
		return; /* nobody knows when that was counted */
	for (size_t i = 0; i < t->ncounts; i++) {
		uint32_t row = w->rows->counters[t->counts[i].counter->index];

		report_sums_row(&w->sums, row)->calls += t->counts[i].value;
	}
	for (size_t i = 0; i < t->ncalls; i++) {
		uint32_t row = w->rows->counted[t->calls[i].function->index];

		report_sums_row(&w->sums, row)->calls += t->calls[i].calls;
	}
}
