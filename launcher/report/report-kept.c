// SPDX-License-Identifier: GPL-3.0-or-later
/*
 *	struct header
 *	for each thread: struct thread, its modules' times, its classes' times, struct line[lines], amounts of these lines
 *	uint64_t: XXH3 of all before it
 *
 * all of it words of 8 bytes as they are in memory: it is for this machine.  Rows are numbered as report_rows_init() does, which
 * follows from the trace.
 */
#include "launcher/report/report-kept.h"
#include "base/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 3 /* of the format, and of what the figures mean */
#define FILE_NAME "report-sums"
#define WORTH 1000000 /* events that take longer to read than the files do */

static const char magic[8] = "SondeRpt";

struct header {
	char magic[8];
	struct kept_key key;
	uint64_t rows, slots, modules, classes, threads;
};

struct thread {
	uint64_t index; /* of the trace */
	uint64_t lines, amounts;
	uint64_t wait, events, waited, inside;
	double probes;
};

struct line {
	uint64_t row;
	uint64_t calls, total, self, unwound, open, orphans, wait, blocked, preempted, counted[COUNTERS], estimated;
	struct report_durations ended, unended;
	double variance;
};

#define WORDS(type) (sizeof(type) / sizeof(uint64_t))

/* ---- what it follows from ---- */

static bool is_whole(const struct sonde_trace *trace)
{
	uint64_t events = 0;

	if (sonde_trace_bad_ranks(trace, NULL))
		return false;
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(trace, i);

		if (k->ending == SONDE_TRACE_UNFINISHED || !k->complete || k->bad_lines)
			return false;
	}
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		if (t->status != SONDE_TRACE_OK || t->bad_chunks || !t->ended || !t->file)
			return false;
		events += t->events;
	}
	return events >= WORTH;
}

static void hash_text(XXH3_state_t *state, const char *text)
{
	text = text ? text : "";
	XXH3_128bits_update(state, text, strlen(text) + 1);
}

static void hash_numbers(XXH3_state_t *state, const uint64_t *v, size_t n)
{
	XXH3_128bits_update(state, v, n * sizeof(*v));
}

static bool hash_trace(XXH3_state_t *state, const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(trace, i);

		hash_numbers(state, (const uint64_t[]){ (uint64_t)k->rank, (uint64_t)k->run, (uint64_t)k->pid, (uint64_t)k->number,
							k->left_out }, 5);
		if (!kept_hash_in(state, k->dir, "metadata"))
			return false;
	}
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		hash_numbers(state, (const uint64_t[]){ t->rank_index }, 1);
		hash_text(state, path_basename(t->file));
		if (!kept_hash_file(state, t->file))
			return false;
	}
	return true;
}

static struct kept_key make_key(const struct report *r)
{
	const uint64_t words[] = { VERSION, WORDS(struct line), r->request->raw };
	XXH3_state_t *state = XXH3_createState();
	struct kept_key key = { 0 };
	XXH128_hash_t hash;

	if (state && XXH3_128bits_reset(state) == XXH_OK) {
		hash_numbers(state, words, 3);
		hash_text(state, r->request->tail_calls);
		if (hash_trace(state, r->trace)) {
			hash = XXH3_128bits_digest(state);
			key = (struct kept_key){ { hash.low64, hash.high64 } };
		}
	}
	XXH3_freeState(state);
	return key;
}

static struct header header_of(const struct report_kept *k)
{
	struct header h = { .key = k->key, .rows = k->rows->n, .slots = k->rows->nslots, .modules = k->rows->nmodules,
			    .classes = k->rows->nclasses, .threads = k->nthreads };

	memcpy(h.magic, magic, sizeof(magic));
	return h;
}

/* ---- what is kept is checked ---- */

/* Words before a thread's lines. */
static size_t words_before(const struct report_rows *rows)
{
	return WORDS(struct thread) + rows->nmodules + 1 + rows->nclasses;
}

static bool check_lines(const struct report_rows *rows, const uint64_t *at, const struct thread *t)
{
	uint64_t amounts = 0;

	for (uint64_t i = 0; i < t->lines; i++, at += WORDS(struct line)) {
		struct line l;

		memcpy(&l, at, sizeof(l));
		if (l.row >= rows->n || l.estimated > 1 || !isfinite(l.variance))
			return false;
		amounts += report_row_slots(rows, l.row);
	}
	return amounts == t->amounts;
}

/* How many words a thread takes; 0: it is none. */
static size_t check_thread(const struct report_kept *k, const uint64_t *at, size_t left)
{
	size_t before = words_before(k->rows);
	struct thread t;

	if (left < before)
		return 0;
	memcpy(&t, at, sizeof(t));
	left -= before;
	if (t.index >= k->nthreads || k->at[t.index] || t.lines > k->rows->n || t.lines > left / WORDS(struct line) ||
	    t.amounts > left - t.lines * WORDS(struct line) || !(t.probes >= 0 && t.probes < 1e18) ||
	    !check_lines(k->rows, at + before, &t))
		return 0;
	return before + t.lines * WORDS(struct line) + t.amounts;
}

static bool check(const struct report_kept *k, size_t words)
{
	const struct header h = header_of(k);
	size_t at = WORDS(h), end = words - 1;

	if (words <= WORDS(h) || memcmp(k->data, &h, sizeof(h)) != 0 ||
	    k->data[end] != XXH3_64bits(k->data, end * sizeof(uint64_t)))
		return false;
	for (size_t i = 0; i < k->nthreads; i++) {
		size_t n = check_thread(k, k->data + at, end - at);

		if (!n)
			return false;
		k->at[k->data[at]] = at;
		at += n;
	}
	return at == end;
}

/* ---- reading ---- */

void report_kept_begin(struct report_kept *k, const struct report *r)
{
	struct header h;
	size_t bytes = 0;

	*k = (struct report_kept){ .rows = &r->rows, .dir = r->dir, .nthreads = sonde_trace_threads(r->trace), .useless = true };
	if (r->phases || r->offcpu.thread || !is_whole(r->trace))
		return;
	k->key = make_key(r);
	k->data = kept_read(k->dir, FILE_NAME, &k->key, &bytes);
	k->at = report_zeroed(k->nthreads, sizeof(*k->at));
	k->useless = false;
	/* what is kept does not make more of the trace than there is of events */
	for (size_t i = 0; i < k->nthreads; i++)
		k->most += sonde_trace_thread(r->trace, i)->file_bytes;
	if (k->data && bytes % sizeof(uint64_t) == 0 && check(k, bytes / sizeof(uint64_t)))
		return;
	free(k->data);
	k->data = NULL;
	h = header_of(k);
	tf_buf_put(&k->made, &h, sizeof(h));
}

bool report_kept_is_there(const struct report_kept *k)
{
	return k->data != NULL;
}

static const uint64_t *take_line(struct report_walk *w, const struct line *l, const uint64_t *amount)
{
	const struct report_rows *rows = w->rows;
	struct report_stats *s = report_sums_row(&w->sums, (uint32_t)l->row);

	s->calls = l->calls;
	s->total = l->total;
	s->self = l->self;
	s->ended = l->ended;
	s->unwound = l->unwound;
	s->open = l->open;
	s->orphans = l->orphans;
	s->wait = l->wait;
	s->blocked = l->blocked;
	s->preempted = l->preempted;
	memcpy(s->counted, l->counted, sizeof(s->counted));
	s->unended = l->unended;
	s->estimated = l->estimated;
	s->variance = l->variance;
	for (uint32_t i = rows->row[l->row].slots; i != REPORT_NO_SLOT; i = rows->slots[i].next)
		w->sums.amount[i] = *amount++;
	return amount;
}

static void take(const uint64_t *at, struct report_walk *w)
{
	const struct report_rows *rows = w->rows;
	const uint64_t *amount;
	struct cost_clock clock = { 0 };
	struct thread t;
	struct line l;

	memcpy(&t, at, sizeof(t));
	clock.waited = t.waited;
	clock.probes = t.probes;
	report_walk_start(w, &clock, NULL, NULL, NULL);
	w->wait = t.wait;
	w->events = t.events;
	w->inside = t.inside;
	at += WORDS(t);
	memcpy(w->module_time, at, (rows->nmodules + 1) * sizeof(*at));
	at += rows->nmodules + 1;
	if (rows->nclasses)
		memcpy(w->class_time, at, rows->nclasses * sizeof(*at));
	at += rows->nclasses;
	amount = at + t.lines * WORDS(l);
	for (uint64_t i = 0; i < t.lines; i++, at += WORDS(l)) {
		memcpy(&l, at, sizeof(l));
		amount = take_line(w, &l, amount);
	}
}

void report_kept_take(const struct report_kept *k, const struct sonde_trace_thread *thread, struct report_walk *w)
{
	take(k->data + k->at[thread->index], w);
}

void report_kept_get(const struct tf_buf *sums, struct report_walk *w)
{
	take((const uint64_t *)(const void *)sums->data, w);
}

/* ---- writing ---- */

static void put_line(struct tf_buf *to, uint32_t row, const struct report_stats *s)
{
	struct line l = {
		.row = row, .calls = s->calls, .total = s->total, .self = s->self, .unwound = s->unwound, .open = s->open,
		.orphans = s->orphans, .wait = s->wait, .blocked = s->blocked, .preempted = s->preempted,
		.estimated = s->estimated, .ended = s->ended, .unended = s->unended,
		.variance = s->variance,
	};

	memcpy(l.counted, s->counted, sizeof(l.counted));
	tf_buf_put(to, &l, sizeof(l));
}

void report_kept_put(struct tf_buf *to, const struct sonde_trace_thread *thread, const struct report_walk *w)
{
	const struct report_rows *rows = w->rows;
	const struct report_sums *s = &w->sums;
	struct thread t = { .index = thread->index, .lines = s->nseen, .wait = w->wait, .events = w->events,
			    
			    .inside = w->inside, .waited = w->clock.waited, .probes = w->clock.probes };

	for (size_t i = 0; i < s->nseen; i++)
		t.amounts += report_row_slots(rows, s->seen[i]);
	tf_buf_put(to, &t, sizeof(t));
	tf_buf_put(to, w->module_time, (rows->nmodules + 1) * sizeof(*w->module_time));
	if (rows->nclasses)
		tf_buf_put(to, w->class_time, rows->nclasses * sizeof(*w->class_time));
	for (size_t i = 0; i < s->nseen; i++)
		put_line(to, s->seen[i], &s->row[s->seen[i]]);
	for (size_t i = 0; i < s->nseen; i++)
		for (uint32_t n = rows->row[s->seen[i]].slots; n != REPORT_NO_SLOT; n = rows->slots[n].next)
			tf_buf_put(to, &s->amount[n], sizeof(s->amount[n]));
}

void report_kept_add(struct report_kept *k, const struct tf_buf *sums, bool damaged)
{
	k->useless |= damaged || k->made.size + sums->size > k->most;
	if (k->useless)
		return;
	tf_buf_put(&k->made, sums->data, sums->size);
	k->added++;
}

void report_kept_end(struct report_kept *k)
{
	uint64_t hash;

	if (!k->data && !k->useless && k->added && k->added == k->nthreads && !k->made.failed) {
		hash = XXH3_64bits(k->made.data, k->made.size);
		tf_buf_put(&k->made, &hash, sizeof(hash));
		if (!k->made.failed)
			kept_write(k->dir, FILE_NAME, &k->key, k->made.data, k->made.size);
	}
	tf_buf_free(&k->made);
	free(k->data);
	free(k->at);
	*k = (struct report_kept){ 0 };
}
