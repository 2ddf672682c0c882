/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All threads, one after the other, into groups. Threads come by rank, so one set of sums is enough
 * for a group, and is added up and closed before the next begins.
 */
#include "launcher/common/message.h"
#include "launcher/report/phases/phases.h"
#include "launcher/ranks/ranks.h"
#include "launcher/report/report-kept.h"
#include "launcher/report/report-shared.h"
#include "launcher/report/report-thread.h"
#include "launcher/report/report-walks.h"
#include "launcher/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct collection {
	struct report *r;
	struct report_walk walk;
	struct report_sums group;     /* of the group that is being filled */
	struct report_group *open;    /* it, or NULL */
	size_t *threads;	      /* that were asked for, by rank */
	uint64_t *module_time;	      /* of the rank that is being read */
	uint64_t *class_time;	      /* likewise */
	uint64_t wait;		      /* likewise */
	int rank;		      /* its number */
	bool rank_begun;
	size_t process;		      /* counts: one process in one program */
	const struct sonde_trace_thread *last; /* thread before */
	struct report_findings found;
	struct report_kept kept;
};

static int rank_of(const struct sonde_trace *trace, const struct sonde_trace_thread *t)
{
	return sonde_trace_rank(trace, t->rank_index)->rank;
}

/* ---- how long a thread was there ---- */

/* The same thread, before an execve(). */
static bool was_before(const struct sonde_trace *trace, const struct sonde_trace_thread *t)
{
	for (size_t i = t->index; i-- > 0;) {
		const struct sonde_trace_thread *o = sonde_trace_thread(trace, i);

		if (o->rank_index != t->rank_index)
			return false;
		if (o->pid == t->pid && o->tid == t->tid)
			return true;
	}
	return false;
}

uint64_t report_whole(const struct sonde_trace *trace, const struct sonde_trace_thread *t)
{
	const struct sonde_trace_rank *rank = sonde_trace_rank(trace, t->rank_index);
	uint64_t first = t->first, last = cost_thread_end(trace, t);

	if (!rank->flight && !rank->older && t->tid == t->pid && t->pid == rank->pid && (rank->start < first || !t->events) && !was_before(trace, t))
		first = rank->start;
	return last > first ? last - first - sonde_trace_off(trace, t->rank_index, first, last) : 0;
}

/* ---- groups ---- */

static void copy_line(struct report_group *g, const struct report_sums *s, uint32_t row, size_t *namounts)
{
	const struct report_rows *rows = s->rows;

	struct report_line *line = &g->lines[g->nlines++];

	*line = (struct report_line){ row, s->row[row], *namounts };
	line->stats.total = cost_shown(line->stats.total);
	line->stats.self = cost_shown(line->stats.self);
	line->stats.ended.sum = cost_shown(line->stats.ended.sum);
	line->stats.unended.sum = cost_shown(line->stats.unended.sum);
	for (uint32_t k = rows->row[row].slots; k != REPORT_NO_SLOT; k = rows->slots[k].next)
		g->amounts[(*namounts)++] = s->amount[k];
}

static void close_group(struct collection *c)
{
	struct report_group *g = c->open;
	const struct report_sums *s = &c->group;
	size_t namounts = 0;

	if (!g)
		return;
	for (size_t i = 0; i < s->nseen; i++)
		namounts += report_row_slots(s->rows, s->seen[i]);
	g->lines = report_zeroed(s->nseen, sizeof(*g->lines));
	g->amounts = report_zeroed(namounts, sizeof(*g->amounts));
	namounts = 0;
	for (size_t i = 0; i < s->nseen; i++)
		copy_line(g, s, s->seen[i], &namounts);
	report_sums_clear(&c->group);
	report_arrange(c->r, g);
	c->open = NULL;
}

static void open_group(struct collection *c, const struct sonde_trace_thread *t)
{
	struct report *r = c->r;

	r->groups = report_need(reallocarray(r->groups, r->ngroups + 1, sizeof(*r->groups)));
	c->open = &r->groups[r->ngroups++];
	*c->open = (struct report_group){
		.thread = r->request->by == REPORT_BY_THREAD ? t : NULL,
		.program = r->request->by == REPORT_BY_THREAD || r->request->by == REPORT_BY_PROCESS ?
				   sonde_trace_rank(r->trace, t->rank_index) :
				   NULL,
		.pid = t->pid,
		.rank = rank_of(r->trace, t),
		.class_time = report_zeroed(r->rows.nclasses, sizeof(*c->class_time)),
	};
}

static bool same_process(const struct sonde_trace_thread *a, const struct sonde_trace_thread *b)
{
	return a && a->rank_index == b->rank_index && a->pid == b->pid;
}

static void choose_group(struct collection *c, const struct sonde_trace_thread *t)
{
	enum report_by by = c->r->request->by;

	if (by == REPORT_BY_THREAD ||
	    (by == REPORT_BY_PROCESS && c->open && !same_process(c->last, t)) ||
	    (by == REPORT_BY_RANK && c->open && c->open->rank != rank_of(c->r->trace, t)))
		close_group(c);
	if (!c->open)
		open_group(c, t);
}

/* ---- times over ranks ---- */

/* Takes the time of the rank that has been read. */
static void take_time(const struct collection *c, struct report_over_ranks *t, uint64_t *ns)
{
	bool first = c->r->nranks == 0;

	if (first || *ns < t->min) {
		t->min = *ns;
		t->min_rank = c->rank;
	}
	if (first || *ns > t->max) {
		t->max = *ns;
		t->max_rank = c->rank;
	}
	t->sum += *ns;
	*ns = 0;
}

static void close_rank(struct collection *c)
{
	struct report *r = c->r;

	if (!c->rank_begun)
		return;
	for (size_t i = 0; i <= r->nmodules; i++)
		take_time(c, &r->modules[i].time, &c->module_time[i]);
	for (size_t i = 0; i < r->rows.nclasses; i++)
		take_time(c, &r->class_time[i], &c->class_time[i]);
	take_time(c, &r->wait, &c->wait);
	r->nranks++;
	c->rank_begun = false;
}

/* Modules without time, and all of them where there is nothing to compare, are left out. */
static void finish_modules(struct report *r)
{
	size_t n = 0;

	for (size_t i = 0; i <= r->nmodules; i++) {
		r->modules[i].module = sonde_trace_module(r->trace, i);
		if (r->modules[i].time.max > 0 && r->nranks > 1)
			r->modules[n++] = r->modules[i];
	}
	r->nmodules = n;
}

/* ---- threads ---- */

static int read_error(const struct sonde_trace_thread *t, enum sonde_trace_status status)
{
	if (status == SONDE_TRACE_E_SYSTEM)
		msg_error("%s: %s", t->file, strerror(errno));
	else
		msg_error("%s: %s", t->file, sonde_trace_strstatus(status));
	return EXIT_USAGE;
}

static int take_walked(struct collection *c, const struct report_walked *w, const struct sonde_trace_thread *t)
{
	if (w->sums.size) {
		report_kept_get(&w->sums, &c->walk);
		report_kept_add(&c->kept, &w->sums, w->bad_chunks || w->unknown || w->status != SONDE_TRACE_OK);
	}
	c->found.bad_chunks += w->bad_chunks;
	c->found.unknown += w->unknown;
	if (w->last)
		snprintf(c->found.last, sizeof(c->found.last), "%s", w->last);
	errno = w->error;
	return w->status == SONDE_TRACE_OK ? 0 : read_error(t, w->status);
}

/* What recording took is not the program's. */
static void add_cost(struct collection *c, const struct sonde_trace_thread *t)
{
	uint64_t whole = report_whole(c->r->trace, t), taken = cost_taken(&c->walk.clock);

	if (c->r->phases) {
		whole = c->walk.inside;
		taken = 0; /* it is off already */
	}
	if (taken > whole)
		taken = whole;
	c->open->whole += whole - taken;
	report_spent_add(&c->r->spent, whole, taken, c->r->phases ? 0 : c->walk.clock.waited, &c->walk.sums);
}

static void add_offcpu(struct collection *c)
{
	const struct report_sums *s = &c->walk.sums;

	for (size_t i = 0; i < s->nseen; i++) {
		c->r->blocked += s->row[s->seen[i]].blocked;
		c->r->preempted += s->row[s->seen[i]].preempted;
	}
}

/* c->walk is that thread's. */
static void add_thread(struct collection *c, const struct sonde_trace_thread *t)
{
	struct report *r = c->r;
	int rank = rank_of(r->trace, t);

	if (c->rank_begun && c->rank != rank)
		close_rank(c);
	c->rank = rank;
	c->rank_begun = true;
	c->process += !same_process(c->last, t);
	for (size_t i = 0; i <= r->rows.nmodules; i++)
		c->module_time[i] += c->walk.module_time[i];
	choose_group(c, t);
	c->last = t;
	for (size_t i = 0; i < r->rows.nclasses; i++) {
		c->class_time[i] += c->walk.class_time[i];
		c->open->class_time[i] += c->walk.class_time[i];
	}
	c->wait += c->walk.wait;
	report_sums_add(&c->group, &c->walk.sums, c->process, rank);
	add_cost(c, t);
	add_offcpu(c);
	c->open->wait += c->walk.wait;
	c->open->events += c->walk.events;
	c->open->nthreads++;
	r->events += c->walk.events;
}

static int by_rank(const void *a, const void *b, void *arg)
{
	const struct sonde_trace *trace = arg;
	const struct sonde_trace_thread *x = sonde_trace_thread(trace, *(const size_t *)a);
	const struct sonde_trace_thread *y = sonde_trace_thread(trace, *(const size_t *)b);

	if (x->rank_index != y->rank_index)
		return x->rank_index < y->rank_index ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int choose_threads(struct collection *c)
{
	struct report *r = c->r;
	const struct report_request *q = r->request;
	size_t n = sonde_trace_threads(r->trace);

	c->threads = report_zeroed(n, sizeof(*c->threads));
	for (size_t i = 0; i < n; i++) {
		if (report_wants(q, r->trace, sonde_trace_thread(r->trace, i)))
			c->threads[r->nthreads++] = i;
	}
	qsort_r(c->threads, r->nthreads, sizeof(*c->threads), by_rank, (void *)r->trace);
	if (r->nthreads || (!q->tid && q->rank == REPORT_ANY_RANK))
		return 0;
	msg_error("%s: no such %s in this trace", r->dir, q->tid ? "thread" : "rank");
	return EXIT_USAGE;
}

static int add_threads(struct collection *c)
{
	int status = choose_threads(c);
	struct report_walks *walks = NULL;
	struct report_shared *shared = NULL;

	if (status)
		return status;
	report_kept_begin(&c->kept, c->r);
	if (!report_kept_is_there(&c->kept) && c->r->request->shared && ranks_count() > 1) {
		shared = report_shared_begin(c->r, c->threads, c->r->nthreads);
		status = shared ? 0 : EXIT_USAGE; /* a helper has nothing to print */
	} else if (!report_kept_is_there(&c->kept)) {
		walks = report_walks_begin(c->r, c->threads, c->r->nthreads);
	}
	for (size_t i = 0; !status && i < c->r->nthreads; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(c->r->trace, c->threads[i]);

		if (walks || shared)
			status = take_walked(c, walks ? report_walks_take(walks, i) : report_shared_take(shared, i), t);
		else
			report_kept_take(&c->kept, t, &c->walk);
		if (!status)
			add_thread(c, t);
	}
	report_walks_end(walks);
	report_shared_end(shared);
	report_kept_end(&c->kept);
	close_group(c);
	close_rank(c);
	return status;
}

/* Those that were asked for by name. */
static int read_phases(struct report *r)
{
	const struct phases_request request = { NULL, NULL, r->request->phase };

	if (!r->request->phase)
		return 0;
	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++) {
		if (!sonde_trace_rank(r->trace, i)->budget)
			continue;
		msg_error("%s was recorded with --overhead: calls that were counted cannot be told apart by phase", r->dir);
		return EXIT_USAGE;
	}
	r->phases = report_zeroed(1, sizeof(*r->phases));
	return phases_read(r->phases, r->trace, r->dir, &request);
}

int report_make(struct report *r, const struct sonde_trace *trace, const char *dir,
		const struct report_request *request)
{
	struct collection c = { .r = r };

	*r = (struct report){ .trace = trace, .dir = dir, .request = request };
	report_rows_init(&r->rows, trace);
	report_walk_init(&c.walk, &r->rows);
	report_sums_init(&c.group, &r->rows);
	r->nmodules = r->rows.nmodules;
	r->modules = report_zeroed(r->nmodules + 1, sizeof(*r->modules));
	r->class_time = report_zeroed(r->rows.nclasses, sizeof(*r->class_time));
	c.module_time = report_zeroed(r->nmodules + 1, sizeof(*c.module_time));
	c.class_time = report_zeroed(r->rows.nclasses, sizeof(*c.class_time));
	r->several_programs = process_tree_is_worth(trace) && !request->tid;
	(void)!report_need(process_tree_make(trace, request->rank, &r->processes) ? r : NULL);
	int status = report_choose(r);
	if (!status)
		status = read_phases(r);
	if (!status)
		offcpu_read(&r->offcpu, trace);
	if (!status)
		status = add_threads(&c);
	finish_modules(r);
	report_find_problems(r, &c.found);
	report_walk_free(&c.walk);
	report_sums_free(&c.group);
	free(c.module_time);
	free(c.class_time);
	free(c.threads);
	return status;
}

void report_free(struct report *r)
{
	for (size_t i = 0; i < r->ngroups; i++) {
		free(r->groups[i].lines);
		free(r->groups[i].amounts);
		free(r->groups[i].class_time);
	}
	free(r->groups);
	free(r->shown);
	report_spent_free(&r->spent);
	free(r->modules);
	free(r->class_time);
	free(r->problems);
	process_tree_free(&r->processes);
	offcpu_free(&r->offcpu);
	if (r->phases)
		phases_free(r->phases, r->trace);
	free(r->phases);
	report_rows_free(&r->rows);
	*r = (struct report){ 0 };
}
