/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of memory streams while they are read.  Nothing in the files is trusted. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "tracefmt/format.h"
#include "tracefmt/memoryfar.h"
#include "tracefmt/memoryindex.h"
#include "tracefmt/memorypieces.h"
#include "tracefmt/memorywords.h"

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

static bool unpack_frame(struct tf_memory_stream *s, uint8_t *to, size_t size, const struct tf_piece *p)
{
	return ZSTD_decompressDCtx(s->zstd, to, size, s->packed.data, p->packed) == size;
}

/* Rearranged words. */
static bool unpack_words(struct tf_memory_stream *s, uint8_t *to, const struct tf_piece *p)
{
	size_t size = tf_words_size(p->raw);
	uint8_t *words;

	tf_buf_clear(&s->words);
	words = tf_buf_need(&s->words, size + 1);
	return words && unpack_frame(s, words, size, p) && tf_words_gather(to, p->raw, words);
}

static bool unpack_index(struct tf_memory_stream *s, uint8_t *to, const struct tf_piece *p)
{
	size_t room = tf_index_bound(p->raw), size;
	uint8_t *words, *scratch;

	tf_buf_clear(&s->words);
	tf_buf_clear(&s->scratch);
	words = tf_buf_need(&s->words, room);
	scratch = tf_buf_need(&s->scratch, (size_t)p->raw + 4);
	if (!words || !scratch)
		return false;
	size = ZSTD_decompressDCtx(s->zstd, words, room, s->packed.data, p->packed);
	return !ZSTD_isError(size) && tf_index_undo(to, p->raw, words, size, scratch);
}

static bool begin_far(struct tf_memory_stream *s)
{
	if (!s->far)
		s->far = ZSTD_createDCtx();
	if (!s->far)
		return false;
	ZSTD_DCtx_reset(s->far, ZSTD_reset_session_only);
	return !ZSTD_isError(ZSTD_DCtx_setParameter(s->far, ZSTD_d_windowLogMax, TF_FAR_MAX));
}

/* Has it taken in more than it has handed out? */
static bool has_more(ZSTD_DCtx *zstd)
{
	uint8_t byte;
	ZSTD_inBuffer in = { 0 };
	ZSTD_outBuffer out = { .dst = &byte, .size = 1 };

	return ZSTD_isError(ZSTD_decompressStream(zstd, &out, &in)) || out.pos;
}

/* All of the piece, and as much as is said, has to be one flush of the frame. */
static bool unpack_far(struct tf_memory_stream *s, uint8_t *to, const struct tf_piece *p)
{
	ZSTD_inBuffer in = { .src = s->packed.data, .size = p->packed };
	ZSTD_outBuffer out = { .dst = to, .size = p->raw };
	size_t left = 1;

	if (p->flags == TF_PIECE_FAR_START && !begin_far(s))
		return false;
	while (left && (in.pos < in.size || out.pos < out.size)) {
		size_t before = in.pos + out.pos;

		left = ZSTD_decompressStream(s->far, &out, &in);
		if (ZSTD_isError(left) || in.pos + out.pos == before)
			return false;
	}
	return left && in.pos == in.size && out.pos == out.size && !has_more(s->far);
}

static bool unpack_body(struct tf_memory_stream *s, uint8_t *raw, const struct tf_piece *p)
{
	switch (p->flags) {
	case TF_PIECE_PLAIN:
		return unpack_frame(s, raw, p->raw, p);
	case TF_PIECE_SPREAD:
		return unpack_words(s, raw, p);
	case TF_PIECE_INDEXED:
		return unpack_index(s, raw, p);
	case TF_PIECE_FAR:
	case TF_PIECE_FAR_START:
		return unpack_far(s, raw, p);
	default:
		return false;
	}
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

static bool is_far(const struct tf_piece *p)
{
	return p->flags == TF_PIECE_FAR || p->flags == TF_PIECE_FAR_START;
}

static void step_over(struct tf_memory_stream *s, const struct tf_piece *p)
{
	s->at += TF_PIECE_SIZE + (uint64_t)p->packed;
	s->next = p->seq + 1;
}

/* The next one that does not go on from something that is missing, if that has been told. */
static bool find_piece(struct tf_memory_stream *s, struct tf_piece *p)
{
	while (tf_piece_at(s, s->at, p)) {
		if (p->seq != s->next || p->flags != TF_PIECE_FAR)
			s->far_good = p->flags == TF_PIECE_FAR_START;
		if (p->flags != TF_PIECE_FAR || s->far_good || !s->told)
			return true;
		step_over(s, p);
	}
	return false;
}

enum sonde_trace_status tf_piece_next(struct tf_memory_stream *s)
{
	struct tf_piece p;
	bool good;

	good = find_piece(s, &p);
	if (s->at >= s->size)
		return SONDE_TRACE_END;
	if (!good) {
		s->far_good = false;
		s->at++;
		tf_piece_search(s);
		s->told = true;
		return SONDE_TRACE_E_CORRUPT;
	}
	if ((p.seq != s->next || p.lost || (p.flags == TF_PIECE_FAR && !s->far_good)) && !s->told) {
		s->told = true;
		return SONDE_TRACE_E_CORRUPT;
	}
	good = unpack(s, &p);
	if (is_far(&p))
		s->far_good = good;
	step_over(s, &p);
	s->told = !good;
	return good ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

void tf_pieces_close(struct tf_memory_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	ZSTD_freeDCtx(s->zstd);
	ZSTD_freeDCtx(s->far);
	tf_buf_free(&s->packed);
	tf_buf_free(&s->words);
	tf_buf_free(&s->scratch);
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
