// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: memspeed FOLDER [TIMES]
 *
 * How fast the machine alone is on a trace's streams, the first 256 MiB of them, which are unpacked before: the median of so many
 * times.  Prints how many accesses there are, and million accesses a second one by one, and counted.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memtrace/pack/files.h"
#include "memtrace/compile.h"
#include "memtrace/heap.h"

enum { BATCH = 4096, MOST = 256 << 20, TIMES = 99 };

struct piece {
	void *data;
	size_t len;
	bool first;	/* of its thread */
	uint32_t kind;
};

static struct piece *pieces;
static size_t npieces, loaded;
static struct mt_access batch[BATCH];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void keep(const void *chunk, size_t len, bool first)
{
	pieces = realloc(pieces, (npieces + 1) * sizeof(*pieces));
	if (!pieces || !(pieces[npieces].data = malloc(len)))
		err(1, "malloc");
	memcpy(pieces[npieces].data, chunk, len);
	memcpy(&pieces[npieces].kind, chunk, sizeof(uint32_t));	/* struct md_chunk's first */
	pieces[npieces].len = len;
	loaded += len;
	pieces[npieces++].first = first;
}

static void load(struct mt_files *files)
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
		while (loaded < MOST && mt_stream_next(s, &chunk, &len) == SONDE_TRACE_OK) {
			keep(chunk, len, first);
			first = false;
		}
		if (!first && loaded < MOST && pieces[npieces - 1].kind != MD_CHUNK_END)
			keep(&end, sizeof(end), false);
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

static uint64_t take(struct mt_machine *m, bool counting)
{
	struct mt_counts counts = { 0 };
	enum mt_status status;
	uint64_t all = 0;
	size_t n;

	if (counting) {
		status = mt_count(m, 1, &counts);
		for (int i = 0; i < 4; i++)
			all += counts.accesses[i];
	} else {
		while ((n = mt_next(m, batch, BATCH, &status)))
			all += n;
	}
	if (status != MT_OK)
		errx(1, "status %d", status);
	return all;
}

static uint64_t run(struct mt_code *code, bool counting)
{
	struct mt_machine *m = NULL;
	uint64_t all = 0;

	for (size_t i = 0; i < npieces; i++) {
		if (pieces[i].first) {
			mt_machine_free(m);
			m = mt_machine_new(code);
		}
		if (!m || mt_feed(m, pieces[i].data, pieces[i].len) != MT_OK)
			errx(1, "chunk %zu", i);
		all += take(m, counting);
	}
	mt_machine_free(m);
	return all;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Million accesses a second. */
static double median(struct mt_code *code, bool counting, int times, uint64_t *all)
{
	double took[TIMES];

	for (int i = 0; i < times; i++) {
		double start = now();

		*all = run(code, counting);
		took[i] = now() - start;
	}
	qsort(took, (size_t)times, sizeof(took[0]), by_size);
	return (double)*all / took[times / 2] / 1e6;
}

int main(int argc, char **argv)
{
	struct sonde_trace_message why;
	struct mt_compiled stats;
	double next, counted;
	struct mt_files *files;
	struct mt_code *code;
	uint64_t all;
	int times = argc > 2 ? atoi(argv[2]) : 3;

	if (argc < 2 || times < 1 || times > TIMES)
		errx(2, "usage: memspeed FOLDER [TIMES]");
	if (mt_files_open(argv[1], &files, &why) != SONDE_TRACE_OK)
		errx(1, "%s", why.text);
	load(files);
	code = describe(files);
	next = median(code, false, times, &all);
	counted = median(code, true, times, &all);
	printf("%llu %.0f %.0f\n", (unsigned long long)all, next, counted);
	if (mt_compile_stats(code, &stats))
		fprintf(stderr, "%llu pieces, %llu bytes of code, entered %llu times, %llu nodes and loops interpreted\n",
			(unsigned long long)stats.nodes, (unsigned long long)stats.bytes,
			(unsigned long long)stats.entered, (unsigned long long)stats.interpreted);
	mt_code_free(code);
	mt_files_close(files);
	return 0;
}
