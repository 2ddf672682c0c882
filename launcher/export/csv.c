/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row for each call when it ends, and for each point; RFC 4180. */
#include "launcher/export/export.h"

#include <string.h>

/* Text that is there from @from on, in quotes: those that are in it are doubled, zeros are spaces. */
static void quote(struct tf_buf *b, size_t from)
{
	size_t n = b->size - from, quotes = 2;
	uint8_t *to;

	for (size_t i = 0; i < n && !b->failed; i++)
		quotes += b->data[from + i] == '"';
	if (!tf_buf_extend(b, quotes))
		return;
	to = b->data + b->size;
	*--to = '"';
	for (size_t i = n; i-- > 0;) {
		uint8_t c = b->data[from + i];

		*--to = c ? c : ' ';
		if (c == '"')
			*--to = '"';
	}
	*--to = '"';
}

static void put_text(struct tf_buf *b, const char *s)
{
	size_t from = b->size;

	tf_buf_str(b, s);
	if (s[strcspn(s, "\",\n\r")])
		quote(b, from);
	tf_buf_byte(b, ',');
}

static void put_number(struct tf_buf *b, uint64_t v)
{
	export_put_number(b, v);
	tf_buf_byte(b, ',');
}

/* "name=value name=value" */
static void put_values(struct tf_buf *b, const struct sonde_trace_event *ev)
{
	size_t from = b->size;

	for (size_t i = 0; i < ev->nvalues; i++) {
		if (i)
			tf_buf_byte(b, ' ');
		tf_buf_str(b, ev->values[i].name);
		tf_buf_byte(b, '=');
		export_put_value(b, &ev->values[i]);
	}
	if (ev->nvalues)
		quote(b, from);
}

static void put_row(struct export *x, const struct sonde_trace_thread *t, uint64_t time)
{
	int rank = sonde_trace_rank(x->trace, t->rank_index)->rank;

	if (rank >= 0)
		export_put_number(&x->buf, (uint64_t)rank);
	tf_buf_byte(&x->buf, ',');
	put_number(&x->buf, (uint64_t)t->pid);
	put_number(&x->buf, (uint64_t)t->tid);
	put_number(&x->buf, time);
}

static void begin(struct export *x)
{
	tf_buf_str(&x->buf, "rank,pid,tid,start_ns,duration_ns,depth,function,file,module,end,values\r\n");
}

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	(void)x, (void)ev;
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		  enum export_how how, const struct sonde_trace_event *ev)
{
	static const char *const end[] = { "returned,", "unwound,", "open," };

	put_row(x, t, call->entered);
	put_number(&x->buf, time - call->entered);
	put_number(&x->buf, call->depth);
	put_text(&x->buf, export_name(x, call->function));
	put_text(&x->buf, call->function ? call->function->path : "");
	put_text(&x->buf, export_module(call->site));
	tf_buf_str(&x->buf, end[how]);
	if (ev)
		put_values(&x->buf, ev);
	tf_buf_str(&x->buf, "\r\n");
}

static void point(struct export *x, const struct sonde_trace_event *ev)
{
	put_row(x, ev->thread, ev->time);
	tf_buf_byte(&x->buf, ',');
	put_number(&x->buf, ev->depth);
	put_text(&x->buf, ev->site && *ev->site->name ? ev->site->name : export_name(x, ev->function));
	put_text(&x->buf, ev->function ? ev->function->path : "");
	put_text(&x->buf, export_module(ev->site));
	tf_buf_str(&x->buf, "point,");
	put_values(&x->buf, ev);
	tf_buf_str(&x->buf, "\r\n");
}

static void lost(struct export *x, const struct sonde_trace_event *ev)
{
	put_row(x, ev->thread, ev->time);
	tf_buf_str(&x->buf, ",,,,,lost,lost=");
	export_put_number(&x->buf, ev->lost);
	tf_buf_str(&x->buf, "\r\n");
}

const struct export_format export_csv = { .name = "csv", .begin = begin, .enter = enter, .leave = leave, .point = point, .lost = lost };
