/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory streams while they are read.  Nothing in the files is trusted. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "tracefmt/buffer.h"
#include "tracefmt/format.h"
#include "tracefmt/memory.h"
#include "tracefmt/memoryindex.h"
#include "tracefmt/memorywords.h"

#define SEARCH_BYTES 65536

struct piece {
	uint32_t seq, packed, raw;
	uint32_t flags;
	uint64_t lost;
	uint64_t hash;
};

struct object {
	struct tf_memory_object pub;
	uint8_t *body;
	char *path;
};

struct thread {
	struct tf_memory_thread pub;
	char *path;
};

struct tf_memory {
	struct object *objects;
	size_t nobjects;
	struct thread *threads;
	size_t nthreads;
	uint64_t trace;
	uint64_t bad_objects;
};

struct tf_memory_stream {
	int fd;
	uint64_t at, size;
	uint32_t next; /* sequence number */
	bool told;     /* that something is missing here */
	ZSTD_DCtx *zstd;
	struct tf_buf packed, words, scratch, raw;
};

/* ---- pieces ---- */

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

static bool parse_piece(const uint8_t *head, struct piece *p)
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

static bool piece_at(const struct tf_memory_stream *s, uint64_t at, struct piece *p)
{
	uint8_t head[TF_PIECE_SIZE];

	return at + TF_PIECE_SIZE <= s->size &&
	       read_at(s->fd, head, sizeof head, at) == (ssize_t)sizeof head &&
	       parse_piece(head, p) && p->packed <= s->size - at - TF_PIECE_SIZE;
}

/* The next place from s->at on where a piece begins; s->size: none. */
static void search(struct tf_memory_stream *s)
{
	uint8_t buf[SEARCH_BYTES];
	struct piece p;

	while (s->at < s->size) {
		ssize_t n = read_at(s->fd, buf, sizeof buf, s->at);
		uint8_t *hit = NULL;

		if (n >= TF_MAGIC_SIZE)
			hit = memmem(buf, (size_t)n, TF_MAGIC_PIECE, TF_MAGIC_SIZE);
		if (hit) {
			s->at += (uint64_t)(hit - buf);
			if (piece_at(s, s->at, &p))
				return;
			s->at++;
		} else if (n < (ssize_t)sizeof buf) {
			s->at = s->size;
		} else {
			s->at += (uint64_t)n - (TF_MAGIC_SIZE - 1);
		}
	}
}

static bool unpack_frame(struct tf_memory_stream *s, uint8_t *to, size_t size, const struct piece *p)
{
	return ZSTD_decompressDCtx(s->zstd, to, size, s->packed.data, p->packed) == size;
}

/* Rearranged words. */
static bool unpack_words(struct tf_memory_stream *s, uint8_t *to, const struct piece *p)
{
	size_t size = tf_words_size(p->raw);
	uint8_t *words;

	tf_buf_clear(&s->words);
	words = tf_buf_need(&s->words, size + 1);
	return words && unpack_frame(s, words, size, p) && tf_words_gather(to, p->raw, words);
}

static bool unpack_index(struct tf_memory_stream *s, uint8_t *to, const struct piece *p)
{
	size_t room = tf_index_bound(p->raw), size;
	uint8_t *words, *scratch;

	tf_buf_clear(&s->words);
	tf_buf_clear(&s->scratch);
	words = tf_buf_need(&s->words, room);
	scratch = tf_buf_need(&s->scratch, (size_t)p->raw + 1);
	if (!words || !scratch)
		return false;
	size = ZSTD_decompressDCtx(s->zstd, words, room, s->packed.data, p->packed);
	return !ZSTD_isError(size) && tf_index_undo(to, p->raw, words, size, scratch);
}

static bool unpack_body(struct tf_memory_stream *s, uint8_t *raw, const struct piece *p)
{
	switch (p->flags) {
	case TF_PIECE_PLAIN:
		return unpack_frame(s, raw, p->raw, p);
	case TF_PIECE_SPREAD:
		return unpack_words(s, raw, p);
	case TF_PIECE_INDEXED:
		return unpack_index(s, raw, p);
	default:
		return false;
	}
}

static bool unpack(struct tf_memory_stream *s, const struct piece *p)
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

/* Into s->raw.  E_CORRUPT: something is missing in front of the next one; said once. */
static enum sonde_trace_status next_piece(struct tf_memory_stream *s)
{
	struct piece p;
	bool good;

	if (s->at >= s->size)
		return SONDE_TRACE_END;
	if (!piece_at(s, s->at, &p)) {
		s->at++;
		search(s);
		s->told = true;
		return SONDE_TRACE_E_CORRUPT;
	}
	if ((p.seq != s->next || p.lost) && !s->told) {
		s->told = true;
		return SONDE_TRACE_E_CORRUPT;
	}
	good = unpack(s, &p);
	s->at += TF_PIECE_SIZE + (uint64_t)p.packed;
	s->next = p.seq + 1;
	s->told = !good;
	return good ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

static void stream_close(struct tf_memory_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	ZSTD_freeDCtx(s->zstd);
	tf_buf_free(&s->packed);
	tf_buf_free(&s->words);
	tf_buf_free(&s->scratch);
	tf_buf_free(&s->raw);
}

/* With its header, whose fields go to @pub. */
static enum sonde_trace_status stream_open(struct tf_memory_stream *s, const char *path,
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

/* ---- objects ---- */

static bool parse_object(struct object *o, const uint8_t *raw, size_t size)
{
	uint64_t nodes, ops, path;

	if (size < TF_OBJECT_SIZE)
		return false;
	o->pub.base = tf_get64(raw);
	o->pub.load = tf_get64(raw + 8);
	o->pub.first = tf_get32(raw + 16);
	o->pub.nnodes = tf_get32(raw + 20);
	o->pub.nops = tf_get32(raw + 24);
	path = tf_get32(raw + 28);
	nodes = (uint64_t)o->pub.nnodes * TF_MD_SIZE;
	ops = (uint64_t)o->pub.nops * TF_MD_SIZE;
	if (nodes + ops + path != size - TF_OBJECT_SIZE)
		return false;
	o->body = malloc(size);
	o->path = strndup((const char *)raw + TF_OBJECT_SIZE + nodes + ops, path);
	if (!o->body || !o->path) {
		free(o->body);
		free(o->path);
		return false;
	}
	memcpy(o->body, raw, size);
	o->pub.nodes = o->body + TF_OBJECT_SIZE;
	o->pub.ops = o->body + TF_OBJECT_SIZE + nodes;
	o->pub.path = o->path;
	return true;
}

static enum sonde_trace_status add_object(struct tf_memory *m, const struct tf_memory_stream *s)
{
	struct object *v = realloc(m->objects, (m->nobjects + 1) * sizeof(*v));

	if (!v)
		return SONDE_TRACE_E_NOMEM;
	m->objects = v;
	v[m->nobjects] = (struct object){ 0 };
	if (parse_object(&v[m->nobjects], s->raw.data, s->raw.size))
		m->nobjects++;
	else
		m->bad_objects++;
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_objects(struct tf_memory *m, const char *dir)
{
	struct tf_memory_stream s;
	enum sonde_trace_status status;
	char *path;

	if (asprintf(&path, "%s/code.memory", dir) < 0)
		return SONDE_TRACE_E_NOMEM;
	status = stream_open(&s, path, TF_MAGIC_CODE, &m->trace, NULL);
	if (status == SONDE_TRACE_E_NOTRACE)
		status = SONDE_TRACE_E_CORRUPT;
	if (status == SONDE_TRACE_E_SYSTEM && errno == ENOENT)
		status = SONDE_TRACE_E_NOTRACE;
	while (status == SONDE_TRACE_OK || status == SONDE_TRACE_E_CORRUPT) {
		if (!s.zstd)
			break;
		status = next_piece(&s);
		if (status == SONDE_TRACE_OK)
			status = add_object(m, &s);
		else if (status == SONDE_TRACE_E_CORRUPT)
			m->bad_objects++;
	}
	stream_close(&s);
	free(path);
	return status == SONDE_TRACE_END ? SONDE_TRACE_OK : status;
}

/* ---- threads ---- */

static void add_up(struct tf_memory_stream *s, struct tf_memory_thread *pub)
{
	struct piece p;

	while (s->at < s->size) {
		if (!piece_at(s, s->at, &p)) {
			pub->bad++;
			s->at++;
			search(s);
			continue;
		}
		pub->chunks++;
		pub->raw_bytes += p.raw;
		pub->lost += p.lost;
		s->at += TF_PIECE_SIZE + (uint64_t)p.packed;
	}
}

static enum sonde_trace_status add_thread(struct tf_memory *m, const char *dir, const char *name)
{
	struct thread *v = realloc(m->threads, (m->nthreads + 1) * sizeof(*v));
	struct tf_memory_stream s;
	struct thread *t;
	uint64_t trace = 0;
	enum sonde_trace_status status;

	if (!v)
		return SONDE_TRACE_E_NOMEM;
	m->threads = v;
	t = &v[m->nthreads];
	*t = (struct thread){ 0 };
	if (asprintf(&t->path, "%s/%s", dir, name) < 0)
		return SONDE_TRACE_E_NOMEM;
	status = stream_open(&s, t->path, TF_MAGIC_MEMORY, &trace, &t->pub);
	if (status == SONDE_TRACE_OK)
		add_up(&s, &t->pub);
	else
		t->pub.bad++;
	stream_close(&s);
	/* of another trace, or no such file at all: not ours to read */
	if (status == SONDE_TRACE_E_NOTRACE || (status == SONDE_TRACE_OK && trace != m->trace))
		free(t->path);
	else
		m->nthreads++;
	return SONDE_TRACE_OK;
}

static bool is_stream(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return n > 7 && strcmp(entry->d_name + n - 7, ".memory") == 0 &&
	       strcmp(entry->d_name, "code.memory") != 0;
}

static int by_ids(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	if (x->pub.pid != y->pub.pid)
		return x->pub.pid < y->pub.pid ? -1 : 1;
	if (x->pub.tid != y->pub.tid)
		return x->pub.tid < y->pub.tid ? -1 : 1;
	return strcmp(x->path, y->path);
}

static enum sonde_trace_status find_threads(struct tf_memory *m, const char *dir)
{
	enum sonde_trace_status status = SONDE_TRACE_OK;
	const struct dirent *entry;
	DIR *d = opendir(dir);

	if (!d)
		return SONDE_TRACE_E_SYSTEM;
	while (status == SONDE_TRACE_OK && (entry = readdir(d)))
		if (is_stream(entry))
			status = add_thread(m, dir, entry->d_name);
	closedir(d);
	if (m->nthreads)
		qsort(m->threads, m->nthreads, sizeof(*m->threads), by_ids);
	return status;
}

/* ---- interface ---- */

enum sonde_trace_status tf_memory_open(const char *dir, struct tf_memory **out,
				       struct sonde_trace_message *why)
{
	struct tf_memory *m = calloc(1, sizeof(*m));
	enum sonde_trace_status status = m ? read_objects(m, dir) : SONDE_TRACE_E_NOMEM;

	*out = NULL;
	if (status == SONDE_TRACE_OK)
		status = find_threads(m, dir);
	if (status == SONDE_TRACE_OK) {
		*out = m;
		return status;
	}
	if (why)
		snprintf(why->text, sizeof why->text, "%s/code.memory: %s", dir,
			 status == SONDE_TRACE_E_SYSTEM  ? strerror(errno) :
			 status == SONDE_TRACE_E_NOTRACE ? "the trace has no memory accesses" :
							   sonde_trace_strstatus(status));
	tf_memory_close(m);
	return status;
}

void tf_memory_close(struct tf_memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nobjects; i++) {
		free(m->objects[i].body);
		free(m->objects[i].path);
	}
	for (size_t i = 0; i < m->nthreads; i++)
		free(m->threads[i].path);
	free(m->objects);
	free(m->threads);
	free(m);
}

bool tf_memory_object(const struct tf_memory *m, size_t i, struct tf_memory_object *object)
{
	if (i >= m->nobjects)
		return false;
	*object = m->objects[i].pub;
	return true;
}

uint64_t tf_memory_bad_objects(const struct tf_memory *m)
{
	return m->bad_objects;
}

bool tf_memory_thread(const struct tf_memory *m, size_t i, struct tf_memory_thread *thread)
{
	if (i >= m->nthreads)
		return false;
	*thread = m->threads[i].pub;
	return true;
}

enum sonde_trace_status tf_memory_stream_open(const struct tf_memory *m, size_t thread,
					      struct tf_memory_stream **out)
{
	struct tf_memory_stream *s = calloc(1, sizeof(*s));
	enum sonde_trace_status status;
	uint64_t trace;

	*out = NULL;
	if (!s || thread >= m->nthreads) {
		free(s);
		return s ? SONDE_TRACE_E_INVALID : SONDE_TRACE_E_NOMEM;
	}
	status = stream_open(s, m->threads[thread].path, TF_MAGIC_MEMORY, &trace, NULL);
	if (status != SONDE_TRACE_OK) {
		tf_memory_stream_close(s);
		return status;
	}
	*out = s;
	return status;
}

enum sonde_trace_status tf_memory_next(struct tf_memory_stream *s, const void **chunk, size_t *bytes)
{
	enum sonde_trace_status status = next_piece(s);

	*chunk = s->raw.data;
	*bytes = status == SONDE_TRACE_OK ? s->raw.size : 0;
	return status;
}

void tf_memory_stream_close(struct tf_memory_stream *s)
{
	if (!s)
		return;
	stream_close(s);
	free(s);
}
