/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening a trace: the metadata of its directories, their thread files, their clocks.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracefmt/read/trace-internal.h"

static void explain(struct sonde_trace_message *why, const char *dir, const char *text)
{
	snprintf(why->text, sizeof why->text, "%.400s: %s", dir, text);
}

/* --- thread files ------------------------------------------------------------------------ */

static bool is_thread_file(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && !strcmp(name + n - 6, ".sonde") && name[0] != '.';
}

/* Thread files that the metadata does not name: it may have ended too early. */
static enum sonde_trace_status find_strays(struct sonde_trace *t, struct tf_part *part)
{
	enum sonde_trace_status status = SONDE_TRACE_OK;
	DIR *d = opendir(part->pub.dir);
	struct tf_thread_in *thread;
	struct dirent *entry;

	if (!d)
		return SONDE_TRACE_E_SYSTEM;
	while (!status && (entry = readdir(d))) {
		if (!is_thread_file(entry->d_name) ||
		    tf_trace_thread(t, part, entry->d_name, false))
			continue;
		thread = tf_trace_thread(t, part, entry->d_name, true);
		if (!thread)
			status = SONDE_TRACE_E_NOMEM;
		else
			sscanf(entry->d_name, "%d.%d.", &thread->pub.pid, &thread->pub.tid);
	}
	closedir(d);
	return status;
}

static void summarize(struct tf_thread_in *thread)
{
	struct sonde_trace_thread *pub = &thread->pub;
	const struct tf_infile *f = &thread->file;

	pub->file_bytes = f->size;
	pub->indexed = f->indexed;
	pub->status = f->status;
	pub->bad_chunks = f->bad;
	for (size_t i = 0; i < f->nchunks; i++) {
		if (!f->chunk[i].size)
			continue;
		pub->chunks++;
		pub->events += f->chunk[i].events;
	}
	/* heads of chunks count waits as well */
	if (pub->ended && !pub->bad_chunks && pub->status == SONDE_TRACE_OK && thread->stated - thread->older < pub->events)
		pub->events = thread->stated - thread->older;
}

static enum sonde_trace_status open_thread(struct sonde_trace *t, struct tf_thread_in *thread)
{
	const struct tf_part *part = thread->part;
	char path[PATH_MAX];
	enum sonde_trace_status status;

	if (snprintf(path, sizeof path, "%s/%s", part->pub.dir, thread->name) >= (int)sizeof path)
		return SONDE_TRACE_OK;
	thread->pub.file = tf_arena_strdup(&t->arena, path);
	if (!thread->pub.file)
		return SONDE_TRACE_E_NOMEM;
	status = tf_infile_open(&thread->file, path, part->pub.max_size && !part->ended);
	if (status == SONDE_TRACE_E_SYSTEM) { /* named by the metadata, but not there */
		thread->pub.status = status;
		return SONDE_TRACE_OK;
	}
	if (status)
		return status;
	if (thread->file.header_valid && thread->file.trace != part->id) {
		thread->file.nchunks = 0; /* it belongs to another trace */
		thread->file.status = SONDE_TRACE_E_CORRUPT;
	}
	summarize(thread);
	return SONDE_TRACE_OK;
}

/* --- time -------------------------------------------------------------------------------- */

#define MAX_COST 1e6 /* ns: no call takes a millisecond to record */

static void finish_cost(struct tf_part *part)
{
	double ns = part->timeline.hz > 0 && part->measured ? 1e9 / part->timeline.hz : 0;

	part->cost = (struct sonde_trace_cost){ part->inside * ns, part->outside * ns };
	if (ns > 0 && part->cost.inside < MAX_COST && part->cost.outside < MAX_COST)
		part->pub.cost = &part->cost;
}

/* Clocks may go on after the program.  One that ended before it began is not believed. */
static uint64_t end_of(const struct tf_part *part)
{
	return part->end > part->first_tsc ? part->end : part->last_tsc;
}

/* When a part began, by the clock that all share. */
static int64_t start_of(const struct tf_part *part)
{
	int64_t ns = tf_timeline_ns(&part->timeline, part->first_tsc);

	return __builtin_add_overflow(ns, part->offset, &ns) ? INT64_MAX : ns;
}

/* All times are since the start of the part that began first. */
static enum sonde_trace_status align(struct sonde_trace *t)
{
	enum sonde_trace_status status = tf_nodes_find(t);
	int64_t earliest = INT64_MAX;

	for (size_t i = 0; i < t->parts.n && !status; i++) {
		int64_t start = start_of(t->parts.v[i]);

		earliest = start < earliest ? start : earliest;
	}
	for (size_t i = 0; i < t->parts.n && !status; i++) {
		struct tf_part *part = t->parts.v[i];

		part->offset = (int64_t)((uint64_t)part->offset - (uint64_t)earliest);
	}
	return status;
}

/* Some parts have the times that they have in the whole trace. */
static enum sonde_trace_status align_some(struct sonde_trace *t, const struct tf_choice *choice)
{
	const struct tf_part **same = calloc(t->parts.n, sizeof *same);
	enum sonde_trace_status status = same ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
	size_t at = 0;

	for (size_t i = 0; i < t->parts.n && !status; i++) {
		same[i] = tf_choice_same(choice, t->parts.v[i], &at);
		if (!same[i])
			status = SONDE_TRACE_E_INVALID;
	}
	if (!status)
		status = tf_nodes_copy(t, choice->all, same);
	for (size_t i = 0; i < t->parts.n && !status; i++) {
		struct tf_part *part = t->parts.v[i];

		part->offset = same[i]->offset;
	}
	free(same);
	return status;
}

/* Largest error of the clock; it is largest at an end, for it changes linearly between. */
static uint64_t largest_error(const struct sonde_trace *t, const struct tf_part *part)
{
	uint64_t first = tf_nodes_error(t, part, part->first_tsc), last = tf_nodes_error(t, part, end_of(part));

	return first > last ? first : last;
}

static void set_part_times(struct sonde_trace *t)
{
	for (size_t i = 0; i < t->parts.n; i++) {
		struct tf_part *part = t->parts.v[i];

		part->pub.start = tf_part_time(part, part->first_tsc);
		part->pub.tsc_hz = part->timeline.hz;
		part->pub.end = tf_part_time(part, end_of(part));
		part->pub.clock_error = largest_error(t, part);
		part->pub.lost = part->lost_elsewhere + part->pub.discarded;
		finish_cost(part);
		tf_switches_finish(part);
		tf_chosen_finish(part);
	}
}

static void set_times(struct sonde_trace *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		struct tf_thread_in *thread = t->threads.v[i];
		struct tf_part *part = t->parts.v[thread->pub.rank_index];
		const struct tf_infile *f = &thread->file;
		bool any = false;

		thread->pub.index = i;
		part->pub.lost += thread->pub.lost + thread->pub.damaged;
		for (size_t k = 0; k < f->nchunks; k++) {
			if (!f->chunk[k].size)
				continue;
			if (!any)
				thread->pub.first = tf_part_time(part, f->chunk[k].first);
			thread->pub.last = tf_part_time(part, f->chunk[k].last);
			any = true;
		}
		if (!part->ended && thread->pub.last > part->pub.end)
			part->pub.end = thread->pub.last;
	}
}

/* Those of processes, and of what they executed. */
static void set_process_times(struct sonde_trace *t)
{
	for (size_t i = 0; i < t->processes.n; i++) {
		struct tf_process_in *p = t->processes.v[i];
		const struct tf_part *part = t->parts.v[p->pub.rank_index];

		p->pub.start = p->start ? tf_part_time(part, p->start) : 0;
		p->pub.end = p->end ? tf_part_time(part, p->end) : 0;
	}
	for (size_t i = 0; i < t->execs.n; i++) {
		struct tf_exec_in *e = t->execs.v[i];

		e->pub.time = tf_part_time(t->parts.v[e->pub.rank_index], e->ticks);
	}
}

/* Which part is that of a program that was executed; which program a part's process was next. */
static void find_programs(struct sonde_trace *t)
{
	for (size_t i = 0; i < t->execs.n; i++) {
		struct tf_exec_in *e = t->execs.v[i];
		struct tf_part *from = t->parts.v[e->pub.rank_index];
		const struct tf_part *part = e->number ? tf_trace_find_program(t, from, e->pub.pid, e->number) :
							 NULL;

		e->pub.program = part ? &part->pub : NULL;
		if (e->pub.pid == from->pub.pid && !from->pub.executed)
			from->pub.executed = &e->pub;
	}
}

/* --- opening ----------------------------------------------------------------------------- */

static void free_part(struct tf_part *part)
{
	if (!part->shares)
		tf_timeline_free(&part->timeline);
	free(part->exchange);
	tf_switches_free(&part->switches);
	tf_chosen_free(&part->chosen);
	free(part->object.v);
	free(part->function.v);
	free(part->code.v);
	free(part->site.v);
	free(part->counter.v);
}

static bool is_listed(const struct sonde_trace *t, size_t from, int pid)
{
	for (size_t i = from; i < t->processes.n; i++) {
		const struct tf_process_in *p = t->processes.v[i];

		if (p->pub.pid == pid)
			return true;
	}
	return false;
}

/* The process that the part began with is no other's child: of those listed from @from on, which are its. */
static int first_process(const struct sonde_trace *t, size_t from)
{
	for (size_t i = from; i < t->processes.n; i++) {
		const struct tf_process_in *p = t->processes.v[i];

		if (!is_listed(t, from, p->pub.parent))
			return p->pub.pid;
	}
	return 0;
}

/* Reads the metadata of all parts; drops those of ranks that have none. */
static enum sonde_trace_status read_parts(struct sonde_trace *t, struct sonde_trace_message *why)
{
	enum sonde_trace_status status = SONDE_TRACE_OK, bad = SONDE_TRACE_OK;
	size_t n = 0;

	for (size_t i = 0; i < t->parts.n && status != SONDE_TRACE_E_NOMEM; i++) {
		struct tf_part *part = t->parts.v[i];
		const struct sonde_trace_rank folder = part->pub;
		size_t nprocesses = t->processes.n;

		part->pub.index = n;
		status = tf_metadata_read(t, part, part->pub.dir, why);
		if (status) {
			t->bad_ranks++;
			t->bad_rank = *why;
			bad = status;
			free_part(part);
			continue;
		}
		/* a folder's name goes before what is said in it: so no two are the same */
		part->pub.rank = folder.rank >= 0 ? folder.rank : part->pub.rank;
		part->pub.number = folder.number;
		if (folder.number)
			part->pub.pid = folder.pid;
		if (!part->pub.pid)
			part->pub.pid = first_process(t, nprocesses);
		t->parts.v[n++] = part;
	}
	t->parts.n = n;
	if (status == SONDE_TRACE_E_NOMEM)
		return status;
	return n ? SONDE_TRACE_OK : bad;
}

/* Metadata that ends early may name no process. */
static void find_pids(struct sonde_trace *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		struct tf_thread_in *thread = t->threads.v[i];
		struct tf_part *part = t->parts.v[thread->pub.rank_index];

		if (!part->pub.pid)
			part->pub.pid = thread->pub.pid;
	}
}

/* @choice: NULL: all of it. */
static enum sonde_trace_status open_all(struct sonde_trace *t, const char *dir, const struct tf_choice *choice,
					struct sonde_trace_message *why)
{
	enum sonde_trace_status status = tf_trace_find_parts(t, dir);

	if (status == SONDE_TRACE_E_SYSTEM)
		explain(why, dir, strerror(errno));
	if (!status && choice)
		tf_choose_parts(t, choice);
	if (!status && !t->parts.n) {
		explain(why, dir, choice ? "no process is wanted" : "not a trace: it has no file \"metadata\"");
		return SONDE_TRACE_E_NOTRACE;
	}
	if (!status)
		status = read_parts(t, why);
	if (status)
		return status;
	for (size_t i = 0; i < t->parts.n && !status; i++)
		status = find_strays(t, t->parts.v[i]);
	if (!status)
		find_pids(t);
	if (!status && choice)
		tf_choose_processes(t, choice);
	for (size_t i = 0; i < t->threads.n && !status; i++)
		status = open_thread(t, t->threads.v[i]);
	if (status) {
		explain(why, dir, status == SONDE_TRACE_E_NOMEM ? "no memory" : strerror(errno));
		return status;
	}
	status = choice ? align_some(t, choice) : align(t);
	if (status) {
		explain(why, dir, sonde_trace_strstatus(status));
		return status;
	}
	set_part_times(t);
	set_times(t);
	set_process_times(t);
	find_programs(t);
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status open_trace(const char *dir, const struct tf_choice *choice, struct sonde_trace **out,
					  struct sonde_trace_message *why)
{
	struct sonde_trace_message unused;
	struct sonde_trace *t = calloc(1, sizeof *t);
	enum sonde_trace_status status = SONDE_TRACE_E_NOMEM;
	int error;

	*out = NULL;
	if (!why)
		why = &unused;
	why->text[0] = '\0';
	if (t)
		t->dir = tf_arena_strdup(&t->arena, dir);
	if (t && t->dir)
		status = open_all(t, dir, choice, why);
	if (!status) {
		*out = t;
		return SONDE_TRACE_OK;
	}
	error = errno;
	if (status == SONDE_TRACE_E_NOMEM)
		explain(why, dir, "no memory");
	sonde_trace_close(t);
	errno = error;
	return status;
}

enum sonde_trace_status sonde_trace_open(const char *dir, struct sonde_trace **out,
					 struct sonde_trace_message *why)
{
	return open_trace(dir, NULL, out, why);
}

enum sonde_trace_status
sonde_trace_open_some(const struct sonde_trace *all,
		      bool (*want)(const struct sonde_trace_rank *program, int pid, void *arg), void *arg,
		      struct sonde_trace **out, struct sonde_trace_message *why)
{
	const struct tf_choice choice = { all, want, arg };

	return open_trace(all->dir, &choice, out, why);
}

void sonde_trace_close(struct sonde_trace *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->threads.n; i++) {
		struct tf_thread_in *thread = t->threads.v[i];

		tf_infile_free(&thread->file);
		free(thread->calls);
	}
	for (size_t i = 0; i < t->parts.n; i++)
		free_part(t->parts.v[i]);
	tf_nodes_free(&t->nodes);
	free(t->parts.v);
	free(t->processes.v);
	free(t->execs.v);
	free(t->threads.v);
	free(t->modules.v);
	free(t->objects.v);
	free(t->functions.v);
	free(t->counters.v);
	free(t->sites.v);
	tf_names_free(&t->module_names);
	tf_names_free(&t->function_names);
	tf_names_free(&t->counter_names);
	tf_names_free(&t->file_names);
	tf_arena_free(&t->arena);
	free(t);
}
