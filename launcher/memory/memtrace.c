/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memtrace.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Has the thread a memory stream?  Beside its file, with another ending. */
static bool has_stream(const struct sonde_trace_thread *thread)
{
	const char *dot = strrchr(thread->file, '.');
	char *path;
	bool found;

	if (!dot || asprintf(&path, "%.*s.memory", (int)(dot - thread->file), thread->file) < 0)
		return false;
	found = access(path, F_OK) == 0;
	free(path);
	return found;
}

bool memtrace_has_any(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		if (has_stream(sonde_trace_thread(trace, i)))
			return true;
	}
	return false;
}

static size_t count_streams(const struct sonde_trace *trace, struct pick *pick)
{
	size_t n = 0;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(trace, i);

		n += pick_thread(thread, pick) && has_stream(thread);
	}
	return n;
}

void memtrace_use(struct sonde_trace *trace, struct pick *pick, struct memtrace *t)
{
	*t = (struct memtrace){ .trace = trace, .pick = pick };
	pick->trace = trace;
	t->threads = count_streams(trace, pick);
}

static void warn_without_end(const struct sonde_trace *trace, const char *dir)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		if (sonde_trace_rank(trace, i)->ending != SONDE_TRACE_UNFINISHED)
			continue;
		msg_warn("%s: the recording has no end: it is still running, or the recorder was killed", dir);
		return;
	}
}

int memtrace_open(const char *dir, struct pick *pick, struct memtrace *t)
{
	int status = pick_open(dir, &t->trace);

	if (status)
		return status;
	memtrace_use(t->trace, pick, t);
	status = pick_check(pick);
	if (!status && !t->threads) {
		msg_error("%s: no memory accesses were recorded; `sonde record --mem' does", dir);
		status = EXIT_USAGE;
	}
	if (status)
		memtrace_close(t);
	else
		warn_without_end(t->trace, dir);
	return status;
}

void memtrace_close(struct memtrace *t)
{
	if (t->trace)
		sonde_trace_close(t->trace);
	*t = (struct memtrace){ 0 };
}

struct mt_read *memtrace_read(const char *dir, bool *none)
{
	struct sonde_trace_message why;
	enum sonde_trace_status status;
	struct mt_read *read = mt_read_open(dir, &status, &why);

	*none = !read && status == SONDE_TRACE_E_NOTRACE;
	if (!read && !*none)
		msg_error("%s", why.text);
	if (read && mt_read_damaged(read))
		msg_warn("%s/code.memory: the description of %s is damaged", dir, mt_read_damaged(read));
	return read;
}

struct mt_read_thread *memtrace_start(const struct memtrace_thread *thread)
{
	enum sonde_trace_status status;
	struct mt_read_thread *t = mt_read_start(thread->read, thread->index, &status);

	if (!t)
		msg_error("memory accesses of a thread: %s", sonde_trace_strstatus(status));
	return t;
}

/* ---- ranks and threads ---- */

static bool wanted(const struct memtrace *t, const struct sonde_trace_rank *rank,
		   const struct tf_memory_thread *about)
{
	struct sonde_trace_thread like = { .rank_index = rank->index,
					   .pid = about->pid, .tid = about->tid };

	return pick_thread(&like, t->pick);
}

static int visit_threads(const struct memtrace *t, const struct sonde_trace_rank *rank,
			 struct mt_read *read, const struct memtrace_visitor *v)
{
	struct memtrace_thread thread = {
		.read = read, .rank = rank->rank, .trace = t->trace, .rank_index = rank->index,
	};
	int status = 0;

	for (; !status && mt_read_thread(read, thread.index, &thread.about); thread.index++)
		if (wanted(t, rank, &thread.about))
			status = v->thread(v->arg, &thread);
	return status;
}

/* Streams without code.memory are worth nothing. */
static int no_descriptions(const struct memtrace *t, const struct sonde_trace_rank *rank)
{
	for (size_t i = 0; i < sonde_trace_threads(t->trace); i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(t->trace, i);

		if (thread->rank_index != rank->index || !has_stream(thread))
			continue;
		msg_error("%s/code.memory: %s", rank->dir, strerror(ENOENT));
		return EXIT_USAGE;
	}
	return 0;
}

static int visit_rank(const struct memtrace *t, const struct sonde_trace_rank *rank,
		      const struct memtrace_visitor *v)
{
	bool none;
	struct mt_read *read = memtrace_read(rank->dir, &none);
	int status;

	if (!read)
		return none ? no_descriptions(t, rank) : EXIT_USAGE;
	status = v->begin ? v->begin(v->arg, read, rank->rank) : 0;
	if (!status)
		status = visit_threads(t, rank, read, v);
	if (!status && v->done)
		status = v->done(v->arg);
	if (v->end)
		v->end(v->arg);
	mt_read_close(read);
	return status;
}

int memtrace_visit(const struct memtrace *t, const struct memtrace_visitor *v)
{
	int status = 0;

	for (size_t i = 0; !status && i < sonde_trace_ranks(t->trace); i++) {
		const struct sonde_trace_rank *rank = sonde_trace_rank(t->trace, i);

		if (t->pick->rank == PICK_ANY_RANK ||
		    (rank->rank >= 0 && (uint64_t)rank->rank == t->pick->rank))
			status = visit_rank(t, rank, v);
	}
	return status;
}

uint64_t memtrace_accesses(const struct memtrace_thread *thread,
			   bool (*take)(void *arg, const struct mt_access *v, size_t n), void *arg)
{
	struct mt_read_thread *t = memtrace_start(thread);
	const struct mt_access *v;
	uint64_t gaps = 0;
	size_t n;

	if (!t)
		return 1;
	while ((n = mt_read_next(t, &v, &gaps))) {
		if (thread->tsc)
			*thread->tsc = mt_read_tsc(t);
		if ((mt_read_was_off(t) && !take(arg, v, 0)) || !take(arg, v, n))
			break;
	}
	if (gaps)
		msg_warn("thread %d.%d: %" PRIu64 " part%s missing from its memory accesses",
			 thread->about.pid, thread->about.tid, gaps, gaps == 1 ? " is" : "s are");
	mt_read_stop(t);
	return thread->about.lost && !thread->about.bad ? 0 : gaps;
}
