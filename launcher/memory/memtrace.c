/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memtrace.h"
#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/common/progress.h"
#include "launcher/trace/holds.h"
#include "launcher/select/processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_streams(const struct sonde_trace *trace, struct pick *pick)
{
	size_t n = 0;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(trace, i);

		n += pick_thread(thread, pick) && holds_stream(thread);
	}
	return n;
}

void memtrace_use(struct sonde_trace *trace, struct pick *pick, struct memtrace *t)
{
	*t = (struct memtrace){ .trace = trace, .pick = pick };
	pick->trace = trace;
	t->threads = count_streams(trace, pick);
	t->blocks = holds_blocks(trace);
}

/* Modules may have looked at memory accesses that are not in the trace. */
static int no_accesses(const struct sonde_trace *trace, const char *dir, FILE *out)
{
	struct holds_texts texts;
	int status = EXIT_USAGE;
	char why[256];

	holds_texts(trace, &texts);
	if (holds_memory(trace) && !holds_blocks(trace)) {
		msg_error("%s: no memory accesses of these threads were recorded", dir);
	} else if (out && texts.n) {
		holds_print_texts(&texts, true, out);
		status = 0;
	} else if (texts.n) {
		msg_error("%s: no memory accesses are in the trace, they went to modules; what one found is in %s", dir, texts.v[0].path);
	} else {
		holds_no_memory(trace, why, sizeof(why));
		msg_error("%s: %s", dir, why);
	}
	holds_texts_free(&texts);
	return status;
}

/* Opens it, whatever its streams are of; t->threads may be 0. */
static int open_any(const char *dir, struct pick *pick, struct memtrace *t)
{
	int status = pick_open(dir, &t->trace);

	if (!status)
		status = processes_choose(&t->trace, &pick->processes);
	if (status)
		return status;
	memtrace_use(t->trace, pick, t);
	status = pick_check(pick);
	if (status)
		memtrace_close(t);
	else if (t->threads)
		holds_warn_without_end(t->trace, dir);
	return status;
}

int memtrace_open(const char *dir, struct pick *pick, FILE *texts, struct memtrace *t)
{
	int status = open_any(dir, pick, t);

	if (status || (t->threads && !t->blocks))
		return status;
	status = no_accesses(t->trace, dir, texts);
	memtrace_close(t);
	return status;
}

int memtrace_open_blocks(const char *dir, struct pick *pick, struct memtrace *t)
{
	int status = open_any(dir, pick, t);

	t->order = true;
	if (status || (t->threads && holds_order(t->trace)))
		return status;
	if (holds_order(t->trace))
		msg_error("%s: no blocks of these threads were recorded", dir);
	else
		msg_error("%s: the order of blocks was not recorded; `sonde record --blocks=trace' does", dir);
	memtrace_close(t);
	return EXIT_USAGE;
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
	if (read && mt_read_bad_places(read))
		msg_warn("%s/code.places is damaged or missing: some functions have no names", dir);
	return read;
}

struct mt_read_thread *memtrace_start(const struct memtrace_thread *thread)
{
	enum sonde_trace_status status;
	struct mt_read_thread *t = thread->order ? mt_read_start_blocks(thread->read, thread->index, &status) :
						   mt_read_start(thread->read, thread->index, &status);

	if (!t)
		msg_error("memory accesses of a thread: %s", sonde_trace_strstatus(status));
	return t;
}

/* ---- ranks and threads ---- */

/* In chunks: of what is done before, of the rank, of its threads that are done. */
struct memtrace_progress {
	struct progress shown;
	size_t ranks_done, ranks;
	uint64_t done, all;
};

/* Of processes that were not chosen, the streams are there all the same. */
static bool is_chosen(const struct memtrace *t, const struct sonde_trace_thread *like)
{
	for (size_t i = 0; i < sonde_trace_threads(t->trace); i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(t->trace, i);

		if (thread->rank_index == like->rank_index && thread->pid == like->pid)
			return true;
	}
	return !t->pick->processes.n;
}

bool memtrace_wanted(const struct memtrace *t, const struct sonde_trace_rank *rank,
		     const struct mt_files_thread *about)
{
	struct sonde_trace_thread like = { .rank_index = rank->index,
					   .pid = about->pid, .tid = about->tid };

	return pick_thread(&like, t->pick) && is_chosen(t, &like);
}

static uint64_t count_chunks(const struct memtrace *t, const struct sonde_trace_rank *rank, const struct mt_read *read)
{
	struct mt_files_thread about;
	uint64_t n = 0;

	for (size_t i = 0; mt_read_thread(read, i, &about); i++)
		n += memtrace_wanted(t, rank, &about) ? about.chunks : 0;
	return n;
}

static int visit_threads(const struct memtrace *t, const struct sonde_trace_rank *rank,
			 struct mt_read *read, const struct memtrace_visitor *v, struct memtrace_progress *p)
{
	struct memtrace_thread thread = {
		.read = read, .rank = rank->rank, .trace = t->trace, .rank_index = rank->index, .order = t->order,
		.progress = v->progress ? p : NULL,
	};
	int status = 0;

	p->all = count_chunks(t, rank, read);
	p->done = 0;
	for (; !status && mt_read_thread(read, thread.index, &thread.about); thread.index++) {
		if (!memtrace_wanted(t, rank, &thread.about))
			continue;
		status = v->thread(v->arg, &thread);
		p->done += thread.about.chunks;
	}
	p->ranks_done++;
	return status;
}

static void show_progress(struct memtrace_progress *p, uint64_t chunks)
{
	double part = p->all ? (double)(p->done + chunks) / (double)p->all : 0;

	progress_at(&p->shown, ((double)p->ranks_done + (part < 1 ? part : 1)) / (double)p->ranks);
}

/* The stream lies beside the thread's file, with another ending. */
static bool is_beside(const char *stream, const char *file)
{
	const char *a = path_basename(stream), *b = path_basename(file), *dot = strrchr(a, '.');

	return dot && strncmp(a, b, (size_t)(dot - a) + 1) == 0 && !strchr(b + (dot - a) + 1, '.');
}

const struct sonde_trace_thread_sampled *memtrace_sampled(const struct memtrace_thread *thread)
{
	for (size_t i = 0; i < sonde_trace_threads(thread->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(thread->trace, i);

		if (t->rank_index == thread->rank_index && is_beside(thread->about.path, t->file))
			return t->sampled;
	}
	return NULL;
}

/* Streams without code.memory are worth nothing. */
static int no_descriptions(const struct memtrace *t, const struct sonde_trace_rank *rank)
{
	for (size_t i = 0; i < sonde_trace_threads(t->trace); i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(t->trace, i);

		if (thread->rank_index != rank->index || !holds_stream(thread))
			continue;
		msg_error("%s/code.memory: %s", rank->dir, strerror(ENOENT));
		return EXIT_USAGE;
	}
	return 0;
}

static int visit_rank(const struct memtrace *t, const struct sonde_trace_rank *rank,
		      const struct memtrace_visitor *v, struct memtrace_progress *p)
{
	bool none;
	struct mt_read *read = memtrace_read(rank->dir, &none);
	int status;

	if (!read)
		return none ? no_descriptions(t, rank) : EXIT_USAGE;
	status = v->begin ? v->begin(v->arg, read, rank) : 0;
	if (!status)
		status = visit_threads(t, rank, read, v, p);
	if (!status && v->done)
		status = v->done(v->arg);
	if (v->end)
		v->end(v->arg);
	mt_read_close(read);
	return status;
}

int memtrace_visit(const struct memtrace *t, const struct memtrace_visitor *v)
{
	struct memtrace_progress p = { .ranks = sonde_trace_ranks(t->trace) };
	int status = 0;

	if (v->progress)
		progress_begin(&p.shown, v->progress);
	for (size_t i = 0; !status && i < sonde_trace_ranks(t->trace); i++) {
		const struct sonde_trace_rank *rank = sonde_trace_rank(t->trace, i);

		if ((t->pick->rank == PICK_ANY_RANK || (rank->rank >= 0 && (uint64_t)rank->rank == t->pick->rank)) &&
		    (!v->want || v->want(v->arg, rank)))
			status = visit_rank(t, rank, v, &p);
	}
	progress_end(&p.shown);
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
		if (thread->began)
			*thread->began = mt_read_began(t);
		if (thread->time)
			thread->time->tsc = mt_read_time(t, &thread->time->exact);
		if (thread->fs)
			*thread->fs = mt_read_fs(t);
		if (thread->before)
			*thread->before = mt_read_before(t);
		if (thread->progress)
			show_progress(thread->progress, mt_read_chunks(t));
		if ((mt_read_was_off(t) && !take(arg, v, 0)) || !take(arg, v, n))
			break;
	}
	if (thread->time)
		thread->time->tsc = mt_read_time(t, &thread->time->exact);
	if (gaps && thread->progress && !thread->quiet)
		progress_end(&thread->progress->shown);
	if (gaps && !thread->quiet)
		msg_warn("thread %d.%d: %" PRIu64 " part%s missing from its memory accesses",
			 thread->about.pid, thread->about.tid, gaps, gaps == 1 ? " is" : "s are");
	mt_read_stop(t);
	return thread->about.lost && !thread->about.bad ? 0 : gaps;
}
