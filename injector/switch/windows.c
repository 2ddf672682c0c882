// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "injector/mirror/first.h"
#include "injector/patch/attach.h"
#include "injector/process/procpath.h"
#include "injector/switch/windows-private.h"
#include "runtime/config.h"

#define PAGE UINT64_C(4096)
#define STALE 2 /* a thread that is answered when it calls a function for the first time has yet to write its word */
#define PATIENCE_NS 50000000 /* for a thread to stop */

/* ---- which edits ---- */

static bool belongs_to_function(const struct inj_edit *e)
{
	return e->owner != INJ_EDIT_NONE && e->needed == INJ_EDIT_BY_NOBODY;
}

/* What the words of functions that waited at the start say in this process; NULL: they cannot be read. */
static uint64_t *read_words(const struct inj_session *s, struct inj_target *t)
{
	const struct inj_mirrors *m = &s->mirrors;
	uint64_t *words = calloc(m->nfirst + 1, sizeof(*words));
	struct inj_span *spans = malloc((m->nfirst + 1) * sizeof(*spans));
	bool read = words && spans;

	for (size_t i = 0; read && i < m->nfirst; i++)
		spans[i] = (struct inj_span){ m->first[i].word, &words[i], sizeof(*words) };
	read = read && (!m->nfirst || inj_read_spans(t, spans, m->nfirst) == INJ_OK);
	free(spans);
	if (read)
		return words;
	free(words);
	return NULL;
}

static bool was_called(const struct inj_first *f, uint64_t word)
{
	return f->work && word != f->stub + RT_FIRST_ASK;
}

/* Of one that was called and not answered, the entry leads to a stub, and the body is the original's. */
static bool is_instrumented(const struct inj_first *f, uint64_t word)
{
	return f->work && f->state == INJ_FIRST_COPIED && word == f->copy;
}

static enum inj_status add_placed(struct inj_windows *w, const uint64_t *words)
{
	const struct inj_session *s = w->s;
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->edits.n && status == INJ_OK; i++) {
		const struct inj_edit *e = &s->edits.v[i];
		uint32_t first = e->owner & ~INJ_FIRST_OWNER;

		if (!belongs_to_function(e))
			continue;
		if (!(e->owner & INJ_FIRST_OWNER))
			w->owners[e->owner] = true;
		else if (!was_called(&s->mirrors.first[first], words[first]))
			continue;
		status = inj_edits_add(&w->edits, e);
	}
	return status;
}

static enum inj_status add_bodies(struct inj_windows *w, const uint64_t *words)
{
	const struct inj_mirrors *m = &w->s->mirrors;
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < m->nfirst && status == INJ_OK; i++) {
		if (!is_instrumented(&m->first[i], words[i]))
			continue;
		w->owners[m->first[i].recorded] = true;
		status = inj_edits_append(&w->edits, &m->first[i].edits);
	}
	return status;
}

static enum inj_status collect(struct inj_windows *w, struct inj_target *t)
{
	uint64_t *words;
	enum inj_status status;

	if (!w->stale)
		return INJ_OK;
	words = read_words(w->s, t);
	free(w->owners);
	w->nowners = w->s->mirrors.n;
	w->owners = calloc(w->nowners + 1, sizeof(*w->owners));
	w->edits.n = 0;
	status = words && w->owners ? add_placed(w, words) : INJ_MEMORY;
	if (status == INJ_OK)
		status = add_bodies(w, words);
	free(words);
	inj_edits_sort(&w->edits);
	w->stale -= status == INJ_OK;
	return status;
}

/* ---- writing ---- */

/* Edits [first, end), and the pages [lo, hi) that they lie in. */
struct run {
	size_t first, end;
	uint64_t lo, hi;
};

static struct run run_from(const struct inj_edits *e, size_t first)
{
	struct run r = { first, first, e->v[first].addr & ~(PAGE - 1), 0 };

	r.hi = r.lo;
	for (; r.end < e->n && (e->v[r.end].addr & ~(PAGE - 1)) <= r.hi; r.end++) {
		uint64_t to = ((e->v[r.end].addr + e->v[r.end].len - 1) & ~(PAGE - 1)) + PAGE;

		r.hi = to > r.hi ? to : r.hi;
	}
	return r;
}

static enum inj_status make_room(struct inj_windows *w)
{
	size_t bytes = 0;
	struct run r;
	uint8_t *pages;

	for (size_t i = 0; i < w->edits.n; i = r.end) {
		r = run_from(&w->edits, i);
		bytes += r.hi - r.lo;
	}
	if (bytes <= w->room)
		return INJ_OK;
	pages = realloc(w->pages, bytes);
	if (!pages)
		return INJ_MEMORY;
	w->pages = pages;
	w->room = bytes;
	return INJ_OK;
}

/* All is made ready before the first byte is written: until the last one is the code is half the one, half the other. */
static enum inj_status write_all(struct inj_windows *w, struct inj_target *t, bool out, struct inj_switched *took)
{
	enum inj_status status = make_room(w);
	uint8_t *at = w->pages;
	struct run r;

	for (size_t i = 0; i < w->edits.n && status == INJ_OK; i = r.end) {
		r = run_from(&w->edits, i);
		status = inj_read(t, r.lo, at, r.hi - r.lo);
		for (; i < r.end; i++) {
			const struct inj_edit *e = &w->edits.v[i];

			memcpy(at + (e->addr - r.lo), out ? e->was : e->bytes, e->len);
		}
		at += r.hi - r.lo;
	}
	at = w->pages;
	for (size_t i = 0; i < w->edits.n && status == INJ_OK; i = r.end) {
		r = run_from(&w->edits, i);
		status = inj_write(t, r.lo, at, r.hi - r.lo);
		took->pages += (r.hi - r.lo) / PAGE;
		at += r.hi - r.lo;
	}
	return status;
}

/* What the process's runtime does by it. */
static enum inj_status tell(const struct inj_windows *w, struct inj_target *t, uint32_t state)
{
	return inj_write(t, w->s->rt_windows, &state, sizeof(state));
}

static enum inj_status set_state(struct inj_windows *w, struct inj_target *t, uint32_t state)
{
	enum inj_status status = tell(w, t, state);

	if (status == INJ_OK)
		w->state = state;
	return status;
}

/* ---- stopping ---- */

static enum inj_status again(void)
{
	errno = EAGAIN;
	return INJ_SYSTEM;
}

void inj_children(pid_t pid, void (*each)(void *arg, pid_t child), void *arg)
{
	char path[96];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		int child;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", (int)pid, e->d_name);
		f = fopen(path, "re");
		while (f && fscanf(f, "%d", &child) == 1)
			each(arg, child);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
}

struct sharing {
	pid_t pid;
	bool found;
};

static void look_at_child(void *arg, pid_t child)
{
	struct sharing *s = arg;

	/* 0: the same; below: not known */
	s->found |= syscall(SYS_kcmp, s->pid, child, KCMP_VM, 0, 0) <= 0 && kill(child, 0) == 0;
}

/* A child of vfork(), or what is a thread in all but the name, runs the same code and is not stopped. */
static bool is_shared(pid_t pid)
{
	struct sharing s = { .pid = pid };

	inj_children(pid, look_at_child, &s);
	return s.found;
}

/* Does a thread wait in the kernel, perhaps for a child of vfork(), or is it stopped by somebody else?  It is left alone. */
static bool has_waiting(pid_t pid)
{
	bool waits = false;
	char path[32];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !waits && (e = readdir(dir)))
		waits = e->d_name[0] != '.' && strchr("DTt", inj_thread_state(pid, atoi(e->d_name)));
	if (dir)
		closedir(dir);
	return waits;
}

static bool is_halted(const struct inj_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!t->v[i].gone && t->v[i].halted)
			return true;
	return false;
}

/* All threads, with the memory that is known to be that of the recording. */
static enum inj_status stop(struct inj_windows *w, struct inj_threads *t, const struct inj_patience *p)
{
	enum inj_status status = has_waiting(w->pid) ? again() : inj_threads_stop_soon(t, w->pid, p);

	if (status == INJ_SYSTEM && errno == ETIMEDOUT)
		return again();
	if (status != INJ_OK)
		return status;
	close(t->target.mem);
	t->target.mem = dup(w->mem);
	return t->target.mem < 0 ? INJ_SYSTEM : is_halted(t) || is_shared(w->pid) ? again() : INJ_OK;
}

static void go(struct inj_threads *t)
{
	int saved = errno;

	inj_threads_go(t);
	errno = saved;
}

/* ---- out, and in ---- */

/* What has been written is taken back; what cannot be is not there any more: the process ends. */
static enum inj_status write_or_not(struct inj_windows *w, struct inj_target *t, bool out, struct inj_switched *took)
{
	enum inj_status status = write_all(w, t, out, took);
	int saved = errno;

	if (status == INJ_OK)
		status = set_state(w, t, out ? RT_WINDOWS_OUT : RT_WINDOWS_IN);
	if (status != INJ_OK)
		(void)!write_all(w, t, !out, took);
	errno = saved;
	return status;
}

/* Windows are out. */
static void leave(struct inj_windows *w, struct inj_threads *t, const struct inj_bursts *b, struct inj_switched *took)
{
	if (tell(w, &t->target, RT_WINDOWS_MOVING) == INJ_OK)
		inj_windows_leave(w, t, b, took);
	(void)!tell(w, &t->target, w->state); /* it may have ended */
}

static enum inj_status take_out(struct inj_windows *w, struct inj_threads *t, const struct inj_bursts *b, struct inj_switched *took)
{
	enum inj_status status = collect(w, &t->target);

	if (status == INJ_OK)
		status = inj_windows_can_leave(w, t, b);
	if (status == INJ_OK)
		status = write_or_not(w, &t->target, true, took);
	if (status == INJ_OK)
		leave(w, t, b, took);
	return status;
}

/* In this order: who has been moved can be where he is, whatever becomes of us. */
static enum inj_status put_in(struct inj_windows *w, struct inj_threads *t, const struct inj_bursts *b, struct inj_switched *took)
{
	enum inj_status status = collect(w, &t->target);
	int saved;

	if (status == INJ_OK)
		status = inj_windows_can_come(w, t);
	if (status != INJ_OK)
		return status;
	b->begin(b->arg);
	status = tell(w, &t->target, RT_WINDOWS_MOVING);
	if (status == INJ_OK)
		status = inj_windows_come(w, t, took);
	if (status == INJ_OK)
		status = write_or_not(w, &t->target, false, took);
	saved = errno;
	if (status != INJ_OK)
		leave(w, t, b, took);
	errno = saved;
	return status;
}

static enum inj_status change(struct inj_windows *w, const struct inj_bursts *b, struct inj_switched *took,
			      enum inj_status (*how)(struct inj_windows *w, struct inj_threads *t, const struct inj_bursts *b,
						     struct inj_switched *took))
{
	const struct inj_patience patience = { .ns = PATIENCE_NS, .idle = b->idle, .arg = b->arg };
	int64_t from = clock_now_ns();
	struct inj_threads t = { 0 };
	enum inj_status status;

	*took = (struct inj_switched){ 0 };
	status = stop(w, &t, &patience);
	took->threads = t.n;
	if (status == INJ_OK)
		status = how(w, &t, b, took);
	if (t.v)
		go(&t);
	took->ns = (uint64_t)(clock_now_ns() - from);
	return status;
}

enum inj_status inj_windows_out(struct inj_windows *w, const struct inj_bursts *b, struct inj_switched *took)
{
	return change(w, b, took, take_out);
}

enum inj_status inj_windows_in(struct inj_windows *w, const struct inj_bursts *b, struct inj_switched *took)
{
	return change(w, b, took, put_in);
}

/* ---- a process ---- */

const char *inj_windows_unfit(const struct inj_session *s)
{
	const struct inj_mirrors *m = &s->mirrors;

	if (s->config.guest_tcb)
		return "modules run with a C library of their own";
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].state == INJ_RECORDED_OK && (m->v[i].enter || m->v[i].counters))
			return "calls are recorded as well";
	for (size_t i = 0; i < m->nfirst; i++)
		if (m->first[i].planned.want & ~(uint32_t)TRAMP_MIRROR_ACCESSES)
			return "calls are recorded as well";
	if (access("/proc/thread-self/children", F_OK) != 0 || syscall(SYS_kcmp, getpid(), getpid(), KCMP_VM, 0, 0) != 0)
		return "the kernel does not say which processes share memory";
	return NULL;
}

struct inj_windows *inj_windows_new(struct inj_session *s, pid_t pid)
{
	struct inj_windows *w = calloc(1, sizeof(*w));
	struct inj_target t = { .pid = pid, .mem = -1 };
	char path[INJ_PROC_PATH];

	if (!w)
		return NULL;
	*w = (struct inj_windows){ .s = s, .pid = pid, .stale = STALE };
	inj_proc_path(path, pid, "mem");
	w->mem = t.mem = open(path, O_RDWR | O_CLOEXEC);
	/* in this order: it is the memory of what is mapped */
	if (w->mem >= 0 && inj_session_is_in(s, pid) && inj_read(&t, s->rt_windows, &w->state, sizeof(w->state)) == INJ_OK &&
	    w->state <= RT_WINDOWS_IN)
		return w;
	inj_windows_free(w);
	return NULL;
}

void inj_windows_free(struct inj_windows *w)
{
	if (!w)
		return;
	if (w->mem >= 0)
		close(w->mem);
	inj_edits_free(&w->edits);
	free(w->owners);
	free(w->pages);
	free(w);
}

bool inj_windows_are_out(const struct inj_windows *w)
{
	return w->state == RT_WINDOWS_OUT;
}

bool inj_windows_are_switched(const struct inj_windows *w)
{
	return w->state != RT_WINDOWS_STAY;
}

void inj_windows_changed(struct inj_windows *w)
{
	w->stale = STALE;
}

void inj_windows_stay(struct inj_windows *w)
{
	struct inj_target t = { .pid = w->pid, .mem = w->mem };

	(void)!set_state(w, &t, RT_WINDOWS_STAY); /* it may have ended */
}
