/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory streams while they are read.  Nothing in the files is trusted. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracefmt/buffer.h"
#include "base/array.h"
#include "tracefmt/format.h"
#include "memtrace/pack/files.h"
#include "memtrace/pack/pieces.h"

struct object {
	struct mt_files_object pub;
	uint8_t *body;
	char *path;
};

struct thread {
	struct mt_files_thread pub;
	char *path;
};

struct mt_files {
	struct object *objects;
	size_t nobjects;
	struct thread *threads;
	size_t nthreads;
	uint64_t trace;
	uint64_t bad_objects;
};

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
	o->pub.object = tf_get32(raw + 32);
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

static enum sonde_trace_status add_object(struct mt_files *m, const struct mt_stream *s)
{
	if (!array_one_more(m->objects, m->nobjects))
		return SONDE_TRACE_E_NOMEM;
	m->objects[m->nobjects] = (struct object){ 0 };
	if (parse_object(&m->objects[m->nobjects], s->raw.data, s->raw.size))
		m->nobjects++;
	else
		m->bad_objects++;
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_objects(struct mt_files *m, const char *dir)
{
	struct mt_stream s;
	enum sonde_trace_status status;
	char *path;

	if (asprintf(&path, "%s/code.memory", dir) < 0)
		return SONDE_TRACE_E_NOMEM;
	status = mt_pieces_open(&s, path, TF_MAGIC_CODE, &m->trace, NULL);
	if (status == SONDE_TRACE_E_NOTRACE)
		status = SONDE_TRACE_E_CORRUPT;
	if (status == SONDE_TRACE_E_SYSTEM && errno == ENOENT)
		status = SONDE_TRACE_E_NOTRACE;
	while (status == SONDE_TRACE_OK || status == SONDE_TRACE_E_CORRUPT) {
		if (!s.zstd)
			break;
		status = mt_piece_next(&s);
		if (status == SONDE_TRACE_OK)
			status = add_object(m, &s);
		else if (status == SONDE_TRACE_E_CORRUPT)
			m->bad_objects++;
	}
	mt_pieces_close(&s);
	free(path);
	return status == SONDE_TRACE_END ? SONDE_TRACE_OK : status;
}

/* ---- threads ---- */

static void add_up(struct mt_stream *s, struct mt_files_thread *pub)
{
	struct mt_piece p;

	while (s->at < s->size) {
		if (!mt_piece_at(s, s->at, &p)) {
			pub->bad++;
			s->at++;
			mt_piece_search(s);
			continue;
		}
		pub->chunks++;
		pub->raw_bytes += p.raw;
		pub->lost += p.lost;
		s->at += TF_PIECE_SIZE + (uint64_t)p.packed;
	}
}

static enum sonde_trace_status add_thread(struct mt_files *m, const char *dir, const char *name)
{
	struct mt_stream s;
	struct thread *t;
	uint64_t trace = 0;
	enum sonde_trace_status status;

	if (!array_one_more(m->threads, m->nthreads))
		return SONDE_TRACE_E_NOMEM;
	t = &m->threads[m->nthreads];
	*t = (struct thread){ 0 };
	if (asprintf(&t->path, "%s/%s", dir, name) < 0)
		return SONDE_TRACE_E_NOMEM;
	status = mt_pieces_open(&s, t->path, TF_MAGIC_MEMORY, &trace, &t->pub);
	if (status == SONDE_TRACE_OK)
		add_up(&s, &t->pub);
	else
		t->pub.bad++;
	mt_pieces_close(&s);
	/* of another trace, no such file at all, or one whose writer was killed before it wrote: not ours to read */
	if (status == SONDE_TRACE_E_NOTRACE || (status == SONDE_TRACE_OK && trace != m->trace) ||
	    (status == SONDE_TRACE_E_TRUNCATED && !s.size))
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

static enum sonde_trace_status find_threads(struct mt_files *m, const char *dir)
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

enum sonde_trace_status mt_files_open(const char *dir, struct mt_files **out,
				      struct sonde_trace_message *why)
{
	struct mt_files *m = calloc(1, sizeof(*m));
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
	mt_files_close(m);
	return status;
}

void mt_files_close(struct mt_files *m)
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

uint64_t mt_files_trace(const struct mt_files *m)
{
	return m->trace;
}

bool mt_files_object(const struct mt_files *m, size_t i, struct mt_files_object *object)
{
	if (i >= m->nobjects)
		return false;
	*object = m->objects[i].pub;
	return true;
}

uint64_t mt_files_bad_objects(const struct mt_files *m)
{
	return m->bad_objects;
}

bool mt_files_thread(const struct mt_files *m, size_t i, struct mt_files_thread *thread)
{
	if (i >= m->nthreads)
		return false;
	*thread = m->threads[i].pub;
	thread->path = m->threads[i].path;
	return true;
}

enum sonde_trace_status mt_stream_open(const struct mt_files *m, size_t thread,
				       struct mt_stream **out)
{
	struct mt_stream *s = calloc(1, sizeof(*s));
	enum sonde_trace_status status;
	uint64_t trace;

	*out = NULL;
	if (!s || thread >= m->nthreads) {
		free(s);
		return s ? SONDE_TRACE_E_INVALID : SONDE_TRACE_E_NOMEM;
	}
	status = mt_pieces_open(s, m->threads[thread].path, TF_MAGIC_MEMORY, &trace, NULL);
	if (status == SONDE_TRACE_E_TRUNCATED || status == SONDE_TRACE_E_CORRUPT) {
		/* of a file with such a header nothing is known but that it is damaged */
		s->at = 0;
		s->size = 1;
		status = SONDE_TRACE_OK;
	}
	if (status != SONDE_TRACE_OK) {
		mt_stream_close(s);
		return status;
	}
	*out = s;
	return status;
}

enum sonde_trace_status mt_stream_next(struct mt_stream *s, const void **chunk, size_t *bytes)
{
	enum sonde_trace_status status = mt_piece_next(s);

	*chunk = s->raw.data;
	*bytes = status == SONDE_TRACE_OK ? s->raw.size : 0;
	return status;
}

void mt_stream_close(struct mt_stream *s)
{
	if (!s)
		return;
	mt_pieces_close(s);
	free(s);
}
