/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events that were asked for, given to a format: by time, or one thread after the other. */
#include "launcher/export/export.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <stdlib.h>

#define FULL (64u << 10) /* bytes of output that are held back at most */

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

int export_begin(struct export *x)
{
	size_t threads = sonde_trace_threads(x->trace), functions = sonde_trace_functions(x->trace);

	x->quoted = calloc(functions + 1, sizeof(*x->quoted));
	x->marked = calloc(functions + 1, sizeof(*x->marked));
	x->thread = calloc(threads + 1, sizeof(*x->thread));
	return export_processes(x) && x->quoted && x->marked && x->thread && export_messages_begin(x) ? 0 : no_memory();
}

void export_end(struct export *x)
{
	for (size_t i = 0; x->quoted && i < sonde_trace_functions(x->trace); i++)
		free(x->quoted[i]);
	for (size_t i = 0; x->thread && i < sonde_trace_threads(x->trace); i++)
		free(x->thread[i].open), free(x->thread[i].flows);
	export_messages_end(x);
	free(x->quoted);
	free(x->marked);
	free(x->thread);
	export_processes_free(x);
	tf_buf_free(&x->buf);
}

static bool flush(struct export_reader *r)
{
	struct tf_buf *b = &r->x.buf;
	bool good = fwrite(b->data, 1, b->size, r->x.out) == b->size;

	if (!good)
		r->x.why = errno;
	tf_buf_clear(b);
	return good;
}

/* What is sent or received belongs into the call that does it; flows belong to the call's own event. */
static bool export_one(struct export_reader *r, const struct sonde_trace_event *ev)
{
	bool first = ev->kind != SONDE_TRACE_ENTER || r->x.format->flows;

	return (!first || export_messages(&r->x, ev)) && (ev->time < r->x.from || export_event(&r->x, ev)) &&
	       (first || export_messages(&r->x, ev));
}

static int export_events(struct export_reader *r, struct sonde_trace_iter *iter)
{
	struct pick *pick = r->pick;
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status = SONDE_TRACE_OK;

	pick_tail_calls(iter, pick->tail_calls);
	if (pick->from && !r->x.mpi) /* what was sent earlier is received later */
		status = sonde_trace_seek(iter, pick->from);
	while (!status && !(status = sonde_trace_next(iter, &ev))) {
		reading_event(&r->reading);
		if (ev->time > pick->to)
			return 0;
		pick->met |= ev->time >= pick->from;
		if (!export_one(r, ev) || r->x.buf.failed)
			return no_memory();
		if (r->x.failed)
			return EXIT_USAGE;
		if (r->x.buf.size > FULL && !flush(r))
			return EXIT_USAGE; /* who closes the file says so */
	}
	return status == SONDE_TRACE_END ? 0 : pick_read_error(status);
}

static void thread_begin(struct export_reader *r, size_t i)
{
	if (r->x.format->thread)
		r->x.format->thread(&r->x, sonde_trace_thread(r->x.trace, i));
}

static void thread_end(struct export_reader *r, size_t i)
{
	export_thread_end(&r->x, sonde_trace_thread(r->x.trace, i));
	if (r->x.format->thread_end)
		r->x.format->thread_end(&r->x, sonde_trace_thread(r->x.trace, i));
}

/* Reads what @iter gives and frees it. */
static int finish(struct export_reader *r, enum sonde_trace_status status, struct sonde_trace_iter *iter)
{
	int result = status ? pick_read_error(status) : export_events(r, iter);

	/* what could be read is written */
	(void)pick_damage(iter, &r->damage);
	sonde_trace_iter_free(iter);
	return result;
}

static int export_by_thread(struct export_reader *r)
{
	int result = 0;

	for (size_t i = 0; i < sonde_trace_threads(r->x.trace) && !result; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(r->x.trace, i);
		struct sonde_trace_iter *iter = NULL;
		enum sonde_trace_status status;

		if (!pick_thread(t, r->pick) || !t->events)
			continue;
		thread_begin(r, i);
		status = sonde_trace_iterate(r->x.trace, i, &iter);
		result = finish(r, status, iter);
		thread_end(r, i);
	}
	return result;
}

static int export_by_time(struct export_reader *r)
{
	struct sonde_trace_iter *iter = NULL;
	enum sonde_trace_status status = sonde_trace_merge(r->x.trace, pick_thread, r->pick, &iter);
	int result;

	for (size_t i = 0; i < sonde_trace_threads(r->x.trace); i++)
		if (pick_thread(sonde_trace_thread(r->x.trace, i), r->pick) && sonde_trace_thread(r->x.trace, i)->events)
			thread_begin(r, i);
	result = finish(r, status, iter);
	for (size_t i = 0; i < sonde_trace_threads(r->x.trace); i++)
		thread_end(r, i);
	return result;
}

int export_read(struct export_reader *r)
{
	struct export *x = &r->x;
	int result;

	if (x->format->begin)
		x->format->begin(x);
	result = x->format->by_thread && !x->mpi ? export_by_thread(r) : export_by_time(r);
	if (x->format->end)
		x->format->end(x);
	if (x->buf.failed && !result)
		result = no_memory();
	if (x->out && !flush(r) && !result)
		result = EXIT_USAGE;
	pick_warn_none(r->pick);
	return x->failed ? EXIT_USAGE : result;
}
