// SPDX-License-Identifier: GPL-3.0-or-later
/* Whoever has nothing to do takes the next thread, in the order in which they are asked for; so does who asks while it waits. */
#include "launcher/report/report-walks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/report/phases/phases.h"
#include "launcher/report/report-kept.h"
#include "launcher/trace/pick.h"
#include "launcher/trace/reading.h"

#define MOST_HELPERS 15u
#define STACK (512u << 10)
#define WAIT_NS 100000000

struct one {
	struct report_walked result;
	bool done;
};

struct report_walks {
	const struct report *r;
	const size_t *threads;
	size_t n;
	struct one *v;
	struct report_walk own; /* of who asks */
	struct reading reading;
	_Atomic size_t next;	/* nobody has begun with it */
	_Atomic uint64_t events;
	_Atomic bool ends;
	pthread_mutex_t lock;	/* of `done' */
	pthread_cond_t changed;
	pthread_t helpers[MOST_HELPERS];
	unsigned int nhelpers;
};

/* ---- one thread's events ---- */

static void show(struct report_walks *w)
{
	w->reading.done = w->events;
	reading_show(&w->reading);
}

static void count(struct report_walks *w, const struct report_walk *walk, uint64_t *events)
{
	if (++*events % READING_STEP)
		return;
	w->events += READING_STEP;
	if (walk == &w->own)
		show(w);
}

static enum sonde_trace_status walk_events(struct report_walks *w, struct report_walk *walk, const struct sonde_trace_thread *t,
					   struct sonde_trace_iter *iter)
{
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status = SONDE_TRACE_END;
	struct cost_clock clock;
	uint64_t events = 0;

	pick_tail_calls(iter, w->r->request->tail_calls);
	cost_begin(&clock, w->r->trace, t, w->r->request->raw);
	report_walk_start(walk, &clock, sonde_trace_rank(w->r->trace, t->rank_index)->budget,
			  w->r->phases ? &w->r->phases->of[t->index] : NULL,
			  w->r->offcpu.thread ? &w->r->offcpu.thread[t->index] : NULL);
	while (!w->ends && (status = sonde_trace_next(iter, &ev)) == SONDE_TRACE_OK) {
		count(w, walk, &events);
		report_walk_event(walk, ev);
	}
	report_walk_finish(walk, t);
	return w->ends || status == SONDE_TRACE_END ? SONDE_TRACE_OK : status;
}

static void note_damage(struct report_walked *to, const struct sonde_trace_iter *iter)
{
	const char *text = "";

	to->bad_chunks = sonde_trace_damage(iter, &text);
	if (to->bad_chunks)
		to->last = report_need(strdup(text));
}

static void walk_thread(struct report_walks *w, struct report_walk *walk, size_t i)
{
	const struct sonde_trace_thread *t = sonde_trace_thread(w->r->trace, w->threads[i]);
	struct report_walked *to = &w->v[i].result;
	struct sonde_trace_iter *iter;

	to->status = sonde_trace_iterate(w->r->trace, t->index, &iter);
	if (to->status == SONDE_TRACE_OK) {
		to->status = walk_events(w, walk, t, iter);
		to->error = errno;
		to->unknown = walk->unknown;
		note_damage(to, iter);
		sonde_trace_iter_free(iter);
		report_kept_put(&to->sums, t, walk);
		if (to->sums.failed)
			(void)!report_need(NULL);
	} else {
		to->error = errno;
	}
	pthread_mutex_lock(&w->lock);
	w->v[i].done = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

/* ---- all of them ---- */

/* The next one; false: all have begun. */
static bool walk_next(struct report_walks *w, struct report_walk *walk)
{
	size_t i = w->ends ? w->n : w->next++;

	if (i >= w->n)
		return false;
	walk_thread(w, walk, i);
	return true;
}

static void *help(void *arg)
{
	struct report_walks *w = arg;
	struct report_walk walk;

	report_walk_init(&walk, &w->r->rows);
	while (walk_next(w, &walk))
		;
	report_walk_free(&walk);
	return NULL;
}

static unsigned int count_helpers(size_t threads)
{
	cpu_set_t set;
	unsigned int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned int)CPU_COUNT(&set) : 1;

	n = n < threads ? n : (unsigned int)threads;
	n = n ? n - 1 : 0;
	return n < MOST_HELPERS ? n : MOST_HELPERS;
}

static void start_helpers(struct report_walks *w)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned int n = count_helpers(w->n); w->nhelpers < n; w->nhelpers++)
		if (pthread_create(&w->helpers[w->nhelpers], &attr, help, w) != 0)
			break;
	pthread_attr_destroy(&attr);
}

struct report_walks *report_walks_begin(const struct report *r, const size_t *threads, size_t n)
{
	struct report_walks *w = report_zeroed(1, sizeof(*w));

	w->r = r;
	w->threads = threads;
	w->n = n;
	w->v = report_zeroed(n, sizeof(*w->v));
	report_walk_init(&w->own, &r->rows);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	reading_begin(&w->reading, false);
	for (size_t i = 0; i < n; i++)
		reading_expect(&w->reading, sonde_trace_thread(r->trace, threads[i]));
	start_helpers(w);
	return w;
}

static bool is_done(struct report_walks *w, size_t i, bool wait)
{
	struct timespec until;
	bool done;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&w->lock);
	if (wait && !w->v[i].done)
		pthread_cond_timedwait(&w->changed, &w->lock, &until);
	done = w->v[i].done;
	pthread_mutex_unlock(&w->lock);
	return done;
}

static void forget(struct report_walks *w, size_t i)
{
	tf_buf_free(&w->v[i].result.sums);
	free(w->v[i].result.last);
	w->v[i].result.last = NULL;
}

const struct report_walked *report_walks_take(struct report_walks *w, size_t i)
{
	bool wait = false;

	if (i)
		forget(w, i - 1);
	while (!is_done(w, i, wait)) {
		wait = !walk_next(w, &w->own);
		if (wait)
			show(w);
	}
	if (i + 1 == w->n || w->v[i].result.status != SONDE_TRACE_OK)
		reading_end(&w->reading);
	return &w->v[i].result;
}

void report_walks_end(struct report_walks *w)
{
	if (!w)
		return;
	w->ends = true;
	for (unsigned int i = 0; i < w->nhelpers; i++)
		pthread_join(w->helpers[i], NULL);
	reading_end(&w->reading);
	for (size_t i = 0; i < w->n; i++)
		forget(w, i);
	report_walk_free(&w->own);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w->v);
	free(w);
}
