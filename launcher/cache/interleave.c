/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accesses of a process's threads, in the order that they may have had: streams say when each of their chunks began, and with --mem-times what the
 * time is where threads wait; between two of these times accesses are taken to be evenly spread.  How threads really took turns within that is not known.
 */
#include "launcher/cache/cache.h"
#include "base/array.h"
#include "launcher/common/message.h"
#include "launcher/common/progress.h"
#include "launcher/memory/memtrace.h"

#include <inttypes.h>
#include <stdlib.h>

/* From a time of the stream, or the beginning of a chunk, to the next: it began at that time, and has so many accesses. */
struct span {
	uint64_t tsc, n;
	bool exact; /* a time of the stream */
};

struct lane {
	struct memtrace_thread about;
	struct mt_read_thread *read;
	const struct mt_access *v; /* what has been read, and how much of it was taken */
	size_t n, at;
	struct span *spans;
	size_t nspans, room, span;
	uint64_t taken, end; /* of the span; time when the last one ended */
	uint64_t gaps;
	bool over, ended; /* the trace says when */
};

struct cache_lanes {
	struct lane *v;
	size_t n, room;
	struct progress progress;
	uint64_t done, all; /* accesses */
};

bool cache_lanes_add(struct cache_lanes **lanes, const struct memtrace_thread *thread)
{
	struct cache_lanes *l = *lanes ? *lanes : calloc(1, sizeof(*l));

	*lanes = l;
	if (!l || !array_room(l->v, l->room, l->n + 1))
		return false;
	l->v[l->n++] = (struct lane){ .about = *thread };
	return true;
}

void cache_lanes_free(struct cache_lanes *l)
{
	for (size_t i = 0; l && i < l->n; i++) {
		if (l->v[i].read)
			mt_read_stop(l->v[i].read);
		free(l->v[i].spans);
	}
	if (l)
		free(l->v);
	free(l);
}

/* ---- times ---- */

/* Reads it once for its spans; of what cannot be read, a message has said why.  False: no memory. */
static bool measure(struct lane *l)
{
	struct mt_read_thread *t = memtrace_start(&l->about);
	const struct mt_access *v;
	bool good = true;
	size_t n;

	l->gaps = !t;
	while (t && good && (n = mt_read_next(t, &v, &l->gaps))) {
		bool exact;
		const uint64_t tsc = mt_read_time(t, &exact);

		if (!l->nspans || l->spans[l->nspans - 1].tsc != tsc) {
			good = array_room(l->spans, l->room, l->nspans + 1);
			if (good)
				l->spans[l->nspans++] = (struct span){ .tsc = tsc, .exact = exact };
		}
		if (good)
			l->spans[l->nspans - 1].n += n;
	}
	if (t) {
		l->end = mt_read_tsc(t);
		mt_read_stop(t);
	}
	l->over = !l->nspans;
	return good;
}

/* What is known of none ends with the last one that is known. */
static void set_ends(struct lane *v, size_t n)
{
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++)
		last = v[i].end > last ? v[i].end : last;
	for (size_t i = 0; i < n; i++) {
		struct lane *l = &v[i];
		const uint64_t begin = l->over ? 0 : l->spans[l->nspans - 1].tsc;

		l->ended = l->end > begin;
		if (!l->ended)
			l->end = last > begin ? last : begin + 1;
	}
}

static uint64_t span_end(const struct lane *l)
{
	return l->span + 1 < l->nspans ? l->spans[l->span + 1].tsc : l->end;
}

static double pace(const struct lane *l)
{
	const uint64_t begin = l->spans[l->span].tsc, end = span_end(l);

	return (end > begin ? (double)(end - begin) : 1) / (double)l->spans[l->span].n;
}

/* Of its next access. */
static double time_of(const struct lane *l)
{
	return (double)l->spans[l->span].tsc + pace(l) * (double)l->taken;
}

/* ---- taking turns ---- */

/* Reads on if all was taken. */
static void refill(struct lane *l)
{
	uint64_t gaps = 0; /* which have been counted */

	if (l->taken == l->spans[l->span].n) {
		l->span++;
		l->taken = 0;
	}
	if (l->at < l->n)
		return;
	l->n = mt_read_next(l->read, &l->v, &gaps);
	l->at = 0;
	l->over = !l->n || l->span == l->nspans;
}

/* The one whose turn it is, and when that of the next one is, 0: there is none; NULL: all are over. */
static struct lane *first(struct lane *v, size_t n, double *next)
{
	struct lane *found = NULL;
	double best = 0;

	*next = 0;
	for (size_t i = 0; i < n; i++) {
		const double t = v[i].over ? 0 : time_of(&v[i]);

		if (v[i].over)
			continue;
		if (!found || t < best) {
			*next = best;
			best = t;
			found = &v[i];
		} else if (*next <= 0 || t < *next) {
			*next = t;
		}
	}
	return found;
}

/* How many it may take until @next. */
static size_t turn(const struct lane *l, double next)
{
	const uint64_t left = l->spans[l->span].n - l->taken;
	size_t most = l->n - l->at < left ? l->n - l->at : (size_t)left;
	double n;

	if (next <= 0)
		return most;
	n = (next - time_of(l)) / pace(l) + 1;
	return n < (double)most ? (size_t)n : most;
}

/* An access may be known only from the chunk after it: it was made after the span before began. */
static struct cache_times times_of(const struct lane *l)
{
	const bool last = l->span + 1 == l->nspans;
	const size_t first = l->span - (l->span && !l->spans[l->span].exact);

	return (struct cache_times){ .from = l->spans[first].tsc,
				     .to = last && !l->ended ? UINT64_MAX : span_end(l) };
}

static bool run(struct cache_lanes *all, struct lane *v, size_t n, const struct cache_lanes_visitor *visitor)
{
	struct lane *l;
	double next;

	while ((l = first(v, n, &next))) {
		const size_t take = turn(l, next);
		const struct cache_times times = times_of(l);

		if (!visitor->take(visitor->arg, (size_t)(l - v), &times, l->v + l->at, take))
			return false;
		l->at += take;
		l->taken += take;
		all->done += take;
		progress_at(&all->progress, (double)all->done / (double)all->all);
		refill(l);
	}
	return true;
}

static int by_process(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;
	const uint64_t s = x->nspans ? x->spans[0].tsc : UINT64_MAX, t = y->nspans ? y->spans[0].tsc : UINT64_MAX;

	if (x->about.about.pid != y->about.about.pid)
		return x->about.about.pid < y->about.about.pid ? -1 : 1;
	return s < t ? -1 : s > t;
}

static void begin(struct lane *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!v[i].over)
			v[i].read = memtrace_start(&v[i].about);
		v[i].over = !v[i].read;
		if (v[i].read)
			refill(&v[i]);
	}
}

static uint64_t tell_gaps(const struct lane *v, size_t n)
{
	uint64_t damage = 0;

	for (size_t i = 0; i < n; i++) {
		const struct mt_files_thread *about = &v[i].about.about;

		if (v[i].gaps)
			msg_warn("thread %d.%d: %" PRIu64 " part%s missing from its memory accesses", about->pid, about->tid,
				 v[i].gaps, v[i].gaps == 1 ? " is" : "s are");
		damage += about->lost && !about->bad ? 0 : v[i].gaps;
	}
	return damage;
}

static bool run_process(struct cache_lanes *all, struct lane *v, size_t n, const struct cache_lanes_visitor *visitor)
{
	bool good;

	set_ends(v, n);
	begin(v, n);
	good = visitor->begin(visitor->arg) && run(all, v, n, visitor);
	good = visitor->end(visitor->arg, v[0].about.about.pid) && good;
	for (size_t i = 0; i < n; i++) {
		if (v[i].read)
			mt_read_stop(v[i].read);
		v[i].read = NULL;
	}
	return good;
}

bool cache_lanes_run(struct cache_lanes *l, const struct cache_lanes_visitor *visitor, uint64_t *damage)
{
	bool good = true;

	for (size_t i = 0; good && i < l->n; i++) {
		good = measure(&l->v[i]);
		for (size_t k = 0; k < l->v[i].nspans; k++)
			l->all += l->v[i].spans[k].n;
	}
	*damage += tell_gaps(l->v, l->n);
	qsort(l->v, l->n, sizeof(*l->v), by_process);
	progress_begin(&l->progress, "simulating cores");
	for (size_t i = 0, end; good && i < l->n; i = end) {
		for (end = i + 1; end < l->n && l->v[end].about.about.pid == l->v[i].about.about.pid;)
			end++;
		good = run_process(l, l->v + i, end - i, visitor);
	}
	progress_end(&l->progress);
	return good;
}
