/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * speedscope's own format: names of all functions, then for each thread an "evented" profile: when which was opened and closed.
 * Source: https://www.speedscope.app/file-format-schema.json
 */
#include "launcher/export/export.h"

#include "tracefmt/json.h"

static void begin(struct export *x)
{
	tf_buf_str(&x->buf, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"sonde\",\"shared\":{\"frames\":[");
	for (size_t i = 0; i < sonde_trace_functions(x->trace); i++) {
		const struct sonde_trace_function *f = sonde_trace_function(x->trace, i);

		tf_buf_str(&x->buf, i ? ",\n{\"name\":" : "\n{\"name\":");
		tf_buf_str(&x->buf, export_quoted(x, f));
		if (*f->path)
			tf_json_str(&x->buf, "file", f->path);
		tf_buf_byte(&x->buf, '}');
	}
	/* what damaged metadata does not name */
	tf_buf_str(&x->buf, sonde_trace_functions(x->trace) ? ",\n{\"name\":\"?\"}]},\n\"profiles\":[" : "\n{\"name\":\"?\"}]},\n\"profiles\":[");
}

static void thread(struct export *x, const struct sonde_trace_thread *t)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %d %s", x->of[t->index]->name, t->tid, t->comm);
	tf_buf_str(&x->buf, x->threads++ ? ",\n{\"type\":\"evented\"" : "\n{\"type\":\"evented\"");
	tf_json_str(&x->buf, "name", text);
	tf_buf_str(&x->buf, ",\"unit\":\"nanoseconds\",\"startValue\":");
	export_put_number(&x->buf, t->first);
	tf_buf_str(&x->buf, ",\"events\":[");
	x->seen = 0;
}

static void put(struct export *x, const char *type, const struct sonde_trace_function *f, uint64_t time)
{
	tf_buf_str(&x->buf, x->seen++ ? ",\n{\"type\":\"" : "\n{\"type\":\"");
	tf_buf_str(&x->buf, type);
	tf_buf_str(&x->buf, "\",\"frame\":");
	export_put_number(&x->buf, f ? f->index : sonde_trace_functions(x->trace));
	tf_buf_str(&x->buf, ",\"at\":");
	export_put_number(&x->buf, time);
	tf_buf_byte(&x->buf, '}');
}

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	put(x, "O", ev->function, ev->time);
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		  enum export_how how, const struct sonde_trace_event *ev)
{
	(void)t, (void)how, (void)ev;
	put(x, "C", call->function, time);
}

static void thread_end(struct export *x, const struct sonde_trace_thread *t)
{
	uint64_t last = x->thread[t->index].last;

	tf_buf_str(&x->buf, "],\"endValue\":");
	export_put_number(&x->buf, last > t->first ? last : t->first);
	tf_buf_byte(&x->buf, '}');
}

static void end(struct export *x)
{
	tf_buf_str(&x->buf, "\n]}\n");
}

const struct export_format export_speedscope = { .name = "speedscope", .by_thread = true, .begin = begin, .thread = thread, .enter = enter,
						 .leave = leave, .thread_end = thread_end, .end = end };
