// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/memload.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memtrace/compile.h"
#include "memtrace/heap.h"
#include "memtrace/pack/files.h"

enum { MOST = 256 << 20 };

double memload_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void keep(struct memload *m, const void *chunk, size_t len, bool first)
{
	struct memload_piece *p;

	m->pieces = realloc(m->pieces, (m->n + 1) * sizeof(*m->pieces));
	if (!m->pieces)
		err(1, "malloc");
	p = &m->pieces[m->n++];
	*p = (struct memload_piece){ .data = malloc(len), .len = len, .first = first };
	if (!p->data)
		err(1, "malloc");
	memcpy(p->data, chunk, len);
	memcpy(&p->kind, chunk, sizeof(uint32_t));	/* struct md_chunk's first */
	m->loaded += len;
}

static void load(struct memload *m, struct mt_files *files)
{
	const struct md_chunk end = { .kind = MD_CHUNK_END, .head = sizeof(end) };
	struct mt_files_thread about;

	for (size_t i = 0; mt_files_thread(files, i, &about); i++) {
		struct mt_stream *s;
		const void *chunk;
		bool first = true;
		size_t len;

		if (mt_stream_open(files, i, &s) != SONDE_TRACE_OK)
			errx(1, "thread %zu", i);
		while (m->loaded < MOST && mt_stream_next(s, &chunk, &len) == SONDE_TRACE_OK) {
			keep(m, chunk, len, first);
			first = false;
		}
		if (!first && m->loaded < MOST && m->pieces[m->n - 1].kind != MD_CHUNK_END)
			keep(m, &end, sizeof(end), false);
		mt_stream_close(s);
	}
}

static struct mt_code *describe(struct mt_files *files)
{
	struct mt_code *code = mt_code_new(&mt_heap);
	struct mt_files_object o;

	for (size_t i = 0; code && mt_files_object(files, i, &o); i++) {
		struct md_object object = {
			.base = o.base, .load = o.load, .first = o.first,
			.nnodes = o.nnodes, .nops = o.nops, .number = (uint32_t)i,
		};

		if (mt_code_add(code, &object, o.nodes, o.ops) != MT_OK)
			errx(1, "the description of %s", o.path);
	}
	if (!code)
		err(1, "malloc");
	mt_compile(code);
	return code;
}

void memload(struct memload *m, const char *folder)
{
	struct sonde_trace_message why;
	struct mt_files *files;

	*m = (struct memload){ 0 };
	if (mt_files_open(folder, &files, &why) != SONDE_TRACE_OK)
		errx(1, "%s", why.text);
	load(m, files);
	m->code = describe(files);
	mt_files_close(files);
}
