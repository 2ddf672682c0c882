/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/replay/replay.h"
#include "launcher/common/units.h"
#include "launcher/select/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEVEL 64u /* deeper calls tell their level instead of being moved further to the right */

static void put_thread(struct tf_buf *out, const struct replay_style *s,
		       const struct sonde_trace_thread *thread)
{
	char text[64], id[48];

	if (!s->thread_column)
		return;
	if (s->dump.ranks)
		snprintf(id, sizeof id, "%d:%d.%d",
			 sonde_trace_rank(s->trace, thread->rank_index)->rank, thread->pid,
			 thread->tid);
	else if (s->pids)
		snprintf(id, sizeof id, "%d.%d", thread->pid, thread->tid);
	else
		snprintf(id, sizeof id, "%d", thread->tid);
	snprintf(text, sizeof text, " %*s", s->dump.ranks ? 18 : s->pids ? 15 : 8, id);
	tf_buf_str(out, text);
	if (s->dump.programs)
		dump_put_program(out, s->trace, thread);
}

void replay_put_title(struct tf_buf *out, const struct replay_style *s)
{
	char text[64];

	tf_buf_str(out, "# DURATION");
	if (s->thread_column) {
		snprintf(text, sizeof text, " %*s", s->dump.ranks ? 18 : s->pids ? 15 : 8,
			 s->dump.ranks ? "RANK:PID.TID" : s->pids ? "PID.TID" : "TID");
		tf_buf_str(out, text);
		tf_buf_str(out, s->dump.programs ? " PROGRAM     " : "");
	}
	tf_buf_str(out, "  FUNCTION\n");
}

static void put_front(struct tf_buf *out, const struct replay_style *s,
		      const struct sonde_trace_thread *thread, uint32_t level, uint64_t duration)
{
	char time[UNITS_MAX] = "", text[48];

	if (duration != UINT64_MAX)
		units_time(duration, time);
	snprintf(text, sizeof text, "%10s", time);
	tf_buf_str(out, text);
	put_thread(out, s, thread);
	tf_buf_str(out, "  ");
	for (uint32_t i = 0; i < level && i < MAX_LEVEL; i++)
		tf_buf_str(out, "  ");
	if (level > MAX_LEVEL) {
		snprintf(text, sizeof text, "[%" PRIu32 "] ", level);
		tf_buf_str(out, text);
	}
}

static const char *name_of(const struct replay_style *s, const struct sonde_trace_function *f)
{
	if (!f)
		return "?";
	return s->dump.mangled ? f->name : f->demangled;
}

/* "f(a=1 b=2)"; names of C++ bring their parameters' types, which the arguments then take the place of. */
static void put_call(struct tf_buf *out, const char *name, const char *arguments)
{
	const char *types = arguments ? function_name_params(name) : NULL;
	char *own = types && types > name ? strndup(name, (size_t)(types - name)) : NULL;

	dump_put_name(out, own ? own : name);
	free(own);
	if (!strchr(name, '(') || arguments) {
		tf_buf_byte(out, '(');
		tf_buf_str(out, arguments ? arguments + 1 : "");
		tf_buf_byte(out, ')');
	}
}

static void put_result(struct tf_buf *out, const struct sonde_trace_event *leave)
{
	if (!leave || !leave->nvalues)
		return;
	tf_buf_str(out, " =");
	if (leave->nvalues == 1 && strcmp(leave->values[0].name, "return") == 0) { /* --args */
		tf_buf_byte(out, ' ');
		dump_put_bare_value(out, &leave->values[0]);
		return;
	}
	for (size_t i = 0; i < leave->nvalues; i++)
		dump_put_value(out, &leave->values[i]);
}

static void put_note(struct tf_buf *out, const char *name, const char *note)
{
	if (!name && !note)
		return;
	tf_buf_str(out, " /* ");
	if (name)
		dump_put_name(out, name);
	if (name && note)
		tf_buf_str(out, ": ");
	if (note)
		tf_buf_str(out, note);
	tf_buf_str(out, " */");
}

void replay_put_line(struct tf_buf *out, const struct replay_style *s,
		     const struct sonde_trace_thread *thread, uint32_t level,
		     const struct sonde_trace_function *function, const struct replay_line *line)
{
	const char *name = name_of(s, function);

	put_front(out, s, thread, level, line->duration);
	if (line->what == REPLAY_CLOSE) {
		tf_buf_byte(out, '}');
	} else {
		if (s->counted && function && s->counted[function->index])
			tf_buf_byte(out, '~');
		put_call(out, name, line->arguments);
		if (line->what == REPLAY_OPEN)
			tf_buf_str(out, " {");
	}
	put_result(out, line->result);
	if (line->what == REPLAY_LEAF)
		tf_buf_byte(out, ';');
	put_note(out, line->what == REPLAY_CLOSE ? name : NULL, line->note);
	tf_buf_byte(out, '\n');
}

void replay_put_mark(struct tf_buf *out, const struct replay_style *s, uint32_t level,
		     const struct sonde_trace_event *ev)
{
	char text[96];

	put_front(out, s, ev->thread, level, UINT64_MAX);
	tf_buf_str(out, "/* ");
	if (ev->kind == SONDE_TRACE_LOST && ev->lost) {
		snprintf(text, sizeof text, "%" PRIu64 " event%s lost", ev->lost,
			 ev->lost == 1 ? " is" : "s are");
		tf_buf_str(out, text);
	} else if (ev->kind == SONDE_TRACE_LOST) {
		tf_buf_str(out, "damage: it is not known how many events are lost");
	} else {
		dump_put_name(out, name_of(s, ev->function));
		if (ev->site && *ev->site->name) {
			tf_buf_byte(out, ':');
			dump_put_name(out, ev->site->name);
		}
		for (size_t i = 0; i < ev->nvalues; i++)
			dump_put_value(out, &ev->values[i]);
	}
	tf_buf_str(out, " */\n");
}
