/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iterating over one thread, or over several merged in time. */
#include <stdlib.h>

#include "tracefmt/read/stream.h"

struct sonde_trace_iter {
	struct tf_stream *stream;
	size_t n;
	size_t *heap; /* streams that have an event, the earliest first */
	size_t nheap;
	bool begun;
	enum sonde_trace_status failed;
};

static struct sonde_trace_iter *make(size_t n)
{
	struct sonde_trace_iter *it = calloc(1, sizeof *it);

	if (!it)
		return NULL;
	it->stream = calloc(n ? n : 1, sizeof *it->stream);
	it->heap = calloc(n ? n : 1, sizeof *it->heap);
	if (it->stream && it->heap)
		return it;
	sonde_trace_iter_free(it);
	return NULL;
}

static void add(struct sonde_trace_iter *it, const struct tf_thread_in *thread)
{
	tf_stream_init(&it->stream[it->n++], thread->part, thread);
}

enum sonde_trace_status sonde_trace_iterate(const struct sonde_trace *trace, size_t thread,
					    struct sonde_trace_iter **out)
{
	*out = NULL;
	if (thread >= trace->threads.n)
		return SONDE_TRACE_E_INVALID;
	*out = make(1);
	if (!*out)
		return SONDE_TRACE_E_NOMEM;
	add(*out, trace->threads.v[thread]);
	return SONDE_TRACE_OK;
}

enum sonde_trace_status
sonde_trace_merge(const struct sonde_trace *trace,
		  bool (*want)(const struct sonde_trace_thread *thread, void *arg), void *arg,
		  struct sonde_trace_iter **out)
{
	*out = make(trace->threads.n);
	if (!*out)
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0; i < trace->threads.n; i++) {
		const struct tf_thread_in *thread = trace->threads.v[i];

		if (!want || want(&thread->pub, arg))
			add(*out, thread);
	}
	return SONDE_TRACE_OK;
}

static bool before(const struct sonde_trace_iter *it, size_t a, size_t b)
{
	uint64_t x = it->stream[a].event.time, y = it->stream[b].event.time;

	return x != y ? x < y : a < b;
}

/* Moves the element at @i down to its place. */
static void sift_down(struct sonde_trace_iter *it, size_t i)
{
	size_t moving = it->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < it->nheap && before(it, it->heap[child + 1], it->heap[child]))
			child++;
		if (child >= it->nheap || !before(it, it->heap[child], moving))
			break;
		it->heap[i] = it->heap[child];
		i = child;
	}
	it->heap[i] = moving;
}

/* The first event of every stream. */
static enum sonde_trace_status begin(struct sonde_trace_iter *it)
{
	it->begun = true;
	it->nheap = 0;
	for (size_t i = 0; i < it->n; i++) {
		enum sonde_trace_status status = tf_tails_next(&it->stream[i]);

		if (status == SONDE_TRACE_OK)
			it->heap[it->nheap++] = i;
		else if (status != SONDE_TRACE_END)
			return status;
	}
	for (size_t i = it->nheap / 2; i-- > 0;)
		sift_down(it, i);
	return SONDE_TRACE_OK;
}

/* The event after the one that was handed out last. */
static enum sonde_trace_status advance(struct sonde_trace_iter *it)
{
	enum sonde_trace_status status;

	if (!it->nheap)
		return SONDE_TRACE_OK;
	status = tf_tails_next(&it->stream[it->heap[0]]);
	if (status == SONDE_TRACE_END) {
		it->heap[0] = it->heap[--it->nheap];
		status = SONDE_TRACE_OK;
	}
	if (!status && it->nheap)
		sift_down(it, 0);
	return status;
}

enum sonde_trace_status sonde_trace_next(struct sonde_trace_iter *it,
					 const struct sonde_trace_event **event)
{
	*event = NULL;
	if (!it->failed)
		it->failed = it->begun ? advance(it) : begin(it);
	if (it->failed)
		return it->failed;
	if (!it->nheap)
		return SONDE_TRACE_END;
	*event = &it->stream[it->heap[0]].event;
	return SONDE_TRACE_OK;
}

enum sonde_trace_status sonde_trace_seek(struct sonde_trace_iter *it, uint64_t time)
{
	if (it->failed)
		return it->failed;
	for (size_t i = 0; i < it->n; i++)
		tf_stream_seek(&it->stream[i], time);
	it->begun = false;
	return SONDE_TRACE_OK;
}

void sonde_trace_tail_calls(struct sonde_trace_iter *it, bool as_calls)
{
	for (size_t i = 0; i < it->n; i++)
		it->stream[i].tails.as_calls = as_calls;
}

uint64_t sonde_trace_damage(const struct sonde_trace_iter *it, const char **text)
{
	uint64_t damage = 0;

	if (text)
		*text = "";
	for (size_t i = 0; i < it->n; i++) {
		damage += it->stream[i].damage;
		if (text && it->stream[i].damage)
			*text = it->stream[i].finding.text;
	}
	return damage;
}

void sonde_trace_iter_free(struct sonde_trace_iter *it)
{
	if (!it)
		return;
	for (size_t i = 0; i < it->n; i++)
		tf_stream_free(&it->stream[i]);
	free(it->stream);
	free(it->heap);
	free(it);
}
