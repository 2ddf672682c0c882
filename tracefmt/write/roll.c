/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace that is not to become larger than so much: of each thread the newest chunks stay in its file.  A chunk needs none of
 * those before it, so a file without its oldest ones is one that begins later.  It takes the old one's place by rename(2): whoever
 * reads has the one or the other.
 *
 * Of a file that has to become smaller half goes at once, so that each byte is copied once, about.  Old and new file are there at
 * the same time: room for that is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracefmt/format.h"
#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

struct tf_rolled {
	struct tf_rolled *next;
	struct tf_thread *thread; /* NULL: it has ended */
	struct tf_threadout out;  /* ... and this is its file, which is complete */
	struct tf_buf events;	  /* of each chunk, 4 bytes: what the index counts has waits among it */
};

struct tf_roll {
	uint64_t limit;
	struct tf_rolled *first;
	bool failed;
};

enum sonde_trace_status tf_writer_max_size(struct tf_writer *w, uint64_t bytes)
{
	if (w->threads || w->flight || w->roll || !bytes)
		return SONDE_TRACE_E_INVALID;
	w->roll = calloc(1, sizeof(*w->roll));
	if (!w->roll) {
		tf_writer_no_memory(w);
		return tf_writer_result(w);
	}
	w->roll->limit = bytes;
	tf_json_begin(&w->line, "max-size");
	tf_json_uint(&w->line, "bytes", bytes);
	tf_json_end(&w->line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

struct tf_rolled *tf_rolled_new(struct tf_thread *t)
{
	struct tf_rolled *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->thread = t;
	k->next = t->w->roll->first;
	t->w->roll->first = k;
	return k;
}

void tf_rolled_end(struct tf_thread *t)
{
	t->rolled->out = t->out;
	t->rolled->thread = NULL;
}

void tf_roll_free(struct tf_roll *r)
{
	for (struct tf_rolled *k = r->first, *next; k; k = next) {
		next = k->next;
		tf_buf_free(&k->events);
		if (!k->thread)
			tf_threadout_free(&k->out);
		free(k);
	}
	free(r);
}

/* ---- what is in a file ---- */

static struct tf_threadout *file_of(struct tf_rolled *k)
{
	return k->thread ? &k->thread->out : &k->out;
}

/* Those of one for whose index there was no memory are not known. */
static bool has_chunks(struct tf_rolled *k)
{
	const struct tf_threadout *o = file_of(k);

	return o->chunks && o->index.size == (size_t)o->chunks * TF_INDEX_ENTRY && k->events.size == (size_t)o->chunks * 4;
}

static const uint8_t *entry(const struct tf_threadout *o, uint32_t chunk)
{
	return o->index.data + (size_t)chunk * TF_INDEX_ENTRY;
}

static uint64_t offset_of(const struct tf_threadout *o, uint32_t chunk)
{
	return tf_get64(entry(o, chunk));
}

static uint32_t bytes_of(const struct tf_threadout *o, uint32_t chunk)
{
	return tf_get32(entry(o, chunk) + 8);
}

/* With what is still to come at its end. */
static uint64_t size_of(struct tf_rolled *k)
{
	const struct tf_threadout *o = file_of(k);

	return o->file.size + (k->thread ? TF_INDEX_HEAD + o->index.size + TF_INDEX_TAIL + TF_TRAILER_SIZE : 0);
}

/* The first chunk of the newer half. */
static uint32_t newer_half(const struct tf_threadout *o)
{
	uint64_t end = offset_of(o, o->chunks - 1) + bytes_of(o, o->chunks - 1), left = (end - offset_of(o, 0)) / 2;
	uint32_t i = 1;

	while (i < o->chunks && end - offset_of(o, i) > left)
		i++;
	return i;
}

/* ---- a file becomes smaller ---- */

static bool read_all(int fd, uint8_t *to, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t got = pread(fd, to, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got ? errno : ENODATA;
			return false;
		}
		to += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return true;
}

/* Header, and the chunks from the one on. */
static bool copy(const struct tf_threadout *from, int fd, uint32_t first, struct tf_threadout *to)
{
	struct tf_buf buf = { 0 };
	uint8_t *bytes = tf_buf_extend(&buf, TF_HEADER_SIZE);
	bool good = bytes && read_all(fd, bytes, TF_HEADER_SIZE, 0) && tf_outfile_append(&to->file, bytes, TF_HEADER_SIZE);

	for (uint32_t i = first; good && i < from->chunks; i++) {
		tf_buf_clear(&buf);
		bytes = tf_buf_extend(&buf, bytes_of(from, i));
		good = bytes && read_all(fd, bytes, bytes_of(from, i), offset_of(from, i)) &&
		       tf_threadout_next(to, bytes, bytes_of(from, i));
	}
	if (!bytes)
		errno = ENOMEM;
	tf_buf_free(&buf);
	return good;
}

/* Readers take a file of that name for none of theirs. */
static bool make_new(const struct tf_threadout *from, struct tf_threadout *to)
{
	char name[sizeof(from->file.name) + 8];

	snprintf(name, sizeof(name), "%s.new", from->file.name);
	(void)!unlinkat(from->file.dirfd, name, 0);
	return tf_outfile_create(&to->file, from->file.dirfd, name);
}

static bool replace(struct tf_rolled *k, uint32_t first)
{
	struct tf_threadout *o = file_of(k), new = { 0 };
	int fd = openat(o->file.dirfd, o->file.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), saved;
	bool good = fd >= 0 && make_new(o, &new);

	if (good && (!copy(o, fd, first, &new) || (!k->thread && !tf_threadout_finish(&new)) ||
		     renameat(o->file.dirfd, new.file.name, o->file.dirfd, o->file.name) < 0)) {
		saved = errno;
		(void)!unlinkat(o->file.dirfd, new.file.name, 0);
		errno = saved;
		good = false;
	}
	if (fd >= 0)
		close(fd);
	if (!good) {
		tf_threadout_free(&new);
		return false;
	}
	memcpy(new.file.name, o->file.name, sizeof(new.file.name));
	tf_threadout_free(o);
	*o = new;
	return true;
}

/* What is about to go is said before: whoever reads meanwhile, or after a sudden end, finds too much said rather than too little. */
static bool shrink(struct tf_writer *w, struct tf_rolled *k)
{
	const struct tf_threadout *o = file_of(k);
	uint32_t first = newer_half(o);
	uint64_t events = 0;

	for (uint32_t i = 0; i < first; i++)
		events += tf_get32(k->events.data + 4 * (size_t)i);
	tf_writer_older(w, o->file.name, events);
	tf_writer_sync(w);
	if (replace(k, first)) {
		k->events.size -= 4 * (size_t)first;
		memmove(k->events.data, k->events.data + 4 * (size_t)first, k->events.size);
		return true;
	}
	tf_writer_failed(w, "shorten", o->file.name);
	return false;
}

/* ---- when, and which ---- */

/* Of those that are not smaller than the average the one with the oldest chunk; NULL: no file has any. */
static struct tf_rolled *choose(struct tf_roll *r, uint64_t average)
{
	struct tf_rolled *chosen = NULL;
	uint64_t oldest = 0;

	for (struct tf_rolled *k = r->first; k; k = k->next) {
		const struct tf_threadout *o = file_of(k);
		uint64_t last = has_chunks(k) ? tf_get64(entry(o, 0) + 24) : 0;

		if (!has_chunks(k) || size_of(k) < average || (chosen && last >= oldest))
			continue;
		chosen = k;
		oldest = last;
	}
	return chosen;
}

/* Is there room for one more chunk like the last one, @bytes, and for the copy of any file that is made smaller then? */
static struct tf_rolled *is_too_large(struct tf_roll *r, uint64_t bytes)
{
	uint64_t all = 0, sum = 0, most = 0, n = 0;

	for (struct tf_rolled *k = r->first; k; k = k->next) {
		uint64_t size = size_of(k);

		all += size;
		if (!has_chunks(k))
			continue;
		most = size > most ? size : most;
		sum += size;
		n++;
	}
	return n && all + bytes + (most + bytes) / 2 > r->limit ? choose(r, sum / n) : NULL;
}

void tf_rolled_add(struct tf_thread *t, uint32_t events)
{
	struct tf_writer *w = t->w;
	uint8_t *at = tf_buf_extend(&t->rolled->events, 4);
	struct tf_rolled *k;

	if (at)
		tf_put32(at, events);
	while (!w->roll->failed && (k = is_too_large(w->roll, w->pack.out.size)))
		w->roll->failed = !shrink(w, k);
}
