/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events of one thread, one after the other, with the frames that are open. */
#ifndef SONDE_TRACEFMT_READ_STREAM_H
#define SONDE_TRACEFMT_READ_STREAM_H

#include "tracefmt/read/tails.h"
#include "tracefmt/read/trace-internal.h"
#include "tracefmt/read/unpack.h"

struct tf_open_frame {
	uint64_t entered;
	const struct sonde_trace_function *function;
};

struct tf_stream {
	const struct tf_part *part;
	const struct tf_thread_in *thread;
	size_t next_chunk;
	bool loaded; /* a chunk is being read */
	uint32_t next; /* event of it */
	struct tf_unpacked chunk;
	uint32_t *seen;	     /* of each entry: events so far */
	size_t roomseen;
	struct tf_buf packed;
	struct tf_open_frame *frame; /* those whose enter has been read */
	size_t depth, room;
	uint64_t unknown;    /* open below them */
	bool after_gap;
	uint64_t waited;     /* ns, up to the next event */
	uint64_t time;	     /* of the last event */
	uint64_t ticks;
	size_t switches;     /* of the part, that lie before it */
	struct sonde_trace_event event; /* the last one */
	struct sonde_trace_value value[TF_MAX_VALUES];
	struct tf_buf text;  /* strings of its values */
	struct tf_stretch stretch; /* of the part's timeline, around ticks */
	uint64_t damage;     /* places that could not be read */
	struct sonde_trace_message finding;
	struct tf_tails tails;
};

void tf_stream_init(struct tf_stream *s, const struct tf_part *part,
		    const struct tf_thread_in *thread);
void tf_stream_free(struct tf_stream *s);

/* The next event into s->event.  Returns OK, END, E_NOMEM, E_SYSTEM. */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_stream_next(struct tf_stream *s);

/*
 * Is the next event an enter by a tail call?  May load the next chunk, and change s->event.  What comes next if that
 * cannot be read is in *@gap, and *@is_gap true: tf_stream_next() will not tell it.  Returns OK, E_NOMEM, E_SYSTEM.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_stream_tail_follows(struct tf_stream *s, bool *follows, struct sonde_trace_event *gap, bool *is_gap);

/* Makes the chunk that holds @time the next one. */
void tf_stream_seek(struct tf_stream *s, uint64_t time);

#endif /* SONDE_TRACEFMT_READ_STREAM_H */
