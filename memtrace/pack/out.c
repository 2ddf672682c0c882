/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory streams while they are written: a header as that of a thread file, then pieces.  A piece is a header
 * of 48 bytes and zstd frames, of the bytes as they are, or rearranged.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "memtrace/pack/files.h"
#include "memtrace/pack/out.h"
#include "tracefmt/format.h"

/* Streams may be written side by side: what a writer keeps is changed by one at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- what is kept ---- */

static void free_out(void *state)
{
	struct mt_out *o = state;

	while (o->idle) {
		struct mt_maker *m = o->idle;

		o->idle = m->next;
		tf_buf_free(&m->piece);
		mt_packer_free(&m->packer);
		free(m);
	}
	free(o);
}

static void free_thread_out(void *state)
{
	struct mt_thread_out *o = state;

	mt_group_free(&o->packing.group, &o->all->windows);
	free(o);
}

static void *keep(struct tf_writer *w, struct tf_extra *e, size_t bytes, void (*free)(void *state))
{
	e->state = calloc(1, bytes);
	e->free = free;
	if (!e->state)
		tf_writer_no_memory(w);
	return e->state;
}

struct mt_out *mt_out(struct tf_writer *w)
{
	struct tf_extra *e = tf_writer_extra(w);
	struct mt_out *o;

	pthread_mutex_lock(&lock);
	o = e->state ? e->state : keep(w, e, sizeof(struct mt_out), free_out);
	pthread_mutex_unlock(&lock);
	return o;
}

/* NULL: no memory. */
static struct mt_maker *take_maker(struct mt_out *o)
{
	struct mt_maker *m;

	pthread_mutex_lock(&lock);
	m = o->idle;
	if (m)
		o->idle = m->next;
	pthread_mutex_unlock(&lock);
	if (!m)
		m = calloc(1, sizeof(*m));
	if (m)
		m->packer.windows = &o->windows;
	return m;
}

static void give_back(struct mt_out *o, struct mt_maker *m)
{
	pthread_mutex_lock(&lock);
	m->next = o->idle;
	o->idle = m;
	pthread_mutex_unlock(&lock);
}

struct mt_thread_out *mt_thread_out(struct tf_thread *t)
{
	struct tf_writer *w = tf_thread_writer(t);
	struct tf_extra *e = tf_thread_extra(t);
	struct mt_out *all = mt_out(w);
	struct mt_thread_out *o;

	if (e->state || !all)
		return e->state;
	o = keep(w, e, sizeof(*o), free_thread_out);
	if (!o)
		return NULL;
	o->all = all;
	o->pieces.lost = e->lost;
	return o;
}

/* ---- pieces ---- */

static void put_head(uint8_t *at, const struct mt_pieces *p, size_t packed, size_t raw, enum tf_piece_kind kind)
{
	memcpy(at, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
	tf_put32(at + 8, p->n);
	tf_put32(at + 12, (uint32_t)packed);
	tf_put32(at + 16, (uint32_t)raw);
	tf_put32(at + 20, kind);
	tf_put64(at + 24, p->lost);
	tf_put64(at + 32, XXH64(at + TF_PIECE_SIZE, packed, 0));
	tf_put64(at + 40, XXH64(at, 40, 0));
}

/* Appends a piece; @packing: of its stream, NULL: it is of none.  False: it cannot be written. */
static bool make(struct tf_writer *w, struct mt_maker *m, struct mt_pieces *p, const void *raw, size_t bytes,
		 struct mt_packing *packing)
{
	enum tf_piece_kind kind = TF_PIECE_PLAIN;
	size_t packed = SIZE_MAX;
	uint8_t *at = NULL;

	if (m) {
		tf_buf_clear(&m->piece);
		at = tf_buf_need(&m->piece, TF_PIECE_SIZE + (packing ? mt_pack_room(bytes) : ZSTD_compressBound(bytes)));
	}
	if (at)
		packed = packing ? mt_pack_chunk(&m->packer, packing, at + TF_PIECE_SIZE, raw, bytes, &kind) :
				   mt_pack_plain(&m->packer, at + TF_PIECE_SIZE, raw, bytes);
	if (packed == SIZE_MAX) {
		tf_writer_no_memory(w);
		p->lost++;
		return false;
	}
	put_head(at, p, packed, bytes, kind);
	if (!tf_extra_append(w, &p->file, at, TF_PIECE_SIZE + packed))
		return false;
	p->n++;
	p->lost = 0;
	return true;
}

static bool append(struct tf_writer *w, struct mt_out *o, struct mt_pieces *p, const void *raw, size_t bytes,
		   struct mt_packing *packing)
{
	struct mt_maker *m = take_maker(o);
	bool good = make(w, m, p, raw, bytes, packing);

	if (m && !packing)
		tf_buf_free(&m->piece); /* chunks are much smaller */
	if (m)
		give_back(o, m);
	return good;
}

bool mt_pieces_append(struct tf_writer *w, struct mt_pieces *p, const char *name, const char *magic, const void *raw,
		      size_t bytes)
{
	struct mt_out *o = mt_out(w);

	if (o && !p->file.tried)
		tf_writer_extra_file(w, &p->file, name, magic, TF_MEMORY_VERSION);
	return o && !p->file.broken && append(w, o, p, raw, bytes, NULL);
}

/* ---- objects ---- */

static void put_object(struct tf_buf *b, const struct mt_files_object *o)
{
	uint32_t path = (uint32_t)strlen(o->path);
	uint8_t *at = tf_buf_extend(b, TF_OBJECT_SIZE);

	if (!at)
		return;
	tf_put64(at, o->base);
	tf_put64(at + 8, o->load);
	tf_put32(at + 16, o->first);
	tf_put32(at + 20, o->nnodes);
	tf_put32(at + 24, o->nops);
	tf_put32(at + 28, path);
	tf_put32(at + 32, o->object);
	memset(at + 36, 0, TF_OBJECT_SIZE - 36);
	tf_buf_put(b, o->nodes, (size_t)o->nnodes * TF_MD_SIZE);
	tf_buf_put(b, o->ops, (size_t)o->nops * TF_MD_SIZE);
	tf_buf_put(b, o->path, path);
}

enum sonde_trace_status mt_write_object(struct tf_writer *w,
					const struct mt_files_object *object)
{
	struct mt_out *o = mt_out(w);
	struct tf_buf b = { 0 };
	bool fits;

	if (!o)
		return tf_writer_result(w);
	put_object(&b, object);
	fits = b.size <= TF_MAX_RAW;
	if (b.failed)
		tf_writer_no_memory(w);
	else if (fits && !mt_pieces_append(w, &o->code, "code.memory", TF_MAGIC_CODE, b.data, b.size))
		tf_writer_extra(w)->lost++;
	tf_buf_free(&b);
	return fits ? tf_writer_result(w) : SONDE_TRACE_E_INVALID;
}

/* ---- chunks ---- */

/* False: it cannot be written. */
static bool put_chunk(struct tf_thread *t, const void *chunk, size_t bytes)
{
	struct mt_thread_out *o = mt_thread_out(t);
	struct mt_pieces *p;

	if (!o)
		return false;
	p = &o->pieces;
	if (!p->file.tried)
		tf_thread_extra_file(t, &p->file, ".memory", TF_MAGIC_MEMORY, TF_MEMORY_VERSION);
	return p->file.tried && !p->file.broken && append(tf_thread_writer(t), o->all, p, chunk, bytes, &o->packing);
}

/* What cannot be written is discarded, and counted. */
enum sonde_trace_status mt_write_chunk(struct tf_thread *t, const void *chunk, size_t bytes)
{
	struct tf_writer *w = tf_thread_writer(t);

	if (bytes > TF_MAX_RAW)
		return SONDE_TRACE_E_INVALID;
	if (!put_chunk(t, chunk, bytes)) {
		__atomic_fetch_add(&tf_writer_extra(w)->lost, 1, __ATOMIC_RELAXED);
		tf_thread_extra(t)->lost++;
	}
	return tf_writer_result(w);
}

enum sonde_trace_status mt_write_lost(struct tf_thread *t, uint64_t chunks)
{
	struct mt_thread_out *o = mt_thread_out(t);

	if (o)
		o->pieces.lost += chunks;
	tf_thread_extra(t)->lost += chunks;
	return tf_writer_result(tf_thread_writer(t));
}
