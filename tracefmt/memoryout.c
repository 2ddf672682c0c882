/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory streams while they are written: a header as that of a thread file, then pieces.  A piece is a header
 * of 48 bytes and a zstd frame, of the bytes as they are, or rearranged.
 */
#include <errno.h>
#include <stdio.h>
#include <xxhash.h>
#include <zstd.h>

#include "tracefmt/memory.h"
#include "tracefmt/memoryindex.h"
#include "tracefmt/memorywords.h"
#include "tracefmt/writer-internal.h"

#define LEVEL 1

enum {
	SLOWER = 16,	/* one of the later ways, which take longer, has to be better by one part in so many */
	SKIP = 7,	/* trials that a way which was far from the best is left out of */
};

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

static void put_head(uint8_t *at, const struct tf_pieces *p, size_t packed, size_t raw)
{
	memcpy(at, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
	tf_put32(at + 8, p->n);
	tf_put32(at + 12, (uint32_t)packed);
	tf_put32(at + 16, (uint32_t)raw);
	tf_put32(at + 20, p->written);
	tf_put64(at + 24, p->lost);
	tf_put64(at + 32, XXH64(at + TF_PIECE_SIZE, packed, 0));
	tf_put64(at + 40, XXH64(at, 40, 0));
}

static size_t pack(struct tf_writer *w, uint8_t *at, size_t room, const void *raw, size_t bytes)
{
	return ZSTD_compressCCtx(w->pack.zstd, at, room, raw, bytes, LEVEL);
}

/* The body of a piece; NULL: no memory. */
static const uint8_t *arrange(struct tf_writer *w, enum tf_piece_way way, const void *raw, size_t bytes,
			      size_t *size)
{
	uint8_t *words, *scratch;

	*size = bytes;
	if (way == TF_PIECE_PLAIN)
		return raw;
	tf_buf_clear(&w->words);
	tf_buf_clear(&w->scratch);
	words = tf_buf_need(&w->words, tf_index_bound(bytes));
	scratch = tf_buf_need(&w->scratch, tf_index_bound(bytes));
	if (!words || !scratch)
		return NULL;
	*size = tf_words_size(bytes);
	if (way == TF_PIECE_SPREAD)
		tf_words_spread(words, raw, bytes);
	else
		*size = tf_index_make(words, raw, bytes, scratch);
	return words;
}

/* 0: no memory, or another error. */
static size_t pack_as(struct tf_writer *w, enum tf_piece_way way, uint8_t *at, size_t room, const void *raw,
		      size_t bytes)
{
	size_t size, packed;
	const uint8_t *body = arrange(w, way, raw, bytes, &size);

	if (!body)
		return 0;
	packed = pack(w, at, room, body, size);
	return ZSTD_isError(packed) ? 0 : packed;
}

/* Pieces that are packed in all ways; those that follow as was least. */
static bool is_trial(uint32_t n)
{
	return n % 16 == 0 || (n & (n - 1)) == 0;
}

static size_t pack_best(struct tf_writer *w, struct tf_pieces *p, uint8_t *at, size_t room, const void *raw,
			size_t bytes)
{
	size_t best = 0;

	for (int way = 0; way < TF_PIECE_WAYS; way++) {
		size_t packed;

		if (p->skip[way] && p->skip[way]--)
			continue;
		packed = pack_as(w, way, at + (best ? room : 0), room, raw, bytes);
		if (!packed || (best && packed >= best - best / SLOWER)) {
			p->skip[way] = packed > best + best / 4 ? SKIP : 0;
			continue;
		}
		if (best)
			memcpy(at, at + room, packed);
		best = packed;
		p->way = (uint8_t)way;
	}
	return best;
}

/* By itself. */
static size_t pack_alone(struct tf_writer *w, struct tf_pieces *p, uint8_t *at, size_t room, const void *raw,
			 size_t bytes)
{
	size_t packed = is_trial(p->n) ? pack_best(w, p, at, room, raw, bytes) :
					 pack_as(w, p->way, at, room, raw, bytes);

	p->written = packed ? p->way : TF_PIECE_PLAIN;
	return packed ? packed : pack(w, at, room, raw, bytes);
}

/* Together with what is in front of it; 0: that is not done any more. */
static size_t pack_far(struct tf_writer *w, struct tf_pieces *p, uint8_t *at, size_t room, const void *raw,
		       size_t bytes)
{
	bool start, judge = is_trial(p->n) && tf_far_is_warm(&p->far);
	size_t packed = tf_far_pack(&p->far, &w->far_room, at, room, raw, bytes, &start), alone;

	if (!packed)
		return 0;
	p->written = start ? TF_PIECE_FAR_START : TF_PIECE_FAR;
	if (judge) {
		alone = pack_best(w, p, at + room, room, raw, bytes);
		tf_far_judge(&p->far, &w->far_room, packed, alone);
	}
	return packed;
}

/* There is room for three times @room. */
static size_t pack_stream(struct tf_writer *w, struct tf_pieces *p, uint8_t *at, size_t room, const void *raw,
			  size_t bytes)
{
	size_t packed = p->far.zstd ? pack_far(w, p, at, room, raw, bytes) : 0;

	if (packed)
		return packed;
	packed = pack_alone(w, p, at, room, raw, bytes);
	if (!ZSTD_isError(packed))
		tf_far_consider(&p->far, &w->far_room, raw, bytes, packed);
	return packed;
}

/* Appends a piece, made by pack_stream() or pack().  What cannot be written is discarded, and counted. */
static void append(struct tf_writer *w, struct tf_pieces *p, const void *raw, size_t bytes, bool stream)
{
	size_t room = ZSTD_compressBound(tf_index_bound(bytes)), packed = 0;
	uint8_t *at;

	tf_buf_clear(&w->memory);
	at = tf_buf_need(&w->memory, TF_PIECE_SIZE + (stream ? 3 : 1) * room);
	if (at)
		packed = stream ? pack_stream(w, p, at + TF_PIECE_SIZE, room, raw, bytes) :
				  pack(w, at + TF_PIECE_SIZE, room, raw, bytes);
	if (!at || ZSTD_isError(packed)) {
		tf_writer_no_memory(w);
		p->lost++;
		p->all_lost++;
		w->memory_discarded++;
		return;
	}
	put_head(at, p, packed, bytes);
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
