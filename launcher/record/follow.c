// SPDX-License-Identifier: GPL-3.0-or-later
/*
 *	program			   a worker		      this thread
 *	about to execve() ────────▶ mailbox, bell ──────────▶ traces that thread, looks at the file
 *	execve() 					      unwanted, or failed: lets it go
 *	stands at its first instruction ────────────────────▶ a new recording; the old one has lost this process
 */
#include "config.h"

#include "launcher/record/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/common/proc.h"

#define MS INT64_C(1000000)
#define LONG_WAIT_MS 100
#define HELD_MS 1000 /* so long messages wait that a program which is executed soon could make untrue */
#define MAX_ENDED 32 /* programs, while there are others to begin with */

/* ---- which programs ---- */

static bool matches(const char *globs, const char *name)
{
	char glob[256];

	name = path_basename(name);
	for (size_t len; *globs; globs += len + (globs[len] == ',')) {
		len = strcspn(globs, ",");
		if (len >= sizeof(glob))
			continue;
		memcpy(glob, globs, len);
		glob[len] = '\0';
		if (fnmatch(glob, name, 0) == 0)
			return true;
	}
	return false;
}

struct record_options follow_options(const struct follow *f, const char *name, const struct program *program)
{
	struct record_options o = *f->opt;
	bool wanted = o.follow.n == 0;

	o.no_follow |= f->bell < 0;
	for (size_t i = 0; i < o.follow.n && !wanted; i++)
		wanted = matches(o.follow.v[i], name) || matches(o.follow.v[i], program->elf_path);
	if (wanted)
		return o;
	o.modules.n = o.select.functions.n = o.memory.n = o.blocks.n = 0;
	o.budget = 0;
	o.passed_over = true;
	o.wants_memory = NULL;
	return o;
}

/* ---- all recordings ---- */

static void watch(struct follow *f, int fd)
{
	if (fd >= 0)
		epoll_ctl(f->events, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN });
}

/* In a worker: what has ended meanwhile can be read now. */
static void opened(void *arg, struct recording *r)
{
	struct follow *f = arg;

	watch(f, r->pidfd);
}

/* What concerns all recordings is not for those that workers have. */
static void await_workers(struct follow *f)
{
	background_wait(&f->background);
}

int follow_begin(struct follow *f, const struct record_options *opt)
{
	*f = (struct follow){ .opt = opt, .events = -1, .bell = -1 };
	background_init(&f->background, opened, f);
	if (files_are_scarce()) {
		msg_debug("what the program executes is not followed: too few files may be open");
		return 0;
	}
	f->events = epoll_create1(EPOLL_CLOEXEC);
	f->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->events >= 0 && f->bell >= 0 &&
	    epoll_ctl(f->events, EPOLL_CTL_ADD, f->bell, &(struct epoll_event){ .events = EPOLLIN }) == 0)
		return 0;
	msg_error("cannot wait for events: %s", strerror(errno));
	return EXIT_TRACER;
}

static void ring_bell(void *arg)
{
	struct follow *f = arg;

	(void)!write(f->bell, &(uint64_t){ 1 }, sizeof(uint64_t));
}

void follow_ask(struct follow *f, struct recording *r)
{
	collector_follow(r->collector, ring_bell, f);
}

static void begin_job(struct follow *f, const struct recording *first)
{
	f->began = f->switched = clock_now_ns();
	if (f->opt->progress)
		ticker_begin(&f->ticker, first->dir.rank);
	if (f->events >= 0)
		f->control = control_begin(first->dir.path, f->events);
}

int follow_add(struct follow *f, struct recording *r)
{
	if (!array_one_more(f->v, f->n)) {
		msg_error("out of memory");
		return EXIT_TRACER;
	}
	f->v[f->n++] = r;
	if (!f->recorded)
		begin_job(f, r);
	f->recorded++;
	if (r->writer)
		watch(f, r->pidfd);
	return 0;
}

int follow_fd(const struct follow *f)
{
	return f->events;
}

/* ---- a program that is executed ---- */

struct exec {
	struct follow *f;
	struct recording *from;
	pid_t pid;
	char *path;	/* as it can be opened here */
	struct program program;
	char *why;	/* it is left alone */
	bool went;	/* its thread has its answer */
};

/* "sonde: PATH: text, more text": the first part of the text. */
static char *reason(const char *lines, const char *path)
{
	const char *p = lines ? strstr(lines, path) : NULL;

	if (!p)
		return strdup("it cannot be traced");
	p += strlen(path);
	while (*p == ':' || *p == ' ')
		p++;
	return strndup(p, strcspn(p, ",;\n"));
}

static bool same_root(pid_t pid)
{
	struct stat ours, theirs;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root/.", (int)pid);
	return stat("/", &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

/* What a process calls @path, for us. */
static char *path_for_us(pid_t pid, int dirfd, const char *path, int flags)
{
	char *whole = NULL;
	int n;

	if (strncmp(path, "/proc/self/", 11) == 0)
		n = asprintf(&whole, "/proc/%d/%s", (int)pid, path + 11);
	else if (strncmp(path, "/dev/fd/", 8) == 0)
		n = asprintf(&whole, "/proc/%d/fd/%s", (int)pid, path + 8);
	else if (*path == '/')
		n = asprintf(&whole, "%s", path);
	else if (!*path && flags & AT_EMPTY_PATH)
		n = asprintf(&whole, "/proc/%d/fd/%d", (int)pid, dirfd);
	else if (dirfd == AT_FDCWD)
		n = asprintf(&whole, "/proc/%d/cwd/%s", (int)pid, path);
	else
		n = asprintf(&whole, "/proc/%d/fd/%d/%s", (int)pid, dirfd, path);
	return n < 0 ? NULL : whole;
}

/* Paths that lead through /proc/PID are of no use later: descriptors are closed, folders are left. */
static void name_file(struct exec *x)
{
	char *real = strncmp(x->program.elf_path, "/proc/", 6) == 0 ? realpath(x->program.elf_path, NULL) : NULL;

	if (!real)
		return;
	free(x->program.elf_path);
	x->program.elf_path = real;
}

static bool is_wanted(void *arg, int dirfd, const char *path, int flags)
{
	struct exec *x = arg;
	char *lines = NULL;
	int status;

	x->path = path_for_us(x->pid, dirfd, path, flags);
	if (!x->path)
		return false;
	if (!same_root(x->pid)) {
		x->why = strdup("its process has another root folder");
		return false;
	}
	msg_hold(&lines);
	status = program_resolve(x->path, &x->program);
	msg_hold(NULL);
	if (status != 0 && status != EXIT_NOT_FOUND)
		x->why = reason(lines, x->path);
	free(lines);
	if (status != 0)
		return false;
	name_file(x);
	/* what has no #! is none for the kernel: a shell will execute itself */
	return !x->program.via_shell;
}

static void may_go(void *arg)
{
	struct exec *x = arg;

	/* from here on somebody else may ask */
	collector_exec_done(x->from->collector);
	x->went = true;
}

/* The file that runs is the one that was looked at; one without a name is to be had as long as it runs. */
static bool is_what_runs(struct exec *x)
{
	struct stat looked, runs;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)x->pid);
	if (access(x->program.elf_path, F_OK) < 0) {
		free(x->program.elf_path);
		x->program.elf_path = strdup(path);
	}
	return x->program.elf_path && stat(x->program.elf_path, &looked) == 0 && stat(path, &runs) == 0 && looked.st_ino == runs.st_ino &&
	       looked.st_dev == runs.st_dev;
}

static int begin(struct exec *x, struct recording *r, const struct inj_tracee *t)
{
	struct proc_stat stat;
	int status;

	r->tracee = *t;
	r->tracee.target.arg = &r->tracee;
	if (!is_what_runs(x)) {
		msg_error("its file is not to be had");
		return EXIT_TRACER;
	}
	r->first = x->f->v[0];
	r->program = x->program;
	x->program = (struct program){ 0 };
	r->opt = follow_options(x->f, x->path, &r->program);
	r->opt.start_off = collector_is_off(x->from->collector);
	r->argv = proc_arguments(t->pid);
	proc_stat(t->pid, &stat);
	r->parent = stat.parent;
	status = recording_prepare(r);
	if (status == 0) {
		follow_ask(x->f, r);
		status = recording_begin(r);
	}
	return status;
}

/* The new program stands.  Its recording; NULL, and x->why: it is left alone. */
static struct recording *record_new(struct exec *x, struct inj_tracee *t)
{
	struct recording *r = recording_new();
	char *lines = NULL;
	int status;

	if (!r) {
		(void)!inj_tracee_detach(t);
		x->why = strdup("out of memory");
		return NULL;
	}
	msg_hold(&lines);
	status = begin(x, r, t);
	if (status == 0 && (x->f->leave || t->pid != x->f->v[0]->tracee.pid))
		r->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (status == 0)
		status = follow_add(x->f, r);
	msg_hold(NULL);
	if (status == 0) {
		msg_show(&lines);
		return r;
	}
	if (r->session.tracee)
		inj_session_abandon(&r->session);
	else
		(void)!inj_tracee_detach(&r->tracee);
	x->why = reason(lines, "sonde");
	free(lines);
	recording_discard(r);
	return NULL;
}

/* Its end says nothing any more of what the recording is of. */
static void no_wait(struct recording *r)
{
	if (r->pidfd >= 0)
		close(r->pidfd);
	r->pidfd = -1;
}

/* What that trace is of ends here, for this process. */
static void note(struct exec *x, const struct recording *r)
{
	struct tf_exec exec = { .pid = x->pid, .tsc = __rdtsc(), .path = x->path };

	if (r) {
		exec.path = r->elf_path;
		exec.args = r->argv;
		exec.number = r->number;
	} else {
		exec.left_alone = x->why;
		msg_debug("%s, which process %d executes, is not recorded: %s", x->path, (int)x->pid, x->why);
	}
	collector_executed(x->from->collector, &exec);
	if (!r || x->pid != x->from->tracee.pid || x->from->over)
		return;
	x->from->end = (struct tf_end){ .complete = true, .ending = SONDE_TRACE_EXECUTED };
	x->from->over = true;
	no_wait(x->from);
}

/* Those whose traces could not be opened: they run, unrecorded. */
static void drop_failed(struct follow *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct recording *r = f->v[i];

		if (r->opening || !r->failed) {
			f->v[kept++] = r;
			continue;
		}
		f->recorded--;
		recording_discard(r);
	}
	f->n = kept;
}

/* Who is executed next does not wait for its trace to be opened. */
static void let_go(struct follow *f, struct recording *r)
{
	recording_release(r);
	if (r->writer || background_open(&f->background, r))
		return;
	r->failed = recording_open_released(r) != 0;
	if (!r->failed)
		watch(f, r->pidfd);
}

static void follow_exec(struct follow *f, struct recording *from)
{
	struct exec x = { .f = f, .from = from };
	struct inj_exec_wait wait = { .go = may_go, .wanted = is_wanted, .arg = &x };
	struct recording *r = NULL;
	struct inj_tracee t;
	enum inj_exec_end end;

	if (from->opening)
		await_workers(f);
	if (!collector_exec_asked(from->collector, &x.pid, &wait.tid) ||
	    !collector_is_shared_with(from->collector, x.pid)) {
		collector_exec_done(from->collector);
		return;
	}
	end = inj_tracee_exec(&t, &wait);
	if (end == INJ_EXEC_STANDS) {
		x.pid = t.pid;
		r = record_new(&x, &t);
	} else if (end == INJ_EXEC_REFUSED) {
		if (asprintf(&x.why, "cannot be traced: %s", strerror(errno)) < 0)
			x.why = NULL;
	} else if (end == INJ_EXEC_LOST) {
		x.why = strdup("a signal came in between");
	}
	if (!x.went)
		collector_exec_done(from->collector);
	if (r || (x.path && x.why))
		note(&x, r);
	else if (x.why)
		msg_debug("what process %d executes is not recorded: %s", (int)x.pid, x.why);
	if (r)
		let_go(f, r);
	program_free(&x.program);
	free(x.path);
	free(x.why);
}

/* ---- ends ---- */

static bool can_be_read(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&p, 1, 0) == 1;
}

static void look_at_end(struct recording *r)
{
	int status = 0;
	bool known;

	if (r->over || r->opening || !can_be_read(r->pidfd))
		return;
	known = collector_exit_status(r->tracee.pid, r->pidfd, &status);
	r->end = (struct tf_end){ .complete = true, .ending = SONDE_TRACE_ENDED };
	if (known && WIFEXITED(status)) {
		r->end.ending = SONDE_TRACE_EXITED;
		r->end.exit_status = WEXITSTATUS(status);
	} else if (known) {
		r->end.ending = SONDE_TRACE_KILLED;
		r->end.signal = WTERMSIG(status);
	}
	if (recording_is_needed(r))
		collector_program_ended(r->collector, !known || !WIFEXITED(status));
	else
		collector_all_ended(r->collector, !known || !WIFEXITED(status));
	r->over = true;
	no_wait(r);
}

/*
 * The first one's messages are worth something unless there is another program that they may not be true of.
 * False: the recording is gone.
 */
static bool finish(struct follow *f, struct recording *r)
{
	ticker_hide(&f->ticker);
	if (r == f->v[0] && f->recorded == 1)
		msg_show(&r->held);
	if (f->leave && recording_is_needed(r))
		f->leave(r);
	/* others refer to the first one */
	if (r != f->v[0] && background_finish(&f->background, r))
		return false;
	recording_finish(r);
	recording_add(&f->ended, r);
	return true;
}

/* Somebody who is about to execute a program waits for us, whoever has ended does not; but what it takes up is bounded. */
static bool is_urgent(const struct follow *f)
{
	return f->n < MAX_ENDED && can_be_read(f->bell);
}

static void look_at_ends(struct follow *f, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct recording *r = f->v[i];

		if (!r->finished && !r->opening && !r->failed) {
			look_at_end(r);
			if ((r->stopped || (r->over && !recording_is_needed(r))) && (all || !is_urgent(f)) && !finish(f, r))
				continue;
		}
		if (!r->finished || !i)
			f->v[kept++] = r;
		else
			recording_discard(r);
	}
	f->n = kept;
	drop_failed(f);
}

static void switch_all(struct follow *f, bool on, const struct recording *but)
{
	await_workers(f);
	f->switched = clock_now_ns();
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i]->finished && f->v[i] != but)
			collector_switch(f->v[i]->collector, on);
}

static void take_snapshots(struct follow *f, const struct recording *but)
{
	await_workers(f);
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i]->finished && f->v[i] != but)
			collector_snapshot(f->v[i]->collector);
}

/* What is done in one program is done in all. */
static void share(struct follow *f, const struct recording *r)
{
	int on = collector_switched_to(r->collector);

	if (on >= 0)
		switch_all(f, on, r);
	if (collector_took_snapshot(r->collector))
		take_snapshots(f, r);
}

/* ---- what is asked for ---- */

static void stop_all(struct follow *f)
{
	await_workers(f);
	for (size_t i = 0; i < f->n; i++) {
		struct recording *r = f->v[i];

		if (!r->over)
			r->end = (struct tf_end){ .complete = true, .ending = SONDE_TRACE_DETACHED };
		r->over = r->stopped = true;
	}
}

static enum control_on how_it_is_switched(const struct follow *f)
{
	bool off = false, on = false;

	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i]->finished)
			continue;
		if (collector_is_off(f->v[i]->collector))
			off = true;
		else
			on = true;
	}
	return !off ? CONTROL_IS_ON : on ? CONTROL_IS_ON_IN_SOME : CONTROL_IS_OFF;
}

static void ask_all(struct follow *f, enum control_verb verb, struct control_answer *a)
{
	await_workers(f);
	a->events = f->ended.events + f->background.ended.events;
	a->lost = f->ended.lost + f->background.ended.lost;
	a->bytes = f->ended.bytes + f->background.ended.bytes;
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i]->finished)
			collector_ask(f->v[i]->collector, verb, a);
}

/* control_serve_fn */
static void answer(void *arg, enum control_verb verb, struct control_answer *a)
{
	struct follow *f = arg;
	enum control_on before = how_it_is_switched(f);
	int64_t now = clock_now_ns();

	ask_all(f, verb, a);
	if (verb == CONTROL_STOP)
		stop_all(f);
	a->on = how_it_is_switched(f);
	if (a->on != before)
		f->switched = now;
	a->age = (uint64_t)(now - f->began);
	a->since = (uint64_t)(now - f->switched);
}

static void show_progress(struct follow *f)
{
	struct control_answer a = { 0 };

	ask_all(f, CONTROL_STATUS, &a);
	ticker_show(&f->ticker, &(struct ticker_sums){ .events = a.events, .lost = a.lost, .bytes = a.bytes });
}

void follow_serve(struct follow *f)
{
	uint64_t rung;

	do {
		bool asked = read(f->bell, &rung, sizeof(rung)) == sizeof(rung);

		for (size_t i = 0; i < f->n; i++)
			if (!f->v[i]->finished)
				share(f, f->v[i]);
		for (size_t i = 0, n = f->n; asked && i < n && i < f->n; i++)
			if (!f->v[i]->finished && collector_exec_waits(f->v[i]->collector))
				follow_exec(f, f->v[i]);
		control_serve(f->control, answer, f);
		look_at_ends(f, false);
	} while (is_urgent(f));
	if (f->recorded == 1 && f->v[0]->held && clock_now_ns() - f->began >= HELD_MS * MS) {
		ticker_hide(&f->ticker);
		msg_show(&f->v[0]->held);
	}
	if (ticker_is_due(&f->ticker))
		show_progress(f);
}

int follow_patience(const struct follow *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i]->finished && (f->v[i]->over || f->events < 0))
			return ticker_patience(&f->ticker, LONG_WAIT_MS);
	return ticker_patience(&f->ticker, f->v[0]->held ? HELD_MS : -1);
}

void follow_leave(struct follow *f)
{
	ticker_end(&f->ticker);
	stop_all(f);
	look_at_ends(f, true);
}

bool follow_is_finished(struct follow *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i]->finished)
			return false;
	await_workers(f);
	return true;
}

void follow_ended(struct follow *f, const struct tf_end *end, bool killed)
{
	pid_t pid = f->v[0]->tracee.pid;

	ticker_end(&f->ticker);
	await_workers(f);
	for (size_t i = 0; i < f->n; i++) {
		struct recording *r = f->v[i];

		if (r->tracee.pid != pid || r->over || r->finished)
			continue;
		r->end = *end;
		r->over = true;
		collector_program_ended(r->collector, killed);
	}
}

void follow_signalled(struct follow *f)
{
	if (f->opt->signal_snapshots)
		take_snapshots(f, NULL);
	else
		switch_all(f, how_it_is_switched(f) != CONTROL_IS_ON, NULL);
}

bool follow_is_over(const struct follow *f)
{
	return f->v[0]->stopped && f->v[0]->finished && !follow_is_needed(f);
}

bool follow_is_needed(const struct follow *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->v[i]->finished && recording_is_needed(f->v[i]))
			return true;
	return false;
}

void follow_end(struct follow *f)
{
	ticker_end(&f->ticker);
	await_workers(f);
	look_at_ends(f, true);
	for (size_t i = f->n; i-- > 1;)
		if (finish(f, f->v[i]))
			recording_discard(f->v[i]);
	background_end(&f->background);
	/* the others refer to the first one */
	if (f->n && !f->v[0]->finished)
		(void)finish(f, f->v[0]);
	if (f->recorded > 1 && !f->ended.found && !f->background.ended.found) {
		msg_show(&f->v[0]->held);
		msg_warn("none of the %zu programs has a function that was to be recorded", f->recorded);
	}
	free(f->v);
	control_end(f->control);
	if (f->bell >= 0) {
		close(f->events);
		close(f->bell);
	}
	*f = (struct follow){ .events = -1, .bell = -1 };
}
