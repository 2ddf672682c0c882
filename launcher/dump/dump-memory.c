/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/dump/dump-memory.h"
#include "launcher/common/message.h"
#include "launcher/common/progress.h"
#include "launcher/select/traced.h"
#include "launcher/trace/sampled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- output ---- */

static bool is_folder(const char *path)
{
	size_t n = strlen(path);
	struct stat st;

	return (n && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

static int open_file(struct dump_memory *d, const char *path)
{
	if (!output_open(&d->file, path))
		return EXIT_USAGE;
	d->out = d->file.f;
	return 0;
}

/* Where this thread's accesses go, if each has a file of its own. */
static int open_own_file(struct dump_memory *d, const struct memtrace_thread *t)
{
	const struct sonde_trace_rank *program = sonde_trace_rank(t->trace, t->rank_index);
	char rank[24] = "", number[24] = "";

	if (t->rank >= 0)
		snprintf(rank, sizeof rank, "rank-%d.", t->rank);
	if (program->number)
		snprintf(number, sizeof number, "program-%d.", program->number);
	if (asprintf(&d->path, "%s/%s%s%d.%d.%s", d->o->output, rank, number, t->about.pid, t->about.tid,
		     d->format->name) >= 0)
		return open_file(d, d->path);
	d->path = NULL;
	msg_error("no memory");
	return EXIT_USAGE;
}

static int close_file(struct dump_memory *d, bool keep)
{
	bool good;

	if (!d->out)
		return 0;
	dump_memory_flush(d);
	good = output_close(&d->file, keep && !d->failed);
	d->out = NULL;
	free(d->path);
	d->path = NULL;
	return good ? 0 : EXIT_USAGE;
}

/* ---- accesses ---- */

static struct memplace *place_of(struct dump_memory *d, uint64_t insn)
{
	struct memplace *place = memwhere(d->where, insn);

	if (!place) {
		d->failed = true;
		return NULL;
	}
	if (!place->asked)
		place->hidden = !memwhere_matches(place, d->select);
	place->asked = true;
	d->any |= !place->hidden;
	return place;
}

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct dump_memory *d = arg;
	struct memplace *place = NULL;

	if (!n && d->format->off)
		d->format->off(d);
	for (size_t i = 0; i < n && !d->failed; i++) {
		if (d->where && (!place || place->insn != v[i].insn))
			place = place_of(d, v[i].insn);
		if (!place || !place->hidden)
			if (place || !d->where)
				d->format->put(d, &v[i], place);
	}
	return !d->failed && !ferror(d->out);
}

static int dump_thread(void *arg, const struct memtrace_thread *chosen)
{
	struct dump_memory *d = arg;
	struct memtrace_thread timed = *chosen, *thread = &timed;
	bool own_file = !d->out;
	int status = own_file ? open_own_file(d, thread) : 0;

	if (status)
		return status;
	timed.tsc = &d->tsc;
	if (d->format->begin)
		d->format->begin(d, thread);
	d->damage += memtrace_accesses(thread, take, d);
	if (d->format->end)
		d->format->end(d);
	if (d->failed) {
		msg_error("no memory");
		status = EXIT_USAGE;
	}
	if (own_file) {
		int closed = close_file(d, true);

		status = status ? status : closed;
	} else if (ferror(d->out)) {
		status = EXIT_USAGE;
	}
	return status;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct dump_memory *d = arg;
	unsigned int flags = (d->o->lines || d->o->blocks ? MEMWHERE_LINES : 0) | (d->o->mangled ? MEMWHERE_MANGLED : 0);

	(void)rank;
	if (!d->format->places && !d->select)
		return 0;
	d->where = memwhere_new(read, flags);
	if (!d->where)
		msg_error("no memory");
	return d->where ? 0 : EXIT_USAGE;
}

static void end_rank(void *arg)
{
	struct dump_memory *d = arg;

	memwhere_free(d->where);
	d->where = NULL;
}

/* d->out: one file for all threads; NULL: a file each. */
static int choose_output(struct dump_memory *d, size_t threads)
{
	const char *name = d->o->output && strcmp(d->o->output, "-") != 0 ? d->o->output : NULL;
	bool folder = name && is_folder(name);

	if (!name && !d->format->threads && threads > 1) {
		msg_error("%s does not say which of %zu threads it was: --thread chooses one, -o FOLDER/ makes a "
			  "file for each", d->format->name, threads);
		return EXIT_USAGE;
	}
	if (!folder && (d->format->threads || threads <= 1))
		return open_file(d, name);
	if (mkdir(name, 0777) == 0 || errno == EEXIST)
		return 0;
	msg_error("cannot write to %s: %s", name, strerror(errno));
	return EXIT_USAGE;
}

static int dump_all(struct dump_memory *d, const char *dir, const struct memtrace *t)
{
	const struct memtrace_visitor visitor = {
		.begin = begin_rank, .thread = dump_thread, .end = end_rank, .arg = d,
		.progress = d->o->output || progress_prints_to_file() ? d->o->blocks ? "reading blocks" : "reading memory accesses" : NULL,
	};
	int status = choose_output(d, t->threads), closed, none;

	if (status)
		return status;
	status = memtrace_visit(t, &visitor);
	none = status ? 0 : traced_check(d->select, dir, d->any);
	closed = close_file(d, !none);
	if (status || none)
		return status ? status : none;
	return d->damage ? EXIT_USAGE : closed;
}

int dump_memory(const char *dir, const struct dump_memory_options *o)
{
	struct memtrace t;
	struct dump_memory *d;
	int status = o->blocks ? memtrace_open_blocks(dir, o->pick, &t) : memtrace_open(dir, o->pick, NULL, &t);

	if (status)
		return status;
	sampled_tell(t.trace);
	d = calloc(1, sizeof(*d));
	if (d) {
		d->o = o;
		d->format = dump_memory_format(o->format);
		status = traced_select(t.trace, o->select, &d->select);
		if (!status)
			status = dump_all(d, dir, &t);
		pick_forgive_closed_pipe();
	} else {
		msg_error("no memory");
		status = EXIT_USAGE;
	}
	if (d) {
		select_free(d->select);
		tf_buf_free(&d->thread);
	}
	free(d);
	memtrace_close(&t);
	return status;
}
