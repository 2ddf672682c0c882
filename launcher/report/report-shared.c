// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What a rank sends, in words of 8 bytes:
 *
 *	struct header
 *	for each of its threads: struct entry, the name of its file, the text about damage, its sums as report_kept_put() has made them
 *
 * All ranks are the same program; a helper that saw another trace, or none, has sent nothing of use.
 */
#include "launcher/report/report-shared.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/ranks/ranks.h"

struct header {
	uint64_t rows, slots, modules, classes, threads; /* of the trace, as this rank has read it */
};

struct entry {
	uint64_t file, last, sums; /* bytes; texts with a NUL; 0: there is none */
	uint64_t bad_chunks, unknown, status, error;
};

struct report_shared {
	const struct report *r;
	const size_t *threads;
	size_t n;
	unsigned int *owner;	      /* of each thread, a rank */
	struct report_walked *walked; /* of each thread */
	bool *have;		      /* likewise: is it there? */
	void **data;		      /* of each rank, and of what was missing; the walks point into them */
};

static struct header header_of(const struct report *r)
{
	return (struct header){ r->rows.n, r->rows.nslots, r->rows.nmodules, r->rows.nclasses, sonde_trace_threads(r->trace) };
}

static const struct sonde_trace_thread *thread_of(const struct report_shared *s, size_t i)
{
	return sonde_trace_thread(s->r->trace, s->threads[i]);
}

/* ---- who does what ---- */

static bool same_process(const struct sonde_trace_thread *a, const struct sonde_trace_thread *b)
{
	return a->rank_index == b->rank_index && a->pid == b->pid;
}

/* By processes. */
static void share(struct report_shared *s)
{
	uint64_t *events = report_zeroed(s->n, sizeof(*events));
	unsigned int *owner = report_zeroed(s->n, sizeof(*owner));
	size_t processes = 0;

	for (size_t i = 0; i < s->n; i++) {
		processes += !i || !same_process(thread_of(s, i - 1), thread_of(s, i));
		events[processes - 1] += thread_of(s, i)->events;
	}
	(void)!report_need(ranks_share(events, processes, owner) ? s : NULL);
	processes = 0;
	for (size_t i = 0; i < s->n; i++) {
		processes += !i || !same_process(thread_of(s, i - 1), thread_of(s, i));
		s->owner[i] = owner[processes - 1];
	}
	free(events);
	free(owner);
}

/* ---- walking ---- */

static void put_text(struct tf_buf *to, const char *text, uint64_t bytes)
{
	static const char zeros[8];

	tf_buf_put(to, text, bytes);
	tf_buf_put(to, zeros, -bytes % 8);
}

static void put_entry(struct tf_buf *to, const struct sonde_trace_thread *t, const struct report_walked *w)
{
	const struct entry e = {
		.file = strlen(t->file) + 1, .last = w->last ? strlen(w->last) + 1 : 0, .sums = w->sums.size,
		.bad_chunks = w->bad_chunks, .unknown = w->unknown, .status = (uint64_t)w->status, .error = (uint64_t)w->error,
	};

	tf_buf_put(to, &e, sizeof(e));
	put_text(to, t->file, e.file);
	if (w->last)
		put_text(to, w->last, e.last);
	if (e.sums)
		tf_buf_put(to, w->sums.data, e.sums);
}

/* Over some threads, by their place in s->threads. */
static void walk(const struct report_shared *s, const size_t *places, size_t n, struct tf_buf *to)
{
	const struct header h = header_of(s->r);
	size_t *threads = report_zeroed(n, sizeof(*threads));
	struct report_walks *walks;

	for (size_t i = 0; i < n; i++)
		threads[i] = s->threads[places[i]];
	walks = report_walks_begin(s->r, threads, n);
	tf_buf_put(to, &h, sizeof(h));
	for (size_t i = 0; i < n; i++)
		put_entry(to, thread_of(s, places[i]), report_walks_take(walks, i));
	report_walks_end(walks);
	free(threads);
	(void)!report_need(to->failed ? NULL : to);
}

/* ---- what has come ---- */

static const char *take_text(struct tf_cursor *c, uint64_t bytes)
{
	const uint8_t *text = bytes ? tf_cursor_take(c, bytes) : NULL;

	tf_cursor_take(c, -bytes % 8);
	return text && !text[bytes - 1] ? (const char *)text : NULL;
}

/* Of the thread at place @i. */
static bool take_entry(struct report_shared *s, struct tf_cursor *c, size_t i)
{
	const uint8_t *at = tf_cursor_take(c, sizeof(struct entry));
	const char *file, *last;
	const uint8_t *sums;
	struct entry e;

	if (!at)
		return false;
	memcpy(&e, at, sizeof(e));
	file = take_text(c, e.file);
	last = take_text(c, e.last);
	sums = tf_cursor_take(c, e.sums);
	if (c->failed || !file || strcmp(file, thread_of(s, i)->file) != 0)
		return false;
	s->walked[i] = (struct report_walked){
		.bad_chunks = e.bad_chunks, .unknown = e.unknown, .status = (enum sonde_trace_status)e.status, .error = (int)e.error,
		.last = (char *)(uintptr_t)last, .sums = { .data = (uint8_t *)(uintptr_t)sums, .size = e.sums },
	};
	s->have[i] = true;
	return true;
}

/* Its entries are of these places, in this order. */
static void take(struct report_shared *s, const void *data, size_t bytes, const size_t *places, size_t n)
{
	const struct header h = header_of(s->r);
	struct tf_cursor c = { .at = data, .left = bytes };
	const uint8_t *header = tf_cursor_take(&c, sizeof(h));

	for (size_t i = 0; header && memcmp(header, &h, sizeof(h)) == 0 && i < n; i++)
		if (!take_entry(s, &c, places[i]))
			return;
}

/* The places that a rank owns, or that nothing has come of: ranks_count(). */
static size_t places_of(const struct report_shared *s, unsigned int rank, size_t *places)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (rank < ranks_count() ? s->owner[i] == rank : !s->have[i])
			places[n++] = i;
	return n;
}

/* By ourselves: our own share, or what is missing. */
static void walk_own(struct report_shared *s, unsigned int rank, size_t *places)
{
	size_t n = places_of(s, rank, places);
	struct tf_buf made = { 0 };

	if (!n)
		return;
	walk(s, places, n, &made);
	s->data[rank] = made.data;
	take(s, made.data, made.size, places, n);
}

static void help(const struct report_shared *s, size_t *places)
{
	size_t n = places_of(s, ranks_me(), places);
	struct tf_buf made = { 0 };

	walk(s, places, n, &made);
	ranks_send(made.data, made.size);
	tf_buf_free(&made);
}

struct report_shared *report_shared_begin(const struct report *r, const size_t *threads, size_t n)
{
	struct report_shared *s = report_zeroed(1, sizeof(*s));
	size_t *places = report_zeroed(n, sizeof(*places)), bytes;
	unsigned int count = ranks_count();

	*s = (struct report_shared){ .r = r, .threads = threads, .n = n };
	s->owner = report_zeroed(n, sizeof(*s->owner));
	s->walked = report_zeroed(n, sizeof(*s->walked));
	s->have = report_zeroed(n, sizeof(*s->have));
	s->data = report_zeroed(count + 1, sizeof(*s->data));
	share(s);
	if (ranks_me() != 0) {
		help(s, places);
		report_shared_end(s);
		free(places);
		return NULL;
	}
	walk_own(s, 0, places);
	for (unsigned int i = 1; i < count; i++) {
		s->data[i] = report_need(ranks_receive(i, &bytes));
		take(s, s->data[i], bytes, places, places_of(s, i, places));
	}
	walk_own(s, count, places);
	free(places);
	return s;
}

const struct report_walked *report_shared_take(const struct report_shared *s, size_t i)
{
	return &s->walked[i];
}

void report_shared_end(struct report_shared *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; i <= ranks_count(); i++)
		free(s->data[i]);
	free(s->data);
	free(s->owner);
	free(s->walked);
	free(s->have);
	free(s);
}
