/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/array.h"
#include "tracefmt/read/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define BLOCK (64u << 10) /* bytes that are searched at once */
#define MOST_KEPT 512

/* Reads @n bytes at @offset.  Errors: E_SYSTEM, E_TRUNCATED. */
static enum sonde_trace_status read_at(int fd, void *to, size_t n, uint64_t offset)
{
	uint8_t *at = to;

	while (n) {
		ssize_t got = pread(fd, at, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SONDE_TRACE_E_SYSTEM;
		if (!got)
			return SONDE_TRACE_E_TRUNCATED;
		at += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status add(struct tf_infile *f, const struct tf_chunk_ref *ref)
{
	if (!array_room(f->chunk, f->room, f->nchunks + 1))
		return SONDE_TRACE_E_NOMEM;
	f->bad += !ref->size;
	f->chunk[f->nchunks++] = *ref;
	return SONDE_TRACE_OK;
}

/* --- header ------------------------------------------------------------------------------ */

static void set_status(struct tf_infile *f, enum sonde_trace_status status)
{
	if (f->status == SONDE_TRACE_OK)
		f->status = status;
}

static enum sonde_trace_status read_header(struct tf_infile *f, int fd)
{
	uint8_t header[TF_HEADER_SIZE];
	enum sonde_trace_status status = read_at(fd, header, sizeof header, 0);

	if (status == SONDE_TRACE_E_TRUNCATED)
		set_status(f, status);
	if (status)
		return status == SONDE_TRACE_E_TRUNCATED ? SONDE_TRACE_OK : status;
	if (memcmp(header, TF_MAGIC_THREAD, TF_MAGIC_SIZE)) {
		set_status(f, SONDE_TRACE_E_NOTRACE);
	} else if (tf_get64(header + 56) != XXH64(header, 56, 0)) {
		set_status(f, SONDE_TRACE_E_CORRUPT);
	} else if (!tf_get32(header + 8) || tf_get32(header + 8) > TF_FILE_VERSION) {
		set_status(f, SONDE_TRACE_E_VERSION);
	} else {
		f->header_valid = true;
		f->pid = (int)tf_get32(header + 12);
		f->tid = (int)tf_get32(header + 16);
		f->rank = (int)tf_get32(header + 20);
		f->trace = tf_get64(header + 24);
	}
	return SONDE_TRACE_OK;
}

/* --- index ------------------------------------------------------------------------------- */

/* The index at @at as a list of chunks; all or nothing. */
static enum sonde_trace_status take_index(struct tf_infile *f, const uint8_t *at, uint32_t n,
					  uint64_t offset)
{
	uint64_t end = TF_HEADER_SIZE;
	enum sonde_trace_status status = SONDE_TRACE_OK;

	for (uint32_t i = 0; i < n && !status; i++, at += TF_INDEX_ENTRY) {
		struct tf_chunk_ref ref = { .offset = tf_get64(at), .size = tf_get32(at + 8),
					    .events = tf_get32(at + 12),
					    .first = tf_get64(at + 16), .last = tf_get64(at + 24),
					    .depth = tf_get64(at + 32) };

		if (ref.offset != end || ref.size <= TF_CHUNK_SIZE || ref.size > offset - end ||
		    !ref.events || ref.events > TF_MAX_EVENTS || ref.first > ref.last)
			status = SONDE_TRACE_E_CORRUPT;
		else
			status = add(f, &ref);
		end += ref.size;
	}
	if (!status && end != offset)
		status = SONDE_TRACE_E_CORRUPT;
	if (status)
		f->nchunks = 0;
	return status;
}

/*
 * The index at @offset, of @size bytes, if there is one.  Returns OK, E_NOMEM, E_SYSTEM, or
 * E_CORRUPT when it is no index or a bad one.
 */
static enum sonde_trace_status read_index(struct tf_infile *f, int fd, uint64_t offset,
					  uint64_t size)
{
	enum sonde_trace_status status;
	uint8_t *index;
	uint64_t n;

	if (size < TF_INDEX_HEAD + TF_INDEX_TAIL || offset < TF_HEADER_SIZE ||
	    offset > f->size || size > f->size - offset)
		return SONDE_TRACE_E_CORRUPT;
	index = malloc(size);
	if (!index)
		return SONDE_TRACE_E_NOMEM;
	status = read_at(fd, index, size, offset);
	n = (size - TF_INDEX_HEAD - TF_INDEX_TAIL) / TF_INDEX_ENTRY;
	if (!status && (memcmp(index, TF_MAGIC_INDEX, TF_MAGIC_SIZE) ||
			tf_get32(index + 8) != n ||
			n * TF_INDEX_ENTRY != size - TF_INDEX_HEAD - TF_INDEX_TAIL ||
			tf_get64(index + size - 8) != XXH64(index, size - 8, 0)))
		status = SONDE_TRACE_E_CORRUPT;
	if (!status)
		status = take_index(f, index + TF_INDEX_HEAD, (uint32_t)n, offset);
	free(index);
	return status == SONDE_TRACE_E_TRUNCATED ? SONDE_TRACE_E_CORRUPT : status;
}

static enum sonde_trace_status read_trailer(struct tf_infile *f, int fd)
{
	uint8_t trailer[TF_TRAILER_SIZE];
	uint64_t offset, size;
	enum sonde_trace_status status;

	if (f->size < TF_HEADER_SIZE + TF_TRAILER_SIZE)
		return SONDE_TRACE_E_TRUNCATED;
	status = read_at(fd, trailer, sizeof trailer, f->size - sizeof trailer);
	if (status)
		return status;
	if (memcmp(trailer, TF_MAGIC_END, TF_MAGIC_SIZE))
		return SONDE_TRACE_E_TRUNCATED;
	offset = tf_get64(trailer + 8);
	size = tf_get64(trailer + 16);
	if (tf_get64(trailer + 24) != XXH64(trailer, 24, 0) ||
	    offset > f->size - sizeof trailer || size != f->size - sizeof trailer - offset)
		return SONDE_TRACE_E_CORRUPT;
	return read_index(f, fd, offset, size);
}

/* --- without an index -------------------------------------------------------------------- */

/* The next place after @offset where a chunk could begin, or f->size. */
static enum sonde_trace_status search(const struct tf_infile *f, int fd, uint64_t offset,
				      uint64_t *found)
{
	uint8_t *block = malloc(BLOCK);
	enum sonde_trace_status status = block ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
	size_t most = 1024; /* little at first: the file may be full of false beginnings */

	*found = f->size;
	while (!status && f->size - offset >= TF_CHUNK_SIZE) {
		size_t n = f->size - offset < most ? f->size - offset : most;
		uint8_t *at;

		status = read_at(fd, block, n, offset);
		if (status)
			break;
		at = memmem(block, n, TF_MAGIC_CHUNK, TF_MAGIC_SIZE);
		if (at) {
			*found = offset + (uint64_t)(at - block);
			break;
		}
		offset += n - (TF_MAGIC_SIZE - 1);
		most = BLOCK;
	}
	free(block);
	return status;
}

/* At an offset where no chunk begins: is this the index, whose trailer is damaged? */
static bool at_index(int fd, uint64_t offset)
{
	uint8_t magic[TF_MAGIC_SIZE];

	return !read_at(fd, magic, sizeof magic, offset) &&
	       !memcmp(magic, TF_MAGIC_INDEX, TF_MAGIC_SIZE);
}

struct scan {
	uint64_t at;
	uint32_t seq;	 /* of the chunk expected next */
	bool gap;	 /* something before it could not be read */
	bool seen_index;
};

/* A valid header at s->at. */
static enum sonde_trace_status take_chunk(struct tf_infile *f, struct scan *s,
					  const struct tf_chunk_info *info)
{
	struct tf_chunk_ref ref = { .offset = s->at, .size = TF_CHUNK_SIZE + info->packed,
				    .events = info->events, .first = info->first,
				    .last = info->last, .depth = info->depth };
	enum sonde_trace_status status = SONDE_TRACE_OK;

	if (s->gap || info->seq != s->seq)
		status = add(f, &(struct tf_chunk_ref){ .offset = s->at });
	s->gap = false;
	s->seq = info->seq + 1;
	if (ref.size > f->size - s->at) { /* cut off: only its header tells what it was */
		ref.size = 0;
		s->at = f->size;
	} else {
		s->at += ref.size;
	}
	return status ? status : add(f, &ref);
}

static enum sonde_trace_status scan_step(struct tf_infile *f, int fd, struct scan *s)
{
	uint8_t header[TF_CHUNK_SIZE];
	struct tf_chunk_info info;
	enum sonde_trace_status status = read_at(fd, header, sizeof header, s->at);

	if (status)
		return status;
	if (!tf_chunk_get(header, &info))
		return take_chunk(f, s, &info);
	if (at_index(fd, s->at)) {
		s->seen_index = true;
		s->at = f->size;
		return SONDE_TRACE_OK;
	}
	s->gap = true;
	return search(f, fd, s->at + 1, &s->at);
}

static enum sonde_trace_status scan(struct tf_infile *f, int fd)
{
	struct scan s = { .at = f->header_valid ? TF_HEADER_SIZE : 0 };
	enum sonde_trace_status status = SONDE_TRACE_OK;
	uint64_t rest;

	if (!f->header_valid) {
		status = search(f, fd, 0, &s.at);
		if (!status && s.at == TF_HEADER_SIZE)
			s.gap = false;
	}
	while (!status && f->size - s.at >= TF_CHUNK_SIZE)
		status = scan_step(f, fd, &s);
	rest = f->size - s.at;
	/* An index of no or one chunk can be shorter than a chunk's header. */
	if (!status && rest && rest < TF_CHUNK_SIZE && !at_index(fd, s.at))
		s.gap = true;
	if (!status && s.gap)
		status = add(f, &(struct tf_chunk_ref){ .offset = f->size });
	return status == SONDE_TRACE_E_TRUNCATED ? SONDE_TRACE_OK : status;
}

/* --- all of it --------------------------------------------------------------------------- */

/* Is damage all at the end, as a killed writer leaves it? */
static bool only_end_missing(const struct tf_infile *f)
{
	for (size_t i = 0; i + 1 < f->nchunks; i++)
		if (!f->chunk[i].size)
			return false;
	return true;
}

static enum sonde_trace_status read_chunks(struct tf_infile *f, int fd)
{
	enum sonde_trace_status status = read_trailer(f, fd), how = status;

	if (!status) {
		f->indexed = true;
		return SONDE_TRACE_OK;
	}
	if (status == SONDE_TRACE_E_NOMEM || status == SONDE_TRACE_E_SYSTEM)
		return status;
	status = scan(f, fd);
	set_status(f, f->bad && !only_end_missing(f) ? SONDE_TRACE_E_CORRUPT : how);
	return status;
}

static enum sonde_trace_status read_file(struct tf_infile *f, int fd, const struct stat *st)
{
	enum sonde_trace_status status;

	if (!S_ISREG(st->st_mode)) {
		f->status = SONDE_TRACE_E_NOTRACE;
		return SONDE_TRACE_OK;
	}
	f->inode = (uint64_t)st->st_ino;
	f->size = (uint64_t)st->st_size;
	status = read_header(f, fd);
	if (!status && f->status != SONDE_TRACE_E_VERSION)
		status = read_chunks(f, fd);
	return status;
}

/* Some, not all: who opened the trace needs files, too. */
static bool may_keep(int fd)
{
	struct rlimit limit;

	return fd < MOST_KEPT && getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2;
}

enum sonde_trace_status tf_infile_open(struct tf_infile *f, const char *path, bool keep)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum sonde_trace_status status;
	struct stat st;

	*f = (struct tf_infile){ .rank = -1, .kept = -1 };
	if (fd < 0)
		return SONDE_TRACE_E_SYSTEM;
	f->path = strdup(path);
	if (!f->path)
		status = SONDE_TRACE_E_NOMEM;
	else if (fstat(fd, &st))
		status = SONDE_TRACE_E_SYSTEM;
	else
		status = read_file(f, fd, &st);
	if (keep && !status && may_keep(fd))
		f->kept = fd;
	else
		close(fd);
	if (status)
		tf_infile_free(f);
	return status;
}

static enum sonde_trace_status read_chunk(int fd, const struct tf_chunk_ref *ref,
					  struct tf_chunk_info *info, struct tf_buf *body,
					  const char **why)
{
	uint8_t header[TF_CHUNK_SIZE];
	enum sonde_trace_status status = read_at(fd, header, sizeof header, ref->offset);

	if (status)
		return status;
	*why = "the header of the chunk is damaged";
	if (tf_chunk_get(header, info))
		return SONDE_TRACE_E_CORRUPT;
	*why = "the index disagrees with the chunk";
	if (info->packed != ref->size - TF_CHUNK_SIZE || info->events != ref->events ||
	    info->first != ref->first || info->last != ref->last || info->depth != ref->depth)
		return SONDE_TRACE_E_CORRUPT;
	*why = NULL;
	tf_buf_clear(body);
	if (!tf_buf_extend(body, info->packed))
		return SONDE_TRACE_E_NOMEM;
	return read_at(fd, body->data, info->packed, ref->offset + TF_CHUNK_SIZE);
}

/* The file as it was opened; another one may have its name now. */
static enum sonde_trace_status reopen(const struct tf_infile *f, int *fd, const char **why)
{
	struct stat st;

	*fd = f->kept >= 0 ? f->kept : open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0 || fstat(*fd, &st))
		return SONDE_TRACE_E_SYSTEM;
	*why = "older events have been removed from the file since it was opened";
	return (uint64_t)st.st_ino == f->inode ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

enum sonde_trace_status tf_infile_read(const struct tf_infile *f, size_t i,
				       struct tf_chunk_info *info, struct tf_buf *body,
				       const char **why)
{
	const struct tf_chunk_ref *ref = &f->chunk[i];
	enum sonde_trace_status status;
	int fd;

	*why = "a chunk is missing";
	if (!ref->size)
		return SONDE_TRACE_E_CORRUPT;
	status = reopen(f, &fd, why);
	if (!status)
		status = read_chunk(fd, ref, info, body, why);
	if (fd >= 0 && fd != f->kept)
		close(fd);
	if (status == SONDE_TRACE_E_TRUNCATED)
		*why = "the file has become shorter";
	return status;
}

void tf_infile_free(struct tf_infile *f)
{
	if (f->path && f->kept >= 0) /* one that was never opened is all zeros */
		close(f->kept);
	free(f->path);
	free(f->chunk);
	*f = (struct tf_infile){ .kept = -1 };
}
