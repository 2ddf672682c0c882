/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a leave is a jump depends on what comes next, so that has to be looked at first; it may be in the next chunk, or
 * missing.  A leave with values is no probe's, and never one.
 */
#include "tracefmt/read/tails.h"

#include <stdlib.h>

#include "base/array.h"
#include "tracefmt/read/stream.h"

static enum sonde_trace_status hold(struct tf_tails *t, const struct sonde_trace_event *leave)
{
	if (!array_room(t->left, t->room, t->n + 1))
		return SONDE_TRACE_E_NOMEM;
	t->left[t->n++] = *leave;
	return SONDE_TRACE_OK;
}

/* After damage some may be here that have been left unseen. */
static void drop_deeper(struct tf_tails *t, uint32_t depth)
{
	while (t->n && t->left[t->n - 1].depth > depth)
		t->n--;
}

/* How many have jumped in the place of the frame at @depth. */
static size_t chain(const struct tf_tails *t, uint32_t depth)
{
	size_t n = 0;

	while (n < t->n && t->left[t->n - 1 - n].depth == depth)
		n++;
	return n;
}

/* Those that are left before @function is entered in the place of the frame at @depth. */
static size_t over(const struct tf_tails *t, uint32_t depth, const struct sonde_trace_function *function)
{
	size_t n = chain(t, depth);

	for (size_t i = n; i; i--)
		if (t->left[t->n - i].function == function)
			return i;
	return n > TF_TAILS_MAX;
}

/* The innermost one that is due. */
static void give_due(struct tf_stream *s)
{
	struct tf_tails *t = &s->tails;
	struct sonde_trace_event *e = &s->event;

	*e = t->left[--t->n];
	e->depth += (uint32_t)t->n;
	e->time = t->now.time;
	e->ticks = t->now.ticks;
	e->waited = t->now.waited;
	e->off = t->now.off;
	e->flags |= SONDE_TRACE_TAIL | (t->now.flags & SONDE_TRACE_UNWOUND);
	t->due--;
}

/* True: there is something to be given before it. */
static bool enter(struct tf_stream *s)
{
	struct tf_tails *t = &s->tails;
	struct sonde_trace_event *e = &s->event;

	drop_deeper(t, e->depth);
	if (!(e->flags & SONDE_TRACE_TAIL)) {
		t->n -= chain(t, e->depth);
	} else if (t->n) {
		t->due = over(t, e->depth, e->function);
		t->now = t->left[t->n - 1];
	}
	if (t->due) {
		t->next = *e;
		t->ahead = true;
		return true;
	}
	e->depth += (uint32_t)t->n;
	return false;
}

/* True: it is to be given later.  What it leaves is at @s->event, unless a failure is in *@status. */
static bool leave(struct tf_stream *s, enum sonde_trace_status *status)
{
	struct tf_tails *t = &s->tails;
	struct sonde_trace_event e = s->event;
	bool tail = false;

	drop_deeper(t, e.depth);
	if (!e.nvalues)
		*status = tf_stream_tail_follows(s, &tail, &t->next, &t->ahead);
	s->event = e;
	if (*status)
		return false;
	if (tail) {
		*status = hold(t, &e);
		return true;
	}
	t->due = chain(t, e.depth);
	t->now = e;
	s->event.depth += (uint32_t)t->n;
	return false;
}

enum sonde_trace_status tf_tails_next(struct tf_stream *s)
{
	struct tf_tails *t = &s->tails;
	struct sonde_trace_event *e = &s->event;
	enum sonde_trace_status status = SONDE_TRACE_OK;
	bool later = true;

	while (later && !status) {
		if (t->due) {
			give_due(s);
			break;
		}
		if (t->ahead)
			*e = t->next;
		else
			status = tf_stream_next(s);
		t->ahead = false;
		if (status || !t->as_calls)
			break;
		later = false;
		if (e->kind == SONDE_TRACE_ENTER)
			later = enter(s);
		else if (e->kind == SONDE_TRACE_LEAVE && !(e->flags & SONDE_TRACE_ORPHAN))
			later = leave(s, &status);
		else if (e->flags & SONDE_TRACE_UNREADABLE)
			t->n = 0;
		else
			e->depth += (uint32_t)t->n;
	}
	return status;
}
