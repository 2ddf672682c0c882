/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread's events as calls that are properly nested: viewers draw an end without a beginning, and the reverse, over everything
 * that follows.
 */
#include "launcher/export/export.h"
#include "launcher/trace/codeplace.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "tracefmt/json.h"

static void leave(struct export *x, const struct sonde_trace_thread *t, uint64_t time, enum export_how how,
		  const struct sonde_trace_event *ev)
{
	struct export_thread *th = &x->thread[t->index];

	x->cut += how == EXPORT_OPEN;
	x->format->leave(x, t, &th->open[th->n - 1], time, how, ev);
	th->n--;
}

/* Calls that are as deep or deeper have ended, though nothing tells when. */
static void leave_from(struct export *x, const struct sonde_trace_thread *t, uint32_t depth, uint64_t time)
{
	const struct export_thread *th = &x->thread[t->index];

	while (th->n && th->open[th->n - 1].depth >= depth)
		leave(x, t, time, EXPORT_OPEN, NULL);
}

static bool enter(struct export *x, struct export_thread *th, const struct sonde_trace_event *ev)
{
	leave_from(x, ev->thread, ev->depth, ev->time);
	if (!array_room(th->open, th->room, th->n + 1))
		return false;
	th->open[th->n++] = (struct export_open){ .function = ev->function, .site = ev->site, .entered = ev->time, .depth = ev->depth };
	x->format->enter(x, ev);
	return true;
}

bool export_event(struct export *x, const struct sonde_trace_event *ev)
{
	struct export_thread *th = &x->thread[ev->thread->index];

	th->last = ev->time;
	if (ev->kind == SONDE_TRACE_LOST || ev->flags & SONDE_TRACE_AFTER_GAP)
		leave_from(x, ev->thread, 0, ev->time);
	if (ev->kind == SONDE_TRACE_LOST && x->format->lost)
		x->format->lost(x, ev);
	if (ev->kind == SONDE_TRACE_LOST || (x->wanted && !(ev->function && x->wanted[ev->function->index])))
		return true;
	switch (ev->kind) {
	case SONDE_TRACE_ENTER:
		return enter(x, th, ev);
	case SONDE_TRACE_LEAVE:
		leave_from(x, ev->thread, ev->depth + 1, ev->time);
		if (th->n && th->open[th->n - 1].depth == ev->depth && th->open[th->n - 1].function == ev->function)
			leave(x, ev->thread, ev->time, ev->flags & SONDE_TRACE_UNWOUND ? EXPORT_UNWOUND : EXPORT_RETURNED, ev);
		break;
	case SONDE_TRACE_POINT:
		if (x->format->point)
			x->format->point(x, ev);
		break;
	default:
		break;
	}
	return true;
}

void export_thread_end(struct export *x, const struct sonde_trace_thread *t)
{
	struct export_thread *th = &x->thread[t->index];

	leave_from(x, t, 0, th->last);
	free(th->open);
	free(th->flows);
	*th = (struct export_thread){ .last = th->last };
}

/* ---- names ---- */

const char *export_name(const struct export *x, const struct sonde_trace_function *f)
{
	return !f ? "?" : x->mangled ? f->name : f->demangled;
}

bool export_name_with_place(const struct export *x, const struct sonde_trace_event *ev, char *text, size_t size)
{
	size_t n;

	if (!ev->nvalues)
		return false;
	n = (size_t)snprintf(text, size, "%s ", export_name(x, ev->function));
	return n < size && codeplace_of(x->trace, ev, text + n, size - n);
}

const char *export_quoted(struct export *x, const struct sonde_trace_function *f)
{
	struct tf_buf b = { 0 };

	if (!f)
		return "\"?\"";
	if (x->quoted[f->index])
		return x->quoted[f->index];
	tf_json_quoted(&b, export_name(x, f));
	tf_buf_byte(&b, 0);
	if (b.failed) {
		tf_buf_free(&b);
		x->buf.failed = true;
		return "\"\"";
	}
	x->quoted[f->index] = (char *)b.data;
	return x->quoted[f->index];
}

const char *export_module(const struct sonde_trace_site *site)
{
	return site && site->module ? site->module->name : "";
}

/* ---- numbers ---- */

void export_put_number(struct tf_buf *b, uint64_t v)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	tf_buf_put(b, text + at, sizeof(text) - at);
}

void export_put_us(struct tf_buf *b, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);
	const char text[] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10) };

	export_put_number(b, ns / 1000);
	tf_buf_put(b, text, sizeof(text));
}

static void put_signed(struct tf_buf *b, int64_t v)
{
	if (v < 0)
		tf_buf_byte(b, '-');
	export_put_number(b, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static void put_address(struct tf_buf *b, uint64_t v)
{
	char text[20];
	size_t at = sizeof(text);

	text[--at] = '"';
	do {
		text[--at] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v);
	text[--at] = 'x';
	text[--at] = '0';
	text[--at] = '"';
	tf_buf_put(b, text + at, sizeof(text) - at);
}

#define EXACT (INT64_C(1) << 53) /* greater integers are not exact in a double */

/* JSON has no infinities and no NaN, and many of its readers no 64-bit integers: these become strings. */
void export_put_value(struct tf_buf *b, const struct sonde_trace_value *v)
{
	char text[40];
	bool large;

	switch (v->type) {
	case SONDE_TRACE_I32:
	case SONDE_TRACE_I64:
		large = v->i < -EXACT || v->i > EXACT;
		tf_buf_str(b, large ? "\"" : "");
		put_signed(b, v->i);
		tf_buf_str(b, large ? "\"" : "");
		break;
	case SONDE_TRACE_F64:
		snprintf(text, sizeof(text), isfinite(v->f) ? "%.17g" : "\"%g\"", v->f);
		tf_buf_str(b, text);
		break;
	case SONDE_TRACE_PTR:
		put_address(b, v->u);
		break;
	case SONDE_TRACE_STR:
		tf_json_quoted_n(b, v->str, v->u);
		break;
	default:
		large = v->u > EXACT;
		tf_buf_str(b, large ? "\"" : "");
		export_put_number(b, v->u);
		tf_buf_str(b, large ? "\"" : "");
		break;
	}
}
