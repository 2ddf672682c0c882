/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread of the program: from its ring through the encoder into its file. */
#include <errno.h>
#include <stdlib.h>

#include "tracefmt/write/drain.h"
#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

static void discard(struct tf_thread *t)
{
	tf_enc_count(&t->enc, &t->enc.stats);
	t->discarded += t->enc.batch.n - t->enc.batch.nwaits;
	t->w->discarded += t->enc.batch.n - t->enc.batch.nwaits;
}

/* The encoder's batch goes to the file. */
static void emit(void *arg, struct tf_enc *enc)
{
	struct tf_thread *t = arg;
	struct tf_writer *w = t->w;
	struct tf_buf *chunk = &w->pack.out;

	if (!enc->batch.n)
		return;
	if (w->tally)
		tf_thread_tally(t);
	t->tallied = 0;
	if (t->broken) {
		discard(t);
		return;
	}
	if (tf_pack(&w->pack, &w->sites, &enc->batch, t->out.chunks, enc->last)) {
		tf_writer_no_memory(w);
		discard(t);
		return;
	}
	tf_probes_tell_chunk(w);
	tf_writer_tick(w);
	tf_writer_sync(w);
	if (t->kept) {
		if (tf_kept_add(t, enc->batch.n - enc->batch.nwaits)) {
			tf_pack_count(&w->pack, &enc->stats);
			return;
		}
		tf_writer_no_memory(w);
		discard(t);
		return;
	}
	if (tf_threadout_chunk(&t->out, chunk->data, chunk->size)) {
		tf_pack_count(&w->pack, &enc->stats);
		if (t->rolled)
			tf_rolled_add(t, enc->batch.n - enc->batch.nwaits);
		return;
	}
	tf_writer_failed(w, "write", t->out.file.name);
	t->broken = true;
	discard(t);
}

static enum sonde_trace_status result(struct tf_thread *t)
{
	if (t->enc.no_memory) {
		t->enc.no_memory = false;
		tf_writer_no_memory(t->w);
	}
	return tf_writer_result(t->w);
}

static void put_line(struct tf_thread *t, const char *comm)
{
	struct tf_buf *line = &t->w->line;

	tf_json_begin(line, "thread");
	tf_json_str(line, "file", t->out.file.name);
	tf_json_int(line, "pid", t->pid);
	tf_json_int(line, "tid", t->tid);
	tf_json_str(line, "comm", comm);
	tf_json_end(line);
	tf_writer_line(t->w);
}

enum sonde_trace_status tf_thread_create(struct tf_writer *w, struct tf_thread **out, int pid,
					 int tid, const char *comm, uint64_t tsc)
{
	struct tf_thread_id id = { .pid = pid, .tid = tid, .rank = w->rank, .trace = w->id,
				   .tsc = tsc };
	struct tf_thread *t = calloc(1, sizeof *t);

	*out = NULL;
	if (!t || !tf_enc_init(&t->enc, &w->sites, emit, t)) {
		free(t);
		tf_writer_no_memory(w);
		(void)tf_writer_result(w);
		return SONDE_TRACE_E_NOMEM;
	}
	t->w = w;
	t->pid = pid;
	t->tid = tid;
	if (!tf_threadout_create(&t->out, w->dirfd, &id)) {
		t->broken = true;
		tf_writer_failed(w, "create", t->out.file.name);
	} else {
		put_line(t, comm);
		if (w->flight)
			t->kept = tf_kept_new(t);
		if (w->roll)
			t->rolled = tf_rolled_new(t);
	}
	w->threads++;
	*out = t;
	return result(t);
}

enum sonde_trace_status tf_thread_drain(struct tf_thread *t, const struct tf_sub *sub,
					uint32_t *pos)
{
	*pos = tf_drain(&t->enc, sub, *pos, &t->damaged);
	tf_writer_exchanges(t->w);
	return result(t);
}

enum sonde_trace_status tf_thread_lost(struct tf_thread *t, uint64_t tsc, uint64_t count)
{
	tf_enc_lost(&t->enc, tf_enc_time(&t->enc, tsc), count);
	return result(t);
}

enum sonde_trace_status tf_thread_waited(struct tf_thread *t, uint64_t tsc, uint64_t ticks)
{
	tf_enc_waited(&t->enc, tsc, ticks);
	return result(t);
}

void tf_thread_damaged(struct tf_thread *t)
{
	t->damaged++;
}

void tf_thread_emit(struct tf_thread *t)
{
	emit(t, &t->enc);
	tf_enc_restart(&t->enc);
}

enum sonde_trace_status tf_thread_flush(struct tf_thread *t)
{
	if (t->kept)
		return SONDE_TRACE_OK;
	emit(t, &t->enc);
	tf_enc_restart(&t->enc);
	tf_writer_sync(t->w);
	return result(t);
}

static void put_counters(struct tf_buf *line, const uint64_t *counters)
{
	bool any = false;

	tf_json_key(line, "counters");
	tf_buf_byte(line, '[');
	for (uint32_t i = 0; counters && i < RING_COUNTERS; i++) {
		if (!counters[i])
			continue;
		tf_buf_str(line, any ? ",[" : "[");
		tf_json_number(line, i);
		tf_buf_byte(line, ',');
		tf_json_number(line, counters[i]);
		tf_buf_byte(line, ']');
		any = true;
	}
	tf_buf_byte(line, ']');
}

static void put_end(struct tf_thread *t, const struct tf_thread_end *end)
{
	struct tf_buf *line = &t->w->line;

	tf_json_begin(line, "thread-end");
	tf_json_str(line, "file", t->out.file.name);
	tf_json_str(line, "comm", end->comm);
	tf_json_uint(line, "lost", end->lost);
	tf_json_uint(line, "nested", end->nested);
	tf_json_uint(line, "damaged", t->damaged);
	tf_json_uint(line, "backward", t->enc.stats.backward);
	tf_json_uint(line, "discarded", t->discarded);
	tf_json_uint(line, "events", t->enc.stats.events - t->discarded);
	if (t->extra.lost)
		tf_json_uint(line, "memory-lost", t->extra.lost);
	if (end->sampled) {
		tf_json_uint(line, "bursts", end->sampled->bursts);
		tf_json_uint(line, "on-units", end->sampled->on_units);
		tf_json_uint(line, "all-units", end->sampled->all_units);
	}
	put_counters(line, end->counters);
	tf_json_end(line);
	tf_writer_line(t->w);
}

enum sonde_trace_status tf_thread_close(struct tf_thread *t, const struct tf_thread_end *end)
{
	struct tf_writer *w = t->w;
	enum sonde_trace_status status;

	emit(t, &t->enc);
	tf_enc_restart(&t->enc);
	/* After a failure the index may still find room: then the file is whole, only short. */
	if (t->kept)
		tf_kept_end(t);
	else if (t->out.file.size && !tf_threadout_finish(&t->out) && !t->broken)
		tf_writer_failed(w, "write", t->out.file.name);
	tf_probes_tell_calls(w, t->out.file.name, end);
	put_end(t, end);
	status = result(t);
	if (t->rolled)
		tf_rolled_end(t);
	else if (!t->kept)
		tf_threadout_free(&t->out);
	tf_enc_free(&t->enc);
	if (t->extra.state)
		t->extra.free(t->extra.state);
	free(t);
	w->threads--;
	return status;
}

void tf_thread_stats(const struct tf_thread *t, struct tf_thread_stats *stats)
{
	struct tf_enc_stats count = t->enc.stats;

	tf_enc_count(&t->enc, &count);
	*stats = (struct tf_thread_stats){
		.events = count.events,
		.enters = count.enters,
		.leaves = count.leaves,
		.points = count.points,
		.unwound = count.unwound,
		.orphans = count.orphans,
		.damaged = t->damaged,
		.backward = count.backward,
		.discarded = t->discarded,
		.file_bytes = t->out.file.size,
		.depth = t->enc.stack.n,
	};
}
