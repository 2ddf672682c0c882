/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/config/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/common/message.h"

/* ---- threads ---- */

/* Threads of a process: the first one, then as they began to record. */
static bool is_before(const struct sonde_trace_thread *a, const struct sonde_trace_thread *b)
{
	if ((a->tid == a->pid) != (b->tid == b->pid))
		return a->tid == a->pid;
	if (a->first != b->first && a->first && b->first)
		return a->first < b->first;
	return a->tid < b->tid;
}

static uint64_t number_of(const struct sonde_trace *trace, const struct sonde_trace_thread *thread)
{
	uint64_t n = 1;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		n += t != thread && t->rank_index == thread->rank_index && t->pid == thread->pid &&
		     is_before(t, thread);
	}
	return n;
}

bool config_wants_thread(struct config_making *m, const struct sonde_trace_thread *thread)
{
	uint64_t wanted = m->entry->when.thread;

	return pick_thread(thread, &m->pick) && (!wanted || number_of(m->trace, thread) == wanted);
}

bool config_wants_tid(struct config_making *m, size_t rank_index, int pid, int tid)
{
	if (!m->entry->when.thread)
		return true;
	for (size_t i = 0; i < sonde_trace_threads(m->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(m->trace, i);

		if (t->rank_index == rank_index && t->pid == pid && t->tid == tid)
			return config_wants_thread(m, t);
	}
	return false;
}

/* ---- files ---- */

/* Ranks of a job write files of their own.  For free(). */
static char *path_of(const struct config_entry *e, int rank)
{
	char *path;

	if (rank < 0 || e->when.has_rank)
		return strdup(e->output);
	return asprintf(&path, "%s.rank-%d", e->output, rank) < 0 ? NULL : path;
}

static bool is_left_out(const struct config_entry *e, int rank)
{
	return !e->output || (rank >= 0 && e->when.has_rank && e->when.rank != (uint64_t)rank);
}

int config_outputs_check(const struct config_files *f, int rank)
{
	for (size_t i = 0; i < f->config->n; i++) {
		const struct config_entry *e = &f->config->v[i];
		char *path = is_left_out(e, rank) ? NULL : path_of(e, rank);
		int fd, err;

		if (is_left_out(e, rank))
			continue;
		if (!path)
			return config_no_memory();
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		err = errno;
		free(path);
		if (fd < 0)
			return config_error(f->config, &e->output_at, "cannot write to %s: %s", e->output,
					    strerror(err));
		close(fd);
	}
	return 0;
}

static void put_head(const struct config_making *m)
{
	const struct config_entry *e = m->entry;

	fprintf(m->out, "# %s at ", config_about[e->type].name);
	for (size_t i = 0; i < e->nplaces; i++)
		fprintf(m->out, "%s%s", i ? ", " : "", e->places[i].text);
	for (size_t i = 0; i < e->variables.n; i++)
		fprintf(m->out, "%s%s", i ? ", " : "; of ", e->variables.v[i]);
	if (m->f->config->program || m->f->program.path)
		fprintf(m->out, "; %s", m->f->v[0].path);
	putc('\n', m->out);
	for (size_t i = 0; i < m->found->notes.n; i++)
		fprintf(m->out, "# %s\n", m->found->notes.v[i]);
}

static int make(struct config_making *m)
{
	switch (m->entry->type) {
	case CONFIG_INVOCATION_COUNTER:
	case CONFIG_FUNCTION_TRACE:
		return config_make_calls(m);
	case CONFIG_VALUE:
		return config_make_values(m);
	case CONFIG_BLOCK_COUNTER:
	case CONFIG_TRIP_COUNTER:
	case CONFIG_BRANCH_OUTCOME:
		return config_make_blocks(m);
	default:
		return config_make_memory(m);
	}
}

static int write_output(struct config_making *m, int rank)
{
	char *path = path_of(m->entry, rank);
	bool good;
	int status;

	if (!path)
		return config_no_memory();
	m->out = fopen(path, "we");
	if (!m->out) {
		msg_error("cannot write to %s: %s", path, strerror(errno));
		free(path);
		return EXIT_USAGE;
	}
	put_head(m);
	status = make(m);
	good = !ferror(m->out);
	good = fclose(m->out) == 0 && good;
	if (!good) {
		msg_error("cannot write to %s: %s", path, strerror(errno));
		status = EXIT_USAGE;
	} else if (!status) {
		msg_debug("%s of %s is in %s", config_about[m->entry->type].name, m->entry->places[0].text, path);
	}
	free(path);
	return status;
}

/* Which of its parts is still being recorded; NULL: none. */
static const struct sonde_trace_rank *unfinished(const struct sonde_trace *trace, int rank)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		const struct sonde_trace_rank *r = sonde_trace_rank(trace, i);

		if (r->ending == SONDE_TRACE_UNFINISHED && (rank < 0 || r->rank == rank))
			return r;
	}
	return NULL;
}

static int write_all(struct config_files *f, const char *dir, int rank, struct sonde_trace *trace)
{
	int status = 0;

	for (size_t i = 0; i < f->config->n; i++) {
		const struct config_entry *e = &f->config->v[i];
		uint64_t wanted = rank >= 0 ? (uint64_t)rank : e->when.has_rank ? e->when.rank : PICK_ANY_RANK;
		struct config_making m = {
			.f = f, .entry = e, .found = &f->found[i], .dir = dir, .trace = trace,
			.pick = { .trace = trace, .rank = wanted, .to = PICK_NO_END },
		};
		int one = is_left_out(e, rank) ? 0 : write_output(&m, rank);

		status = one ? one : status;
	}
	return status;
}

static bool has_outputs(const struct config *c, int rank)
{
	for (size_t i = 0; i < c->n; i++)
		if (!is_left_out(&c->v[i], rank))
			return true;
	return false;
}

int config_outputs(struct config_files *f, const char *dir, int rank)
{
	struct sonde_trace *trace;
	int status = 0;

	if (!has_outputs(f->config, rank))
		return 0;
	status = pick_open(dir, &trace);
	if (status)
		return status;
	if (unfinished(trace, rank)) {
		msg_error("%s is not complete: what it started is recorded still, or the process that records was "
			  "ended; `sonde config output %s "
			  "%s' writes the files later",
			  dir, f->config->path, dir);
		status = EXIT_USAGE;
	} else {
		status = write_all(f, dir, rank, trace);
	}
	sonde_trace_close(trace);
	return status;
}
