// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * `sonde record`: everything is checked and prepared first; then the program is started, stopped at its
 * first instruction, instrumented and let go; then we collect until it, its children and what they execute have ended.
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pages.h"
#include "launcher/common/message.h"
#include "launcher/config/plan.h"
#include "launcher/record/follow.h"
#include "launcher/record/node/node.h"
#include "launcher/record/describe/objects.h"
#include "launcher/record/supervise.h"
#include "launcher/record/waiter.h"
#include "launcher/verbs.h"

#define SHORT_WAITS_MS 8 /* for children that end with the program */
#define LONG_WAIT_MS 100

#define ARENAS 4
#define REFUSED (-1) /* no exit status: another's program is to be recorded by another process */

/* A program that the user, or another rank's, wants to be recorded, and what it executes. */
struct task {
	struct follow follow;
	struct waiter waiter;
	struct supervisor *supervisor; /* of our user's */
	struct node *node;	/* for others that come; NULL: it is another's */
	struct node_rank *rank;	/* who wants it; NULL: our user does */
};

static void serve_rank(struct node_rank *rank);

/* ---- starting ---- */

static int start_failed(const struct recording *r, enum inj_status status, bool exec_failed)
{
	int err = errno;

	if (exec_failed) {
		msg_error("cannot run %s: %s", r->program.path, strerror(err));
		return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	if (status == INJ_SYSTEM && err == EPERM)
		msg_error("not permitted to trace %s (another tracer, a container's seccomp profile, "
			  "or kernel.yama.ptrace_scope); see `sonde doctor'",
			  r->program.path);
	else
		msg_error("cannot start %s under ptrace: %s%s%s", r->program.path,
			  inj_status_text(status), status == INJ_SYSTEM ? ": " : "",
			  status == INJ_SYSTEM ? strerror(err) : "");
	return EXIT_TRACER;
}

/* The program of this process' user: forked here. */
static enum inj_status start_ours(struct recording *r, struct supervisor *v, bool *exec_failed)
{
	struct inj_exec exec = {
		.path = r->program.path,
		.argv = r->argv,
		.envp = environ,
		.mask = &v->original_mask,
		.in_child = supervise_in_child,
		.arg = v,
		.for_parent = true,
	};

	return inj_tracee_start(&r->tracee, &exec, exec_failed);
}

static int start(struct recording *r, struct task *j)
{
	bool exec_failed;
	enum inj_status status;

	if (j->rank)
		j->rank->taken = true;
	status = j->rank ? inj_tracee_take(&r->tracee, &j->rank->forked, &exec_failed) : start_ours(r, j->supervisor, &exec_failed);
	/* killed before it was a program: an end like any other, but of nothing that could be recorded */
	return status == INJ_OK || status == INJ_GONE ? 0 : start_failed(r, status, exec_failed);
}

/* ---- the end ---- */

/* Follows until the program has ended, or nobody wants more of it. */
static void await_end(struct follow *f, struct waiter *w)
{
	struct tf_end end = { .complete = true, .ending = SONDE_TRACE_ENDED };
	bool done = false;
	int status;

	for (;;) {
		switch (waiter_program_end(w, follow_fd(f), follow_patience(f), &status)) {
		case WAITER_WOKEN:
			follow_serve(f);
			done = follow_is_over(f);
			if (!done)
				continue;
			waiter_done(w, true);
			return;
		case WAITER_TOGGLED:
			follow_signalled(f);
			continue;
		case WAITER_UNKNOWN:
			follow_ended(f, &end, true);
			return;
		case WAITER_ENDED:
			if (WIFSIGNALED(status)) {
				end.ending = SONDE_TRACE_KILLED;
				end.signal = WTERMSIG(status);
			} else {
				end.ending = SONDE_TRACE_EXITED;
				end.exit_status = WEXITSTATUS(status);
			}
			follow_ended(f, &end, WIFSIGNALED(status));
			return;
		}
	}
}

/* The program's children may live on. */
static void stay_as_long_as_needed(struct follow *f, struct waiter *w)
{
	const struct recording *first = f->v[0];
	int wait_ms = 1;

	for (bool said = false; follow_is_needed(f); wait_ms = wait_ms < LONG_WAIT_MS ? 2 * wait_ms : LONG_WAIT_MS) {
		struct pollfd fd = { .fd = follow_fd(f), .events = POLLIN };

		if (wait_ms > SHORT_WAITS_MS && !said) {
			if (!first->opt.quiet)
				msg_info("the program's children are recorded until they end, into %s", first->dir.top);
			waiter_done(w, true);
			said = true;
		}
		(void)!poll(&fd, 1, wait_ms);
		follow_serve(f);
	}
}

/* Lets the program go, and reports that; of another rank's before: without the report the rank takes its program back. */
static int let_go(struct recording *r, struct task *j)
{
	if (j->rank && !waiter_started(&j->waiter, r->tracee.pid)) {
		recording_cancel(r);
		return EXIT_TRACER;
	}
	recording_release(r);
	if (!j->rank)
		(void)!waiter_started(&j->waiter, r->tracee.pid);
	if (j->node) {
		objects_ask_no_server();
		node_serve(j->node, serve_rank);
	}
	return 0;
}

/* From what the user wants to a program that runs. */
static int begin(struct recording *r, struct task *j)
{
	struct follow *f = &j->follow;
	int status = program_resolve(f->opt->program[0], &r->program);

	if (status != 0)
		return status;
	r->opt = follow_options(f, f->opt->program[0], &r->program);
	r->argv = program_argv(&r->program, f->opt->program);
	status = r->argv ? recording_prepare(r) : EXIT_TRACER;
	/* modules' variables are one program's, and so are their faults */
	if (status == 0 && j->rank && r->analysis)
		status = REFUSED;
	if (status == 0)
		status = start(r, j);
	if (status != 0 || r->tracee.reaped)
		return status;
	follow_ask(f, r);
	status = recording_begin(r);
	if (status == 0)
		status = follow_add(f, r);
	if (status != 0) {
		inj_tracee_kill(&r->tracee);
		return status;
	}
	return let_go(r, j);
}

static int record(struct recording *r, struct task *j)
{
	int status;

	if (j->rank)
		node_start(j->rank->node);
	status = begin(r, j);
	if (j->rank)
		node_started(j->rank->node);
	if (status != 0)
		return status;
	if (!j->follow.n) {
		/* it was gone before there was anything to record */
		(void)!waiter_started(&j->waiter, r->tracee.pid);
		(void)!waiter_program_end(&j->waiter, -1, -1, &status);
		return 0;
	}
	await_end(&j->follow, &j->waiter);
	stay_as_long_as_needed(&j->follow, &j->waiter);
	return 0;
}

/* All of it; *r is freed.  The trace folder may have been entered: *dir. */
static int run(struct task *j, const struct record_options *opt, const struct tracedir *dir)
{
	struct recording r = { .session.code = { .fd = -1, .shm = -1 }, .pidfd = -1, .dir = *dir };
	int status = follow_begin(&j->follow, opt);

	if (status == 0) {
		status = record(&r, j);
		follow_end(&j->follow);
	}
	if (r.dir.top && !r.dir.path)
		tracedir_abandon(&r.dir);
	if (r.argv != opt->program)
		free(r.argv);
	recording_free(&r);
	return status;
}

/* node_serve_fn */
static void serve_rank(struct node_rank *rank)
{
	static pthread_mutex_t parsing = PTHREAD_MUTEX_INITIALIZER;
	struct task j = { .waiter = { .fd = rank->fd, .program_fd = -1, .messages = rank->messages }, .rank = rank };
	struct record_options opt;
	struct tracedir dir;
	int status;

	msg_fd = rank->messages;
	pthread_mutex_lock(&parsing);
	status = record_options_parse(rank->argc, rank->argv, &opt);
	pthread_mutex_unlock(&parsing);
	if (status < 0)
		return;
	status = tracedir_join(rank->node->top, rank->rank, rank->ranks, &dir);
	if (status == 0)
		status = run(&j, &opt, &dir);
	record_options_free(&opt);
	if (j.waiter.program_fd >= 0)
		close(j.waiter.program_fd);
	if (status == 0)
		waiter_done(&j.waiter, true);
	else
		(void)!waiter_say(j.waiter.fd, status == REFUSED ? WAITER_REFUSED : WAITER_FAILED(status));
	rank->fd = j.waiter.fd;
}

int verb_record(int argc, char **argv)
{
	struct tracedir dir = { .lock_fd = -1, .rank = -1 };
	struct supervisor supervisor = { 0 };
	struct record_options opt;
	struct node node;
	struct task j = { .supervisor = &supervisor, .node = &node };
	struct config_run config;
	int status = config_begin(&config, &supervisor, &argc, &argv);

	if (!status)
		status = record_options_parse(argc, argv, &opt);
	if (status < 0) {
		config_end(&config);
		return OPT_STATUS(status);
	}
	supervise_begin(&supervisor);
	supervisor.toggle = opt.toggle;
	status = node_begin(&node, &dir, &(struct node_wish){ &opt, argc, argv, &supervisor });
	if (status == 0)
		status = waiter_split(&j.waiter, &supervisor, (const int[2]){ dir.lock_fd, node.lock });
	if (status == 0) {
		/* each reserves 64 MiB of address space, and is locked by who allocates */
		mallopt(M_ARENA_MAX, node.lock < 0 ? 1 : ARENAS);
		pages_keep_heap();
		node_open(&node);
		status = run(&j, &opt, &dir);
	}
	record_options_free(&opt);
	if (status == 0)
		waiter_done(&j.waiter, !node_close(&node));
	node_end(&node);
	config_end(&config);
	return status;
}
