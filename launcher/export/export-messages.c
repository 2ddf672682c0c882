/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/export/export.h"
#include "launcher/mpi/mpi.h"

#include <stdlib.h>

#include "base/array.h"

static void add_flow(struct export *x, const struct sonde_trace_thread *t, uint64_t number, bool ends)
{
	struct export_thread *th = &x->thread[t->index];

	if (!array_room(th->flows, th->flows_room, th->nflows + 1)) {
		x->buf.failed = true;
		return;
	}
	th->flows[th->nflows++] = (struct export_flow){ number, ends };
}

static void fact(void *arg, const struct sonde_trace_event *ev, const struct mpi_fact *f)
{
	struct export *x = arg;

	if (ev->time < x->from)
		return;
	if (x->format->fact)
		x->format->fact(x, ev, f);
	if (x->format->flows && f->message)
		add_flow(x, ev->thread, f->message, false);
}

/* A flow ends in the call that receives; one that is matched later, in an event of another thread, has no place any more. */
static void matched(void *arg, const struct sonde_trace_event *ev, const struct mpi_message *m)
{
	struct export *x = arg;

	if (m->sent < x->from || m->receive_waited < x->from)
		return;
	if (x->format->message)
		x->format->message(x, m);
	if (x->format->flows && ev->thread == m->receiver)
		add_flow(x, m->receiver, m->number, true);
}

bool export_messages_begin(struct export *x)
{
	const struct mpi_sink sink = { .fact = fact, .matched = matched, .arg = x };
	const struct export_format *f = x->format;

	if (!f || x->wanted || !(f->fact || f->message || f->flows) || !mpi_is_there(x->trace))
		return true;
	x->mpi = mpi_reader_new(x->trace, &sink);
	return x->mpi;
}

bool export_messages(struct export *x, const struct sonde_trace_event *ev)
{
	return !x->mpi || mpi_event(x->mpi, ev);
}

void export_messages_end(struct export *x)
{
	mpi_reader_free(x->mpi);
	x->mpi = NULL;
}
