/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of a thread: frames that are not shown are on it too, since the filters ask what encloses a
 * call.  An enclosing call has lasted longer than what it encloses, so frames are printed from the outside
 * inwards, and those that wait are the innermost ones.
 */
#include "base/array.h"
#include "launcher/replay/replay.h"

#include <stdlib.h>
#include <string.h>

void replay_thread_free(struct replay_thread *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->frame[i].arguments);
	free(t->frame);
	*t = (struct replay_thread){ 0 };
}

static bool named(const bool *set, const struct sonde_trace_function *f)
{
	return set && f && set[f->index];
}

/* ---- printing ---- */

/* Frames that wait and have lasted long enough at @time; up to @end. */
static void print_waiting(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
			  size_t end, uint64_t time)
{
	for (; t->waiting < end; t->waiting++) {
		struct replay_frame *f = &t->frame[t->waiting];

		if (!f->visible)
			continue;
		if (time - f->entered < s->min_time)
			return;
		replay_put_line(out, s, t->thread, f->level, f->function,
				&(struct replay_line){ .what = REPLAY_OPEN, .duration = UINT64_MAX,
						       .arguments = f->arguments });
		f->printed = true;
	}
}

/* The end of the top frame. @leave: NULL if none was recorded. */
static void print_end(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
		      uint64_t time, const struct sonde_trace_event *leave)
{
	const struct replay_frame *f = &t->frame[t->n - 1];
	struct replay_line line = { .what = f->printed ? REPLAY_CLOSE : REPLAY_LEAF,
				    .duration = f->known && leave ? time - f->entered : UINT64_MAX,
				    .arguments = f->arguments, .result = leave };

	if (!f->visible || (!f->printed && time - f->entered < s->min_time))
		return;
	print_waiting(t, s, out, t->n - 1, time);
	if (!leave)
		line.note = "did not return";
	else if (leave->flags & SONDE_TRACE_UNWOUND)
		line.note = "unwound";
	replay_put_line(out, s, t->thread, f->level, f->function, &line);
}

/* ---- the stack ---- */

static struct replay_frame *push(struct replay_thread *t)
{
	if (!array_room(t->frame, t->room, t->n + 1))
		return NULL;
	return &t->frame[t->n++];
}

static void pop(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
		uint64_t time, const struct sonde_trace_event *leave)
{
	struct replay_frame *f = &t->frame[t->n - 1];

	print_end(t, s, out, time, leave);
	t->inside -= named(s->only, f->function);
	t->outside -= named(s->without, f->function);
	t->level -= f->visible;
	free(f->arguments);
	t->n--;
	if (t->waiting > t->n)
		t->waiting = t->n;
}

/* " a=1 b=2"; NULL: none, or no memory. */
static char *arguments_of(const struct sonde_trace_event *ev)
{
	struct tf_buf text = { 0 };

	if (!ev->nvalues)
		return NULL;
	for (size_t i = 0; i < ev->nvalues; i++)
		dump_put_value(&text, &ev->values[i]);
	tf_buf_byte(&text, 0);
	if (!text.failed)
		return (char *)text.data;
	tf_buf_free(&text);
	return NULL;
}

static bool enter(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
		  const struct sonde_trace_event *ev)
{
	struct replay_frame *f;
	bool visible;

	while (t->n && t->frame[t->n - 1].depth >= ev->depth)
		pop(t, s, out, t->last, NULL);
	t->inside += named(s->only, ev->function);
	t->outside += named(s->without, ev->function);
	visible = (!s->only || t->inside) && !t->outside && (!s->depth || t->level < s->depth);
	/* With a least time this call may not be shown: then those around it need not be open. */
	if (visible && !s->min_time)
		print_waiting(t, s, out, t->n, ev->time);
	f = push(t);
	if (!f)
		return false;
	*f = (struct replay_frame){ .function = ev->function, .entered = ev->time,
				    .depth = ev->depth, .level = t->level, .visible = visible,
				    .known = true };
	if (!visible)
		return true;
	t->level++;
	f->arguments = arguments_of(ev);
	return true;
}

/* A leave whose enter was not seen: in a range of times, or after a loss. */
static void leave_unknown(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
			  const struct sonde_trace_event *ev)
{
	struct replay_line line = { .what = REPLAY_CLOSE, .duration = UINT64_MAX, .result = ev,
				    .note = "was not seen to be entered" };

	if ((s->only && !t->inside && !named(s->only, ev->function)) || t->outside ||
	    named(s->without, ev->function) || s->min_time || (s->depth && t->level >= s->depth))
		return;
	print_waiting(t, s, out, t->n, ev->time);
	replay_put_line(out, s, t->thread, t->level, ev->function, &line);
}

static void leave(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
		  const struct sonde_trace_event *ev)
{
	while (t->n && t->frame[t->n - 1].depth > ev->depth)
		pop(t, s, out, t->last, NULL);
	if (!(ev->flags & SONDE_TRACE_ORPHAN) && t->n && t->frame[t->n - 1].depth == ev->depth) {
		if (!ev->function || t->frame[t->n - 1].function == ev->function) {
			pop(t, s, out, ev->time, ev);
			return;
		}
		pop(t, s, out, t->last, NULL);
	}
	leave_unknown(t, s, out, ev);
}

static void mark(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
		 const struct sonde_trace_event *ev)
{
	bool lost = ev->kind == SONDE_TRACE_LOST;

	if (!lost && ((s->only && !t->inside) || t->outside || s->min_time ||
		      (s->depth && t->level >= s->depth)))
		return;
	print_waiting(t, s, out, t->n, ev->time);
	replay_put_mark(out, s, t->level, ev);
}

bool replay_event(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
		  const struct sonde_trace_event *ev)
{
	bool good = true;

	t->thread = ev->thread;
	if (ev->kind == SONDE_TRACE_ENTER)
		good = enter(t, s, out, ev);
	else if (ev->kind == SONDE_TRACE_LEAVE)
		leave(t, s, out, ev);
	else
		mark(t, s, out, ev);
	t->last = ev->time;
	return good && !out->failed;
}

/* The innermost call that is shown is a line of its own; those around it are left open. */
bool replay_finish(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out)
{
	while (t->n) {
		const struct replay_frame *f = &t->frame[t->n - 1];

		if (f->visible && (f->printed || t->last - f->entered >= s->min_time))
			break;
		free(t->frame[--t->n].arguments);
	}
	if (t->n && !t->frame[t->n - 1].printed)
		print_end(t, s, out, t->last, NULL);
	return !out->failed;
}
