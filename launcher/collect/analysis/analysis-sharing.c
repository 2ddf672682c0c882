/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that threads share, found for a module while the program runs: each thread's accesses are summed up when they come, and compared at the end. */
#include "config.h"

#include <stdio.h>

#include "launcher/collect/analysis/analysis-private.h"
#include "launcher/common/message.h"
#include "launcher/memory/memtrace.h"
#include "launcher/sharing/sharing.h"

#define ROWS 20
#define LEAST 100

int analysis_sharing_new(struct analysis *a, const struct modfile_list *modules)
{
	for (size_t i = 0; i < modules->n && !a->sharer; i++)
		if (modules->v[i].finds_sharing)
			a->sharer = &modules->v[i];
	if (!a->sharer)
		return 0;
	a->wants.accesses = true;
	a->sharing = sh_new(&(struct sh_options){ .line = 64, .least = LEAST, .live = true });
	if (a->sharing)
		return 0;
	msg_error("out of memory");
	return EXIT_USAGE;
}

bool analysis_sharing_begin(struct analysis_thread *t, pid_t pid, pid_t tid)
{
	struct analysis *a = t->a;

	if (!a->sharing)
		return true;
	pthread_mutex_lock(&a->lock);
	t->sharing = sh_thread_new(a->sharing, pid, tid);
	pthread_mutex_unlock(&a->lock);
	return t->sharing;
}

bool analysis_sharing_take(struct analysis_thread *t, const struct mt_access *v, size_t n)
{
	return sh_thread_time(t->sharing, t->batcher.time, t->batcher.exact) && sh_thread_take(t->sharing, v, n);
}

bool analysis_sharing_end(struct analysis_thread *t)
{
	return !t->sharing || sh_thread_time(t->sharing, t->batcher.time, t->batcher.exact);
}

static bool print_lines(struct analysis *a, const struct mt_read *read, const struct sonde_trace *trace, FILE *to)
{
	struct memwhere *where = memwhere_new(read, MEMWHERE_LINES);
	struct memnames *names = memnames_new(read, trace, sonde_trace_rank(trace, 0), MEMNAMES_FIELDS);
	struct sharing_rows rows = { .bytes = 64, .least = LEAST };
	const bool done = where && names && sh_finish(a->sharing) && sharing_rows_add(&rows, a->sharing, where, names, -1) &&
			  sharing_rows_finish(&rows);

	if (done)
		sharing_table(&rows, NULL, ROWS, to);
	sharing_rows_free(&rows);
	memnames_free(names);
	if (where)
		memwhere_free(where);
	return done;
}

bool analysis_sharing_print(struct analysis *a, const char *dir, FILE *to)
{
	struct sonde_trace *trace = NULL;
	bool none, done;
	struct mt_read *read = memtrace_read(dir, &none);

	if (!read)
		return none; /* nothing was instrumented, or else it has said why */
	if (a->how.bursts || a->how.every)
		fputs("sampled: only what happened in bursts was seen; lines may be missing, and transfers are of bursts alone\n\n", to);
	done = sonde_trace_open(dir, &trace, NULL) == SONDE_TRACE_OK && print_lines(a, read, trace, to);
	if (trace)
		sonde_trace_close(trace);
	mt_read_close(read);
	return done;
}
