/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chrome's trace event format, as chrome://tracing, Perfetto and speedscope read it: JSON objects with "ph" B and E for beginning
 * and end, i for a point, M for names, s and f for an arrow from call to call; times in microseconds.  Source: "Trace Event Format", Google, 2016.
 */
#include "launcher/export/export.h"

#include "launcher/mpi/mpi.h"
#include "tracefmt/json.h"

static void put_track(struct export *x, const char *phase, const struct sonde_trace_thread *t)
{
	tf_buf_str(&x->buf, x->seen++ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	tf_buf_str(&x->buf, phase);
	tf_buf_str(&x->buf, "\",\"pid\":");
	export_put_number(&x->buf, (uint64_t)x->of[t->index]->id);
	tf_buf_str(&x->buf, ",\"tid\":");
	export_put_number(&x->buf, (uint64_t)t->tid);
}

static void put_time(struct export *x, uint64_t time)
{
	tf_buf_str(&x->buf, ",\"ts\":");
	export_put_us(&x->buf, time);
}

static void put_values(struct export *x, const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++) {
		tf_buf_str(&x->buf, i ? "," : ",\"args\":{");
		tf_json_quoted(&x->buf, ev->values[i].name);
		tf_buf_byte(&x->buf, ':');
		export_put_value(&x->buf, &ev->values[i]);
	}
	if (ev->nvalues)
		tf_buf_byte(&x->buf, '}');
}

static void put_name(struct export *x, const struct sonde_trace_thread *t, const char *what, const char *name)
{
	put_track(x, "M", t);
	tf_json_str(&x->buf, "name", what);
	tf_buf_str(&x->buf, ",\"args\":{\"name\":");
	tf_json_quoted(&x->buf, name);
	tf_buf_str(&x->buf, "}}");
}

static void begin(struct export *x)
{
	tf_buf_str(&x->buf, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	for (size_t i = 0; i < sonde_trace_threads(x->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(x->trace, i);

		if (x->of[i]->first == i)
			put_name(x, t, "process_name", x->of[i]->name);
		if (*t->comm)
			put_name(x, t, "thread_name", t->comm);
	}
}

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	char name[EXPORT_NAME_MAX];

	put_track(x, "B", ev->thread);
	put_time(x, ev->time);
	if (export_name_with_place(x, ev, name, sizeof(name))) {
		tf_json_str(&x->buf, "name", name);
	} else {
		tf_buf_str(&x->buf, ",\"name\":");
		tf_buf_str(&x->buf, export_quoted(x, ev->function));
	}
	if (ev->site && ev->site->module)
		tf_json_str(&x->buf, "cat", ev->site->module->name);
	put_values(x, ev);
	tf_buf_byte(&x->buf, '}');
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		  enum export_how how, const struct sonde_trace_event *ev)
{
	(void)call;
	put_track(x, "E", t);
	put_time(x, time);
	if (how == EXPORT_RETURNED)
		put_values(x, ev);
	else
		tf_buf_str(&x->buf, how == EXPORT_UNWOUND ? ",\"args\":{\"unwound\":true}" : ",\"args\":{\"open\":true}");
	tf_buf_byte(&x->buf, '}');
}

static void point(struct export *x, const struct sonde_trace_event *ev)
{
	put_track(x, "i", ev->thread);
	put_time(x, ev->time);
	tf_buf_str(&x->buf, ",\"s\":\"t\"");
	tf_json_str(&x->buf, "name", ev->site && *ev->site->name ? ev->site->name : export_name(x, ev->function));
	put_values(x, ev);
	tf_buf_byte(&x->buf, '}');
}

static void put_arrow(struct export *x, const char *phase, const struct sonde_trace_thread *t, uint64_t time, const struct mpi_message *m)
{
	put_track(x, phase, t);
	put_time(x, time);
	tf_buf_str(&x->buf, ",\"cat\":\"mpi\",\"name\":\"message\",\"id\":");
	export_put_number(&x->buf, m->number);
	tf_buf_str(&x->buf, ",\"args\":{\"from\":");
	export_put_number(&x->buf, (uint64_t)m->from);
	tf_buf_str(&x->buf, ",\"to\":");
	export_put_number(&x->buf, (uint64_t)m->to);
	tf_buf_str(&x->buf, ",\"tag\":");
	export_put_number(&x->buf, (uint64_t)m->tag);
	tf_buf_str(&x->buf, ",\"bytes\":");
	export_put_number(&x->buf, m->bytes);
	tf_buf_byte(&x->buf, '}');
	if (*phase == 'f')
		tf_buf_str(&x->buf, ",\"bp\":\"e\"");
	tf_buf_byte(&x->buf, '}');
}

static void message(struct export *x, const struct mpi_message *m)
{
	put_arrow(x, "s", m->sender, m->sent, m);
	/* Within the call, not at its end: viewers take what is open then, and this may be written after the end. */
	put_arrow(x, "f", m->receiver, m->received - (m->received > m->receive_waited), m);
}

static void lost(struct export *x, const struct sonde_trace_event *ev)
{
	put_track(x, "i", ev->thread);
	put_time(x, ev->time);
	tf_buf_str(&x->buf, ",\"s\":\"t\",\"name\":\"events are missing\",\"args\":{\"lost\":");
	export_put_number(&x->buf, ev->lost);
	tf_buf_str(&x->buf, "}}");
}

static void end(struct export *x)
{
	tf_buf_str(&x->buf, "\n]}\n");
}

const struct export_format export_chrome = { .name = "chrome", .begin = begin, .enter = enter, .leave = leave, .point = point,
					     .message = message, .lost = lost, .end = end };
