/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A flight recorder: of each thread the newest chunks, in memory, in the order in which they would be in its file.  A thread
 * that has ended keeps its place until they are written or have been left out.
 */
#include <stdlib.h>
#include <string.h>

#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

struct tf_chunk_kept {
	struct tf_chunk_kept *next;
	uint64_t last; /* ticks */
	uint64_t events;
	size_t size;
	uint8_t bytes[];
};

struct tf_kept {
	struct tf_kept *next;
	struct tf_thread *thread; /* NULL: it has ended */
	struct tf_threadout out;  /* ... and this is its file */
	struct tf_chunk_kept *first, **end;
	uint64_t bytes;
	uint64_t older; /* events that were left out */
	bool gap;	/* there is something in the file, and then some were left out */
};

struct tf_flight {
	uint64_t limit, bytes;
	struct tf_kept *first;
	size_t n;
};

enum sonde_trace_status tf_writer_flight(struct tf_writer *w, uint64_t bytes)
{
	if (w->threads || w->flight || w->roll || !bytes)
		return SONDE_TRACE_E_INVALID;
	w->flight = calloc(1, sizeof(*w->flight));
	if (!w->flight) {
		tf_writer_no_memory(w);
		return tf_writer_result(w);
	}
	w->flight->limit = bytes;
	tf_json_begin(&w->line, "flight");
	tf_json_uint(&w->line, "bytes", bytes);
	tf_json_end(&w->line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

struct tf_kept *tf_kept_new(struct tf_thread *t)
{
	struct tf_flight *f = t->w->flight;
	struct tf_kept *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->thread = t;
	k->end = &k->first;
	k->next = f->first;
	f->first = k;
	f->n++;
	return k;
}

/* ---- what is kept ---- */

static struct tf_chunk_kept *take_first(struct tf_flight *f, struct tf_kept *k)
{
	struct tf_chunk_kept *c = k->first;

	k->first = c->next;
	if (!k->first)
		k->end = &k->first;
	k->bytes -= c->size;
	f->bytes -= c->size;
	return c;
}

/* Of those that hold more than their share, the one with the oldest chunk; there is one if all hold more than the limit. */
static struct tf_kept *choose(struct tf_flight *f)
{
	struct tf_kept *chosen = NULL;

	for (struct tf_kept *k = f->first; k; k = k->next)
		if (k->bytes > f->limit / f->n && (!chosen || k->first->last < chosen->first->last))
			chosen = k;
	return chosen;
}

static void leave_out_oldest(struct tf_flight *f)
{
	struct tf_kept *k;

	while (f->bytes > f->limit && (k = choose(f))) {
		struct tf_chunk_kept *c = take_first(f, k);

		k->older += c->events;
		k->gap = true;
		free(c);
	}
}

bool tf_kept_add(struct tf_thread *t, uint64_t events)
{
	const struct tf_buf *chunk = &t->w->pack.out;
	struct tf_flight *f = t->w->flight;
	struct tf_kept *k = t->kept;
	struct tf_chunk_kept *c = malloc(sizeof(*c) + chunk->size);

	if (!c)
		return false;
	*c = (struct tf_chunk_kept){ .last = t->enc.last, .events = events, .size = chunk->size };
	memcpy(c->bytes, chunk->data, chunk->size);
	*k->end = c;
	k->end = &c->next;
	k->bytes += c->size;
	f->bytes += c->size;
	leave_out_oldest(f);
	return true;
}

void tf_kept_end(struct tf_thread *t)
{
	t->kept->out = t->out;
	t->kept->thread = NULL;
}

/* ---- writing ---- */

static void put_gap(void *arg, struct tf_enc *enc)
{
	struct tf_writer *w = arg;

	if (tf_pack(&w->pack, &w->sites, &enc->batch, 0, enc->last))
		tf_writer_no_memory(w);
}

/* A chunk that says that events are missing, so that nobody takes what is before and after it for neighbours. */
static void write_gap(struct tf_writer *w, struct tf_kept *k, struct tf_threadout *out)
{
	struct tf_buf *chunk = &w->pack.out;
	struct tf_chunk_info next;
	struct tf_enc enc;

	if (tf_chunk_get(k->first->bytes, &next) || !tf_enc_init(&enc, &w->sites, put_gap, w))
		return;
	tf_enc_lost(&enc, next.start, k->older);
	chunk->size = 0;
	put_gap(w, &enc);
	if (chunk->size && !tf_threadout_next(out, chunk->data, chunk->size))
		tf_writer_failed(w, "write", out->file.name);
	tf_enc_free(&enc);
}

static void write_kept(struct tf_writer *w, struct tf_kept *k)
{
	struct tf_threadout *out = k->thread ? &k->thread->out : &k->out;

	if (k->thread)
		tf_thread_emit(k->thread);
	if (k->first && k->gap && out->chunks)
		write_gap(w, k, out);
	k->gap = k->gap && !k->first;
	while (k->first) {
		struct tf_chunk_kept *c = take_first(w->flight, k);

		if (!tf_threadout_next(out, c->bytes, c->size))
			tf_writer_failed(w, "write", out->file.name);
		free(c);
	}
}

static void finish(struct tf_writer *w, struct tf_kept *k)
{
	if (k->older)
		tf_writer_older(w, k->out.file.name, k->older);
	if (k->out.file.size && !tf_threadout_finish(&k->out))
		tf_writer_failed(w, "write", k->out.file.name);
	tf_threadout_free(&k->out);
}

void tf_flight_write(struct tf_writer *w, bool ended)
{
	struct tf_flight *f = w->flight;
	struct tf_kept **at = &f->first, *k;

	while ((k = *at)) {
		write_kept(w, k);
		if (k->thread || !ended) {
			at = &k->next;
			continue;
		}
		finish(w, k);
		*at = k->next;
		f->n--;
		free(k);
	}
}

enum sonde_trace_status tf_writer_snapshot(struct tf_writer *w)
{
	if (w->flight)
		tf_flight_write(w, true);
	tf_writer_sync(w);
	return tf_writer_result(w);
}

void tf_flight_free(struct tf_flight *f)
{
	for (struct tf_kept *k = f->first, *next; k; k = next) {
		next = k->next;
		while (k->first)
			free(take_first(f, k));
		if (!k->thread)
			tf_threadout_free(&k->out);
		free(k);
	}
	free(f);
}
