/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/dump/dump.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/trace/processtree.h"
#include "tracefmt/json.h"

static void put_unsigned(struct tf_buf *line, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)v);
	tf_buf_str(line, text);
}

/* JSON has no infinities and no NaN: they become strings. */
static void put_float(struct tf_buf *line, double v)
{
	char text[40];

	snprintf(text, sizeof text, isfinite(v) ? "%.17g" : "\"%g\"", v);
	tf_buf_str(line, text);
}

static void put_value(struct tf_buf *line, const struct sonde_trace_value *v)
{
	char text[24];

	switch (v->type) {
	case SONDE_TRACE_I32:
	case SONDE_TRACE_I64:
		tf_json_signed(line, v->i);
		break;
	case SONDE_TRACE_F64:
		put_float(line, v->f);
		break;
	case SONDE_TRACE_PTR:
		snprintf(text, sizeof text, "\"0x%llx\"", (unsigned long long)v->u);
		tf_buf_str(line, text);
		break;
	case SONDE_TRACE_STR:
		tf_json_quoted_n(line, v->str, v->u);
		break;
	default:
		put_unsigned(line, v->u);
		break;
	}
}

static void put_fields(struct tf_buf *line, const struct sonde_trace_event *event)
{
	tf_json_key(line, "fields");
	for (size_t i = 0; i < event->nvalues; i++) {
		tf_buf_byte(line, i ? ',' : '{');
		tf_json_quoted(line, event->values[i].name);
		tf_buf_byte(line, ':');
		put_value(line, &event->values[i]);
	}
	tf_buf_byte(line, '}');
}

static void put_number(struct tf_buf *line, const char *key, uint64_t v)
{
	tf_json_key(line, key);
	put_unsigned(line, v);
}

static void put_function(struct tf_buf *line, const struct dump_style *style,
			 const struct sonde_trace_event *event)
{
	const struct sonde_trace_site *site = event->site;

	put_number(line, "depth", event->depth);
	tf_json_str(line, "function", dump_function_name(event, style->mangled));
	if (site && site->module)
		tf_json_str(line, "module", site->module->name);
	if (site && *site->name)
		tf_json_str(line, "name", site->name);
	if (event->kind == SONDE_TRACE_LEAVE && !(event->flags & SONDE_TRACE_ORPHAN))
		put_number(line, "entered", event->entered);
	if (event->flags & SONDE_TRACE_UNWOUND)
		tf_json_bool(line, "unwound", true);
	if (event->flags & SONDE_TRACE_ORPHAN)
		tf_json_bool(line, "orphan", true);
	if (event->nvalues)
		put_fields(line, event);
}

static void put_program(struct tf_buf *line, const struct sonde_trace_rank *program)
{
	tf_json_int(line, "number", program->number);
	tf_json_str(line, "program", program_name(program->program));
}

void dump_json(struct tf_buf *line, const struct dump_style *style, const struct sonde_trace *trace,
	       const struct sonde_trace_event *event)
{
	static const char *const kind[] = { "", "enter", "leave", "point", "lost" };

	tf_json_begin(line, kind[event->kind]);
	put_number(line, "time", event->time);
	if (style->ranks)
		tf_json_int(line, "rank", sonde_trace_rank(trace, event->thread->rank_index)->rank);
	tf_json_int(line, "pid", event->thread->pid);
	tf_json_int(line, "tid", event->thread->tid);
	if (style->programs)
		put_program(line, sonde_trace_rank(trace, event->thread->rank_index));
	if (event->kind == SONDE_TRACE_LOST)
		put_number(line, "lost", event->lost);
	else
		put_function(line, style, event);
	tf_json_end(line);
}
