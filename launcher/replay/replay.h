/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde replay`: calls as a program's text would show them, with durations.
 *
 *	replay		options, threads, the loop over events
 *	replay-thread	which calls of a thread are shown, and when they are known to be
 *	replay-line	one line of output
 *
 * A call without calls in it is one line, so the line of an enter has to wait for the thread's next
 * event; with --time until the call has lasted long enough.  What waits is on the thread's stack of open
 * calls, so memory depends on the depth of calls and not on the length of the trace.
 */
#ifndef SONDE_LAUNCHER_REPLAY_REPLAY_H
#define SONDE_LAUNCHER_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/dump/dump.h"
#include "sonde/trace.h"
#include "tracefmt/buffer.h"

struct replay_style {
	const struct sonde_trace *trace;
	const bool *only, *without; /* by index of functions, or NULL */
	uint64_t min_time;
	uint64_t depth; /* levels that are shown; 0: all */
	const bool *counted; /* by function: not all of its calls were recorded; NULL: all were */
	struct dump_style dump;
	bool thread_column, pids;
};

/* An open call. */
struct replay_frame {
	const struct sonde_trace_function *function; /* NULL: unknown */
	uint64_t entered;
	uint32_t depth; /* from the reader */
	uint32_t level; /* indentation, if it may be shown */
	bool visible;	/* the filters let it through */
	bool printed;
	bool known;	/* its enter was seen */
	char *arguments; /* " a=1 b=2", or NULL; from malloc() */
};

struct replay_thread {
	const struct sonde_trace_thread *thread;
	struct replay_frame *frame;
	size_t n, room;
	size_t waiting;	  /* frames from here on are not printed */
	uint32_t inside;  /* frames of functions that only[] names */
	uint32_t outside; /* of those that without[] names */
	uint32_t level;	  /* visible frames */
	uint64_t last;
};

/* Appends the lines that @ev brings about.  False: no memory. */
bool replay_event(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out,
		  const struct sonde_trace_event *ev);
/* After the last event: what still waits. */
bool replay_finish(struct replay_thread *t, const struct replay_style *s, struct tf_buf *out);
void replay_thread_free(struct replay_thread *t);

enum replay_what { REPLAY_OPEN, REPLAY_LEAF, REPLAY_CLOSE };

/* What is not known is UINT64_MAX. */
struct replay_line {
	enum replay_what what;
	uint64_t duration;
	const char *arguments; /* NULL: none */
	const char *note;      /* "unwound", or NULL */
	const struct sonde_trace_event *result; /* a leave with values, or NULL */
};

void replay_put_title(struct tf_buf *out, const struct replay_style *s);
void replay_put_line(struct tf_buf *out, const struct replay_style *s,
		     const struct sonde_trace_thread *thread, uint32_t level,
		     const struct sonde_trace_function *function, const struct replay_line *line);
/* A point, or what is lost. */
void replay_put_mark(struct tf_buf *out, const struct replay_style *s, uint32_t level,
		     const struct sonde_trace_event *ev);

#endif
