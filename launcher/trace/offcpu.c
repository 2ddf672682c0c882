/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each file once: the records of all processors, sorted by thread and time, become stretches of those threads of the trace that the
 * file is of.  The clock of the records is led to the TSC by the pairs of both that are among them, and from there to the trace's.
 */
#include "launcher/trace/offcpu.h"
#include "base/array.h"
#include "base/search.h"
#include "launcher/common/message.h"
#include "tracefmt/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct switched {
	uint64_t tid;
	uint64_t when; /* as in the file */
};

struct counted {
	uint64_t ns, what; /* what: as in the file */
};

struct pair {
	uint64_t ns, tsc;
};

struct file {
	char *path;
	const uint8_t *bytes;
	size_t len;
	struct switched *v;
	size_t n, room;
	struct pair *clock; /* by ns */
	size_t nclock, clock_room;
	struct counted *count; /* in any order */
	size_t ncounts, counts_room;
	bool has[COUNTERS];
	bool no_memory;
};

/* ---- the file ---- */

static bool is_there(const char *dir, const char *name, char **path)
{
	if (asprintf(path, "%s/%s", dir, name) < 0) {
		*path = NULL;
		return false;
	}
	if (access(*path, F_OK) == 0)
		return true;
	free(*path);
	*path = NULL;
	return false;
}

/* It lies in the folder of the program that the recording began with; those that it has executed have folders within that. */
char *offcpu_path(const struct sonde_trace_rank *rank)
{
	char *up, *path, *metadata;
	const char *slash = strrchr(rank->dir, '/');

	if (is_there(rank->dir, OFFCPU_FILE, &path) || !slash)
		return path;
	up = strndup(rank->dir, (size_t)(slash - rank->dir));
	if (up && is_there(up, "metadata", &metadata)) {
		free(metadata);
		(void)is_there(up, OFFCPU_FILE, &path);
	}
	free(up);
	return path;
}

static bool map_file(struct file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *map = MAP_FAILED;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= TF_HEADER_SIZE) {
		f->len = (size_t)st.st_size;
		map = mmap(NULL, f->len, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	f->bytes = map == MAP_FAILED ? NULL : map;
	return f->bytes && memcmp(f->bytes, OFFCPU_MAGIC, TF_MAGIC_SIZE) == 0 && tf_get32(f->bytes + 8) == OFFCPU_VERSION &&
	       tf_get64(f->bytes + 56) == XXH64(f->bytes, 56, 0);
}

static void take_record(struct file *f, const struct offcpu_record *r, uint64_t *lost)
{
	uint64_t ns = r->when >> 3;

	switch ((enum offcpu_kind)(r->when & 7)) {
	case OFFCPU_CLOCK:
		/* both only grow */
		if (f->nclock && (ns <= f->clock[f->nclock - 1].ns || r->what <= f->clock[f->nclock - 1].tsc))
			return;
		if (!array_room(f->clock, f->clock_room, f->nclock + 1))
			f->no_memory = true;
		else
			f->clock[f->nclock++] = (struct pair){ ns, r->what };
		return;
	case OFFCPU_BLOCKED:
	case OFFCPU_PREEMPTED:
	case OFFCPU_RUNS:
		if (!array_room(f->v, f->room, f->n + 1))
			f->no_memory = true;
		else
			f->v[f->n++] = (struct switched){ r->what, r->when };
		return;
	case OFFCPU_LOST:
		*lost += r->what;
		return;
	case OFFCPU_COUNT:
		if (!array_room(f->count, f->counts_room, f->ncounts + 1))
			f->no_memory = true;
		else
			f->count[f->ncounts++] = (struct counted){ ns, r->what };
		return;
	case OFFCPU_COUNTER:
		if (r->what < COUNTERS)
			f->has[r->what] = true;
		return;
	}
}

/* False: it is damaged from there on. */
static bool take_records(struct file *f, uint64_t *lost)
{
	struct offcpu_record r[OFFCPU_MOST];
	struct offcpu_block block;
	size_t at = TF_HEADER_SIZE;

	for (; at < f->len && !f->no_memory; at += block.n * sizeof(*r)) {
		if (f->len - at < sizeof(block))
			return false;
		memcpy(&block, f->bytes + at, sizeof(block));
		at += sizeof(block);
		if (block.n > OFFCPU_MOST || block.n > (f->len - at) / sizeof(*r))
			return false;
		memcpy(r, f->bytes + at, block.n * sizeof(*r));
		if (XXH64(r, block.n * sizeof(*r), 0) != block.hash)
			return false;
		for (size_t i = 0; i < block.n; i++)
			take_record(f, &r[i], lost);
	}
	return true;
}

static int by_thread(const void *a, const void *b)
{
	const struct switched *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->when > y->when) - (x->when < y->when);
}

/* ---- its times ---- */

static uint64_t ticks_at(const struct file *f, uint64_t ns)
{
	size_t i = search_first(k, f->nclock, f->clock[k].ns > ns);
	const struct pair *a, *b;

	i = i == 0 ? 1 : i == f->nclock ? i - 1 : i;
	a = &f->clock[i - 1];
	b = &f->clock[i];
	return a->tsc + (uint64_t)(int64_t)((double)(int64_t)(ns - a->ns) * ((double)(b->tsc - a->tsc) / (double)(b->ns - a->ns)));
}

static bool add(struct stretches *s, uint64_t begin, uint64_t end)
{
	if (s->n && s->v[s->n - 1].end > begin)
		begin = s->v[s->n - 1].end;
	if (begin >= end)
		return true;
	if (!array_room(s->v, s->room, s->n + 1))
		return false;
	s->v[s->n++] = (struct stretch){ begin, end };
	return true;
}

/* From where a thread stopped to where it ran again; what is open at the end is so until nothing is known any more. */
static bool make_stretches(const struct file *f, const struct sonde_trace *trace, const struct sonde_trace_thread *t,
			   struct offcpu_thread *to)
{
	size_t i = search_first(k, f->n, f->v[k].tid >= (uint64_t)t->tid);
	enum offcpu_kind last = OFFCPU_RUNS;
	uint64_t since = 0;
	bool ok = true;

	to->known = sonde_trace_time(trace, t->rank_index, f->clock[f->nclock - 1].tsc);
	for (; ok && i < f->n && f->v[i].tid == (uint64_t)t->tid; i++) {
		enum offcpu_kind kind = (enum offcpu_kind)(f->v[i].when & 7);
		uint64_t time = sonde_trace_time(trace, t->rank_index, ticks_at(f, f->v[i].when >> 3));

		if (last != OFFCPU_RUNS && kind == OFFCPU_RUNS)
			ok = add(last == OFFCPU_BLOCKED ? &to->blocked : &to->preempted, since, time);
		last = kind;
		since = time;
	}
	if (ok && last != OFFCPU_RUNS)
		ok = add(last == OFFCPU_BLOCKED ? &to->blocked : &to->preempted, since, to->known);
	return ok;
}

/* ---- what was counted ---- */

static uint64_t tid_of(const struct counted *c)
{
	return c->what & ((UINT64_C(1) << OFFCPU_COUNT_TID) - 1);
}

static int by_tid_and_time(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if (tid_of(x) != tid_of(y))
		return tid_of(x) < tid_of(y) ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static bool make_counts(const struct file *f, const struct sonde_trace *trace, const struct sonde_trace_thread *t, struct offcpu_thread *to)
{
	size_t i = search_first(k, f->ncounts, tid_of(&f->count[k]) >= (uint64_t)t->tid);

	for (; i < f->ncounts && tid_of(&f->count[i]) == (uint64_t)t->tid; i++) {
		const struct counted *c = &f->count[i];
		uint64_t counter = c->what >> OFFCPU_COUNT_TID & 15;

		if (counter >= COUNTERS)
			continue;
		if (!array_room(to->count, to->counts_room, to->ncounts + 1))
			return false;
		to->count[to->ncounts++] = (struct offcpu_count){ sonde_trace_time(trace, t->rank_index, ticks_at(f, c->ns)),
								  c->what >> (OFFCPU_COUNT_TID + 4), (enum counter)counter };
	}
	return true;
}

/* ---- all of them ---- */

static void read_file(struct offcpu *o, const struct sonde_trace *trace, char *const *paths, struct file *f)
{
	if (!map_file(f) || !take_records(f, &o->lost) || f->nclock < 2)
		o->damaged = true;
	if (f->nclock < 2)
		return;
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_thread);
	if (f->ncounts)
		qsort(f->count, f->ncounts, sizeof(*f->count), by_tid_and_time);
	for (size_t i = 0; i < COUNTERS; i++)
		o->has[i] |= f->has[i];
	o->switches |= f->n != 0;
	o->files++;
	for (size_t i = 0; i < o->nthreads && !f->no_memory; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);
		const char *path = paths[t->rank_index];

		if (path && strcmp(path, f->path) == 0)
			f->no_memory = !make_stretches(f, trace, t, &o->thread[i]) || !make_counts(f, trace, t, &o->thread[i]);
	}
}

/* Programs of one recording come one after the other. */
static bool read_files(struct offcpu *o, const struct sonde_trace *trace, char **paths)
{
	const char *last = NULL;
	bool no_memory = false;

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		paths[i] = offcpu_path(sonde_trace_rank(trace, i));
	for (size_t i = 0; i < sonde_trace_ranks(trace) && !no_memory; i++) {
		struct file f = { .path = paths[i] };

		if (!f.path || (last && strcmp(last, f.path) == 0))
			continue;
		last = f.path;
		read_file(o, trace, paths, &f);
		no_memory = f.no_memory;
		if (f.bytes)
			munmap((void *)(uintptr_t)f.bytes, f.len);
		free(f.v);
		free(f.clock);
		free(f.count);
	}
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		free(paths[i]);
	return !no_memory;
}

void offcpu_read(struct offcpu *o, const struct sonde_trace *trace)
{
	char **paths = calloc(sonde_trace_ranks(trace) + 1, sizeof(*paths));
	bool ok;

	*o = (struct offcpu){ .nthreads = sonde_trace_threads(trace) };
	o->thread = calloc(o->nthreads + 1, sizeof(*o->thread));
	ok = o->thread && paths && read_files(o, trace, paths);
	free(paths);
	if (!ok)
		msg_error("out of memory: when threads were blocked, and what was counted, is left out");
	if (!ok || !o->files)
		offcpu_free(o);
}

void offcpu_free(struct offcpu *o)
{
	for (size_t i = 0; o->thread && i < o->nthreads; i++) {
		free(o->thread[i].blocked.v);
		free(o->thread[i].preempted.v);
		free(o->thread[i].count);
	}
	free(o->thread);
	o->thread = NULL;
}
