/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde dump`: the events of a trace.  dump.c chooses them; dump-text.c and dump-json.c make a
 * line of each.
 */
#ifndef SONDE_LAUNCHER_DUMP_DUMP_H
#define SONDE_LAUNCHER_DUMP_DUMP_H

#include <stdbool.h>

#include "sonde/trace.h"
#include "tracefmt/buffer.h"

struct dump_style {
	bool ranks;	/* the trace has ranks: say which */
	bool programs;	/* it has several programs: likewise */
	bool flat;	/* no indentation */
	bool mangled;	/* names as in the symbol table */
};

/* Appends the line for @event, with its line feed. */
void dump_text(struct tf_buf *line, const struct dump_style *style, const struct sonde_trace *trace,
	       const struct sonde_trace_event *event);
void dump_json(struct tf_buf *line, const struct dump_style *style, const struct sonde_trace *trace,
	       const struct sonde_trace_event *event);

/* Parts of a line, safe for a terminal: a name; " name=value"; " PID.TID PROGRAM", padded. */
void dump_put_name(struct tf_buf *line, const char *name);
/* " NAME=VALUE", and "VALUE". */
void dump_put_value(struct tf_buf *line, const struct sonde_trace_value *v);
void dump_put_bare_value(struct tf_buf *line, const struct sonde_trace_value *v);
void dump_put_thread(struct tf_buf *line, const struct dump_style *style,
		     const struct sonde_trace *trace, const struct sonde_trace_thread *thread);

/* For all lines of the trace; what the user wants is added. */
struct dump_style dump_style(const struct sonde_trace *trace);
void dump_put_program(struct tf_buf *line, const struct sonde_trace *trace, const struct sonde_trace_thread *thread);

/* "?" for what damaged metadata does not tell. */
static inline const char *dump_function_name(const struct sonde_trace_event *event, bool mangled)
{
	if (!event->function)
		return "?";
	return mangled ? event->function->name : event->function->demangled;
}

#endif
