/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of memory streams while they are read.  Nothing in the files is trusted. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "tracefmt/format.h"
#include "memtrace/pack/copies.h"
#include "memtrace/pack/far.h"
#include "memtrace/pack/index.h"
#include "memtrace/pack/pieces.h"
#include "memtrace/pack/words.h"

#define SEARCH_BYTES 65536

static ssize_t read_at(int fd, void *to, size_t n, uint64_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = pread(fd, (char *)to + got, n - got, (off_t)(at + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k < 0 ? -1 : (ssize_t)got;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

static bool parse_piece(const uint8_t *head, struct tf_piece *p)
{
	if (memcmp(head, TF_MAGIC_PIECE, TF_MAGIC_SIZE) != 0 ||
	    tf_get64(head + 40) != XXH64(head, 40, 0))
		return false;
	p->seq = tf_get32(head + 8);
	p->packed = tf_get32(head + 12);
	p->raw = tf_get32(head + 16);
	p->flags = tf_get32(head + 20);
	p->lost = tf_get64(head + 24);
	p->hash = tf_get64(head + 32);
	return p->raw <= TF_MAX_RAW && p->packed <= 2 * TF_MAX_RAW;
}

bool tf_piece_at(const struct tf_memory_stream *s, uint64_t at, struct tf_piece *p)
{
	uint8_t head[TF_PIECE_SIZE];

	return at + TF_PIECE_SIZE <= s->size &&
	       read_at(s->fd, head, sizeof head, at) == (ssize_t)sizeof head &&
	       parse_piece(head, p) && p->packed <= s->size - at - TF_PIECE_SIZE;
}

void tf_piece_search(struct tf_memory_stream *s)
{
	uint8_t buf[SEARCH_BYTES];
	struct tf_piece p;

	while (s->at < s->size) {
		ssize_t n = read_at(s->fd, buf, sizeof buf, s->at);
		uint8_t *hit = NULL;

		if (n >= TF_MAGIC_SIZE)
			hit = memmem(buf, (size_t)n, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
		if (hit) {
			s->at += (uint64_t)(hit - buf);
			if (tf_piece_at(s, s->at, &p))
				return;
			s->at++;
		} else if (n < (ssize_t)sizeof buf) {
			s->at = s->size;
		} else {
			s->at += (uint64_t)n - (TF_MAGIC_SIZE - 1);
		}
	}
}

/* Part of a piece, and how many bytes it is unpacked. */
struct packed {
	const uint8_t *at;
	size_t size, raw;
};

static bool unpack_frames(struct tf_memory_stream *s, uint8_t *to, size_t size, const struct packed *p)
{
	return ZSTD_decompressDCtx(s->zstd, to, size, p->at, p->size) == size;
}

/* Rearranged words. */
static bool unpack_words(struct tf_memory_stream *s, uint8_t *to, const struct packed *p)
{
	size_t size = tf_words_size(p->raw);
	uint8_t *words;

	tf_buf_clear(&s->words);
	words = tf_buf_need(&s->words, size + 1);
	return words && unpack_frames(s, words, size, p) && tf_words_gather(to, p->raw, words);
}

static bool unpack_index(struct tf_memory_stream *s, uint8_t *to, const struct packed *p)
{
	size_t room = tf_index_bound(p->raw), size;
	uint8_t *words, *scratch;

	tf_buf_clear(&s->words);
	tf_buf_clear(&s->scratch);
	words = tf_buf_need(&s->words, room);
	scratch = tf_buf_need(&s->scratch, p->raw + 4);
	if (!words || !scratch)
		return false;
	size = ZSTD_decompressDCtx(s->zstd, words, room, p->at, p->size);
	return !ZSTD_isError(size) && tf_index_undo(to, p->raw, words, size, scratch);
}

static bool unpack_as(struct tf_memory_stream *s, uint32_t way, uint8_t *to, const struct packed *p)
{
	switch (way) {
	case TF_PIECE_PLAIN:
		return unpack_frames(s, to, p->raw, p);
	case TF_PIECE_SPREAD:
		return unpack_words(s, to, p);
	case TF_PIECE_INDEXED:
		return unpack_index(s, to, p);
	default:
		return false;
	}
}

/* A window for a piece at @position.  False: there cannot be one. */
static bool find_window(struct tf_memory_stream *s, unsigned int log, uint64_t position)
{
	struct tf_window *w = &s->window;

	if (position > UINT64_MAX / 2)
		return false;
	if (w->words && w->log == log && position >= w->end) {
		tf_window_skip(w, position);
		return true;
	}
	tf_window_close(w);
	return tf_window_open(w, log, position);
}

/* Both parts of it, and what they become. */
static bool unpack_copies(struct tf_memory_stream *s, uint8_t *to, size_t bytes, size_t n, const struct packed *list,
			  const struct packed *rest, uint32_t way)
{
	uint8_t *l, *r;

	tf_buf_clear(&s->list);
	tf_buf_clear(&s->rest);
	l = tf_buf_need(&s->list, list->raw + 1);
	r = tf_buf_need(&s->rest, rest->raw + 1);
	return l && r && unpack_frames(s, l, list->raw, list) && unpack_as(s, way, r, rest) &&
	       tf_copies_undo(to, bytes, &s->window, l, list->raw, n, r, rest->raw);
}

static bool unpack_far(struct tf_memory_stream *s, uint8_t *to, const struct tf_piece *p)
{
	const uint8_t *head = s->packed.data;
	struct packed list, rest;

	if (p->packed < TF_FAR_HEAD || tf_get32(head + 16) > p->packed - TF_FAR_HEAD ||
	    tf_get32(head + 12) > tf_far_list_room(p->raw) || tf_get32(head + 20) > p->raw)
		return false;
	list = (struct packed){ head + TF_FAR_HEAD, tf_get32(head + 16), tf_get32(head + 12) };
	rest = (struct packed){ list.at + list.size, p->packed - TF_FAR_HEAD - list.size, tf_get32(head + 20) };
	if (!find_window(s, head[24], tf_get64(head)) ||
	    !unpack_copies(s, to, p->raw, tf_get32(head + 8), &list, &rest, head[25]))
		return false;
	tf_window_add(&s->window, to, p->raw / 4);
	return true;
}

static bool unpack_body(struct tf_memory_stream *s, uint8_t *raw, const struct tf_piece *p)
{
	const struct packed all = { .at = s->packed.data, .size = p->packed, .raw = p->raw };

	if (p->flags == TF_PIECE_FAR)
		return unpack_far(s, raw, p);
	tf_window_close(&s->window);
	return unpack_as(s, p->flags, raw, &all);
}

static bool unpack(struct tf_memory_stream *s, const struct tf_piece *p)
{
	uint8_t *packed, *raw;

	tf_buf_clear(&s->packed);
	tf_buf_clear(&s->raw);
	packed = tf_buf_extend(&s->packed, p->packed);
	raw = tf_buf_extend(&s->raw, p->raw ? p->raw : 1);
	if (!packed || !raw || !s->zstd)
		return false;
	s->raw.size = p->raw;
	if (read_at(s->fd, packed, p->packed, s->at + TF_PIECE_SIZE) != (ssize_t)p->packed ||
	    XXH64(packed, p->packed, 0) != p->hash)
		return false;
	return unpack_body(s, raw, p);
}

/*
 * Of pieces in a row that cannot be had the first one is told.  One that is a copy of such a one may be followed by others that
 * are not, and so on: hence the loop.
 */
enum sonde_trace_status tf_piece_next(struct tf_memory_stream *s)
{
	struct tf_piece p;

	while (s->at < s->size) {
		bool told = s->told;

		if (!tf_piece_at(s, s->at, &p)) {
			s->at++;
			tf_piece_search(s);
			s->told = true;
			return SONDE_TRACE_E_CORRUPT;
		}
		if ((p.seq != s->next || p.lost) && !told) {
			s->told = true;
			return SONDE_TRACE_E_CORRUPT;
		}
		s->told = !unpack(s, &p);
		s->at += TF_PIECE_SIZE + (uint64_t)p.packed;
		s->next = p.seq + 1;
		if (!s->told)
			return SONDE_TRACE_OK;
		if (!told || p.flags != TF_PIECE_FAR)
			return SONDE_TRACE_E_CORRUPT;
	}
	return SONDE_TRACE_END;
}

void tf_pieces_close(struct tf_memory_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	ZSTD_freeDCtx(s->zstd);
	tf_window_close(&s->window);
	tf_buf_free(&s->packed);
	tf_buf_free(&s->words);
	tf_buf_free(&s->scratch);
	tf_buf_free(&s->list);
	tf_buf_free(&s->rest);
	tf_buf_free(&s->raw);
}

enum sonde_trace_status tf_pieces_open(struct tf_memory_stream *s, const char *path,
					   const char *magic, uint64_t *trace,
					   struct tf_memory_thread *pub)
{
	uint8_t header[TF_HEADER_SIZE];
	struct stat st;

	*s = (struct tf_memory_stream){ .fd = open(path, O_RDONLY | O_CLOEXEC), .at = sizeof header };
	if (s->fd < 0 || fstat(s->fd, &st) < 0)
		return SONDE_TRACE_E_SYSTEM;
	s->size = (uint64_t)st.st_size;
	if (read_at(s->fd, header, sizeof header, 0) != (ssize_t)sizeof header)
		return SONDE_TRACE_E_TRUNCATED;
	if (memcmp(header, magic, TF_MAGIC_SIZE) != 0)
		return SONDE_TRACE_E_NOTRACE;
	if (tf_get64(header + 56) != XXH64(header, 56, 0))
		return SONDE_TRACE_E_CORRUPT;
	if (tf_get32(header + 8) != TF_MEMORY_VERSION)
		return SONDE_TRACE_E_VERSION;
	*trace = tf_get64(header + 24);
	if (pub) {
		pub->pid = (int)tf_get32(header + 12);
		pub->tid = (int)tf_get32(header + 16);
		pub->file_bytes = s->size;
	}
	s->zstd = ZSTD_createDCtx();
	return s->zstd ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}
