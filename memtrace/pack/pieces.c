/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pieces of memory streams while they are read.  Nothing in the files is trusted. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "tracefmt/format.h"
#include "memtrace/pack/group.h"
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

static bool parse_piece(const uint8_t *head, struct mt_piece *p)
{
	if (memcmp(head, TF_MAGIC_PIECE, TF_MAGIC_SIZE) != 0 ||
	    tf_get64(head + 40) != XXH64(head, 40, 0))
		return false;
	p->seq = tf_get32(head + 8);
	p->packed = tf_get32(head + 12);
	p->raw = tf_get32(head + 16);
	p->kind = tf_get32(head + 20);
	p->lost = tf_get64(head + 24);
	p->hash = tf_get64(head + 32);
	return p->raw <= TF_MAX_RAW && p->packed <= 2 * TF_MAX_RAW;
}

bool mt_piece_at(const struct mt_stream *s, uint64_t at, struct mt_piece *p)
{
	uint8_t head[TF_PIECE_SIZE];

	return at + TF_PIECE_SIZE <= s->size &&
	       read_at(s->fd, head, sizeof head, at) == (ssize_t)sizeof head &&
	       parse_piece(head, p) && p->packed <= s->size - at - TF_PIECE_SIZE;
}

void mt_piece_search(struct mt_stream *s)
{
	uint8_t buf[SEARCH_BYTES];
	struct mt_piece p;

	while (s->at < s->size) {
		ssize_t n = read_at(s->fd, buf, sizeof buf, s->at);
		uint8_t *hit = NULL;

		if (n >= TF_MAGIC_SIZE)
			hit = memmem(buf, (size_t)n, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
		if (hit) {
			s->at += (uint64_t)(hit - buf);
			if (mt_piece_at(s, s->at, &p))
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

static bool unpack_frames(struct mt_stream *s, uint8_t *to, size_t size, const struct packed *p)
{
	return ZSTD_decompressDCtx(s->zstd, to, size, p->at, p->size) == size;
}

/* Rearranged words. */
static bool unpack_words(struct mt_stream *s, uint8_t *to, const struct packed *p)
{
	size_t size = mt_words_size(p->raw);
	uint8_t *words;

	tf_buf_clear(&s->words);
	words = tf_buf_need(&s->words, size + 1);
	return words && unpack_frames(s, words, size, p) && mt_words_gather(to, p->raw, words);
}

static bool unpack_index(struct mt_stream *s, uint8_t *to, const struct packed *p)
{
	size_t room = mt_index_bound(p->raw), size;
	uint8_t *words, *scratch;

	tf_buf_clear(&s->words);
	tf_buf_clear(&s->scratch);
	words = tf_buf_need(&s->words, room);
	scratch = tf_buf_need(&s->scratch, p->raw + 4);
	if (!words || !scratch)
		return false;
	size = ZSTD_decompressDCtx(s->zstd, words, room, p->at, p->size);
	return !ZSTD_isError(size) && mt_index_undo(to, p->raw, words, size, scratch);
}

static bool begin_group(struct mt_stream *s)
{
	if (!s->group)
		s->group = ZSTD_createDCtx();
	return s->group && !ZSTD_isError(ZSTD_DCtx_reset(s->group, ZSTD_reset_session_only)) &&
	       !ZSTD_isError(ZSTD_DCtx_setParameter(s->group, ZSTD_d_windowLogMax, MT_GROUP_WINDOW));
}

/* Has it taken in more than it has handed out? */
static bool has_more(ZSTD_DCtx *zstd)
{
	uint8_t byte;
	ZSTD_inBuffer in = { 0 };
	ZSTD_outBuffer out = { .dst = &byte, .size = 1 };

	return ZSTD_isError(ZSTD_decompressStream(zstd, &out, &in)) || out.pos;
}

/* All of the piece, and as much as it says, has to be one flush of the frame, which does not end. */
static bool unpack_flush(struct mt_stream *s, uint8_t *to, const struct packed *p)
{
	ZSTD_inBuffer in = { .src = p->at, .size = p->size };
	ZSTD_outBuffer out = { .dst = to, .size = p->raw };
	size_t left = 1;

	while (left && (in.pos < in.size || out.pos < out.size)) {
		size_t before = in.pos + out.pos;

		left = ZSTD_decompressStream(s->group, &out, &in);
		if (ZSTD_isError(left) || in.pos + out.pos == before)
			return false;
	}
	return left && in.pos == in.size && out.pos == out.size && !has_more(s->group);
}

static bool unpack_body(struct mt_stream *s, uint8_t *to, uint32_t kind, const struct packed *p)
{
	switch (kind) {
	case TF_PIECE_PLAIN:
		return unpack_frames(s, to, p->raw, p);
	case TF_PIECE_SPREAD:
		return unpack_words(s, to, p);
	case TF_PIECE_INDEXED:
		return unpack_index(s, to, p);
	case TF_PIECE_GROUP:
		return begin_group(s) && unpack_flush(s, to, p);
	case TF_PIECE_GROUP_NEXT:
		return s->in_group && unpack_flush(s, to, p);
	default:
		return false;
	}
}

static bool unpack(struct mt_stream *s, const struct mt_piece *p)
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
	return unpack_body(s, raw, p->kind, &(struct packed){ .at = packed, .size = p->packed, .raw = p->raw });
}

/* E_CORRUPT is said once for a row of pieces that cannot be had: those of a group after one that is missing are stepped over. */
enum sonde_trace_status mt_piece_next(struct mt_stream *s)
{
	struct mt_piece p;

	while (s->at < s->size) {
		bool reported = s->reported;

		if (!mt_piece_at(s, s->at, &p)) {
			s->at++;
			mt_piece_search(s);
			s->reported = true;
			s->in_group = false;
			return SONDE_TRACE_E_CORRUPT;
		}
		if (p.seq != s->next)
			s->in_group = false;
		if ((p.seq != s->next || p.lost) && !reported) {
			s->reported = true;
			return SONDE_TRACE_E_CORRUPT;
		}
		s->reported = !unpack(s, &p);
		s->in_group = !s->reported && p.kind >= TF_PIECE_GROUP;
		s->at += TF_PIECE_SIZE + (uint64_t)p.packed;
		s->next = p.seq + 1;
		if (!s->reported)
			return SONDE_TRACE_OK;
		if (!reported || p.kind != TF_PIECE_GROUP_NEXT)
			return SONDE_TRACE_E_CORRUPT;
	}
	return SONDE_TRACE_END;
}

void mt_pieces_close(struct mt_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	ZSTD_freeDCtx(s->zstd);
	ZSTD_freeDCtx(s->group);
	tf_buf_free(&s->packed);
	tf_buf_free(&s->words);
	tf_buf_free(&s->scratch);
	tf_buf_free(&s->raw);
}

enum sonde_trace_status mt_pieces_open(struct mt_stream *s, const char *path,
					   const char *magic, uint64_t *trace,
					   struct mt_files_thread *pub)
{
	uint8_t header[TF_HEADER_SIZE];
	struct stat st;

	*s = (struct mt_stream){ .fd = open(path, O_RDONLY | O_CLOEXEC), .at = sizeof header };
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
