/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/dump/dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "launcher/common/units.h"
#include "launcher/trace/processtree.h"
#include "tracefmt/json.h"

#define MAX_INDENT 64 /* columns; deeper events are not moved further to the right */

__attribute__((format(printf, 2, 3))) static void put(struct tf_buf *line, const char *fmt, ...)
{
	char text[128];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	tf_buf_str(line, text);
}

/*
 * How many bytes at @s can be shown as they are: a character that neither moves the cursor nor
 * is broken; 0: none.
 */
static unsigned printable(const char *s, const char *end)
{
	uint32_t c = 0;
	unsigned n = tf_utf8((const unsigned char *)s, (const unsigned char *)end, &c);

	return c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : n;
}

void dump_put_name(struct tf_buf *line, const char *name)
{
	const char *end = name + strlen(name);

	while (name < end) {
		unsigned n = printable(name, end);

		tf_buf_put(line, n ? name : "?", n ? n : 1);
		name += n ? n : 1;
	}
}

static void put_string(struct tf_buf *line, const char *s, uint64_t length)
{
	static const char special[] = "\"\\\n\t\r", letter[] = "\"\\ntr";
	const char *end = s + length;

	tf_buf_byte(line, '"');
	while (s < end) {
		const char *at = *s ? strchr(special, *s) : NULL;
		unsigned n = at ? 0 : printable(s, end);

		if (at)
			put(line, "\\%c", letter[at - special]);
		else if (n)
			tf_buf_put(line, s, n);
		else
			put(line, "\\x%02x", (unsigned char)*s);
		s += n ? n : 1;
	}
	tf_buf_byte(line, '"');
}

void dump_put_bare_value(struct tf_buf *line, const struct sonde_trace_value *v)
{
	switch (v->type) {
	case SONDE_TRACE_I32:
	case SONDE_TRACE_I64:
		put(line, "%" PRId64, v->i);
		break;
	case SONDE_TRACE_F64:
		put(line, "%.17g", v->f);
		break;
	case SONDE_TRACE_PTR:
		put(line, "0x%" PRIx64, v->u);
		break;
	case SONDE_TRACE_STR:
		put_string(line, v->str, v->u);
		break;
	default:
		put(line, "%" PRIu64, v->u);
		break;
	}
}

void dump_put_value(struct tf_buf *line, const struct sonde_trace_value *v)
{
	tf_buf_byte(line, ' ');
	dump_put_name(line, v->name);
	tf_buf_byte(line, '=');
	dump_put_bare_value(line, v);
}

static const char *word(const struct sonde_trace_event *event)
{
	if (event->flags & SONDE_TRACE_UNWOUND)
		return "unwound";
	switch (event->kind) {
	case SONDE_TRACE_ENTER:
		return "enter";
	case SONDE_TRACE_LEAVE:
		return "leave";
	case SONDE_TRACE_POINT:
		return "point";
	case SONDE_TRACE_LOST:
		break;
	}
	return "lost";
}

struct dump_style dump_style(const struct sonde_trace *trace)
{
	struct dump_style style = { .programs = process_several_programs(trace) };

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		style.ranks |= sonde_trace_rank(trace, i)->rank >= 0;
	return style;
}

#define PROGRAM_WIDTH 12u /* longer names move the rest to the right */

void dump_put_program(struct tf_buf *line, const struct sonde_trace *trace, const struct sonde_trace_thread *thread)
{
	const char *name = program_name(sonde_trace_rank(trace, thread->rank_index)->program);

	tf_buf_byte(line, ' ');
	dump_put_name(line, name);
	for (size_t n = units_width(name); n < PROGRAM_WIDTH; n++)
		tf_buf_byte(line, ' ');
}

void dump_put_thread(struct tf_buf *line, const struct dump_style *style,
		       const struct sonde_trace *trace, const struct sonde_trace_thread *thread)
{
	char text[48];
	int rank = sonde_trace_rank(trace, thread->rank_index)->rank;

	if (style->ranks)
		snprintf(text, sizeof text, "%d:%d.%d", rank, thread->pid, thread->tid);
	else
		snprintf(text, sizeof text, "%d.%d", thread->pid, thread->tid);
	put(line, " %-*s", style->ranks ? 18 : 15, text);
	if (style->programs)
		dump_put_program(line, trace, thread);
}

static void put_what(struct tf_buf *line, const struct dump_style *style,
		     const struct sonde_trace_event *event)
{
	unsigned indent = 2 * event->depth < MAX_INDENT ? 2 * event->depth : MAX_INDENT;

	if (event->kind == SONDE_TRACE_LOST) {
		if (event->lost)
			put(line, " %" PRIu64 " events", event->lost);
		else
			tf_buf_str(line, " damage: it is not known how many events");
		return;
	}
	put(line, " %*s", style->flat ? 0 : (int)indent, "");
	dump_put_name(line, dump_function_name(event, style->mangled));
	if (event->site && *event->site->name) {
		tf_buf_byte(line, ':');
		dump_put_name(line, event->site->name);
	}
	for (size_t i = 0; i < event->nvalues; i++)
		dump_put_value(line, &event->values[i]);
	if (event->flags & SONDE_TRACE_ORPHAN)
		tf_buf_str(line, " (was not seen to be entered)");
}

void dump_text(struct tf_buf *line, const struct dump_style *style, const struct sonde_trace *trace,
	       const struct sonde_trace_event *event)
{
	put(line, "%6" PRIu64 ".%09" PRIu64, event->time / 1000000000, event->time % 1000000000);
	dump_put_thread(line, style, trace, event->thread);
	put(line, " %-7s", word(event));
	put_what(line, style, event);
	tf_buf_byte(line, '\n');
}
