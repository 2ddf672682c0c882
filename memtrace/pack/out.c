/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory streams while they are written: a header as that of a thread file, then pieces.  A piece is a header
 * of 48 bytes and zstd frames, of the bytes as they are, or rearranged.
 */
#include <errno.h>
#include <stdio.h>
#include <xxhash.h>

#include "memtrace/pack/files.h"
#include "memtrace/pack/pack.h"
#include "tracefmt/write/writer-internal.h"

static bool create(struct tf_writer *w, struct tf_pieces *p, const char *name, const char *magic,
		   int pid, int tid)
{
	uint8_t header[TF_HEADER_SIZE] = { 0 };

	p->tried = true;
	memcpy(header, magic, TF_MAGIC_SIZE);
	tf_put32(header + 8, TF_MEMORY_VERSION);
	tf_put32(header + 12, (uint32_t)pid);
	tf_put32(header + 16, (uint32_t)tid);
	tf_put32(header + 20, (uint32_t)w->rank);
	tf_put64(header + 24, w->id);
	tf_put64(header + 56, XXH64(header, 56, 0));
	if (tf_outfile_create(&p->file, w->dirfd, name) &&
	    tf_outfile_append(&p->file, header, sizeof header))
		return true;
	tf_writer_failed(w, "create", name);
	p->broken = true;
	return false;
}

static void put_head(uint8_t *at, const struct tf_pieces *p, size_t packed, size_t raw, enum tf_piece_kind kind)
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

/* Appends a piece.  What cannot be written is discarded, and counted. */
static void append(struct tf_writer *w, struct tf_pieces *p, const void *raw, size_t bytes, bool stream)
{
	enum tf_piece_kind kind = TF_PIECE_PLAIN;
	size_t packed = SIZE_MAX;
	uint8_t *at;

	tf_buf_clear(&w->memory);
	at = tf_buf_need(&w->memory, TF_PIECE_SIZE + (stream ? tf_pack_room(bytes) : ZSTD_compressBound(bytes)));
	if (at)
		packed = stream ? tf_pack_chunk(w, &p->packing, at + TF_PIECE_SIZE, raw, bytes, &kind) :
				  tf_pack_plain(w, at + TF_PIECE_SIZE, raw, bytes);
	if (packed == SIZE_MAX) {
		tf_writer_no_memory(w);
		p->lost++;
		p->all_lost++;
		w->memory_discarded++;
		return;
	}
	put_head(at, p, packed, bytes, kind);
	if (!tf_outfile_append(&p->file, at, TF_PIECE_SIZE + packed)) {
		tf_writer_failed(w, "write", p->file.name);
		p->broken = true;
		p->all_lost++;
		w->memory_discarded++;
		return;
	}
	p->n++;
	p->lost = 0;
}

/* ---- objects ---- */

static void put_object(struct tf_buf *b, const struct tf_memory_object *o)
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
	memset(at + 32, 0, TF_OBJECT_SIZE - 32);
	tf_buf_put(b, o->nodes, (size_t)o->nnodes * TF_MD_SIZE);
	tf_buf_put(b, o->ops, (size_t)o->nops * TF_MD_SIZE);
	tf_buf_put(b, o->path, path);
}

enum sonde_trace_status tf_writer_memory_object(struct tf_writer *w,
						const struct tf_memory_object *object)
{
	struct tf_buf b = { 0 };
	bool fits;

	if (!w->code.tried)
		create(w, &w->code, "code.memory", TF_MAGIC_CODE, 0, 0);
	put_object(&b, object);
	fits = b.size <= TF_MAX_RAW;
	if (b.failed)
		tf_writer_no_memory(w);
	else if (fits && !w->code.broken)
		append(w, &w->code, b.data, b.size, false);
	tf_buf_free(&b);
	tf_buf_free(&w->memory); /* chunks are much smaller */
	return fits ? tf_writer_result(w) : SONDE_TRACE_E_INVALID;
}

/* ---- chunks ---- */

/* The name of its thread's file with another ending. */
static void open_stream(struct tf_thread *t)
{
	char name[sizeof t->out.file.name + 8];
	size_t n = strlen(t->out.file.name);

	snprintf(name, sizeof name, "%.*s.memory", n > 6 ? (int)n - 6 : 0, t->out.file.name);
	create(t->w, &t->memory, name, TF_MAGIC_MEMORY, t->pid, t->tid);
}

enum sonde_trace_status tf_thread_memory(struct tf_thread *t, const void *chunk, size_t bytes)
{
	if (bytes > TF_MAX_RAW)
		return SONDE_TRACE_E_INVALID;
	if (!t->memory.tried && t->out.file.name[0])
		open_stream(t);
	if (t->memory.broken || !t->memory.tried) {
		t->w->memory_discarded++;
		t->memory.all_lost++;
	} else {
		append(t->w, &t->memory, chunk, bytes, true);
	}
	return tf_writer_result(t->w);
}

enum sonde_trace_status tf_thread_memory_lost(struct tf_thread *t, uint64_t chunks)
{
	t->memory.lost += chunks;
	t->memory.all_lost += chunks;
	return tf_writer_result(t->w);
}
