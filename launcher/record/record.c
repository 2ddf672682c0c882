// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * `sonde record`: everything is checked and prepared first; then the program is started, stopped at its
 * first instruction, instrumented and let go; then we collect until it, its children and what they execute have ended.
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/common/message.h"
#include "launcher/record/follow.h"
#include "launcher/record/supervise.h"
#include "launcher/record/waiter.h"
#include "launcher/verbs.h"

#define SHORT_WAITS_MS 8 /* for children that end with the program */
#define LONG_WAIT_MS 100

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

static int start(struct recording *r, struct supervisor *v)
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
	bool exec_failed;
	enum inj_status status = inj_tracee_start(&r->tracee, &exec, &exec_failed);

	/* killed before it was a program: an end like any other, but of nothing that could be recorded */
	return status == INJ_OK || status == INJ_GONE ? 0 : start_failed(r, status, exec_failed);
}

/* ---- the end ---- */

/* Follows until the program has ended, or nobody wants more of it. */
static void await_end(struct follow *f, struct waiter *w)
{
	struct tf_end end = { .complete = true };
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
			follow_toggle(f);
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

static int record(struct recording *r, struct follow *f, struct waiter *w, struct supervisor *v)
{
	int status = program_resolve(f->opt->program[0], &r->program);

	if (status != 0)
		return status;
	r->opt = follow_options(f, f->opt->program[0], &r->program);
	r->argv = program_argv(&r->program, f->opt->program);
	status = r->argv ? recording_prepare(r) : EXIT_TRACER;
	if (status == 0)
		status = start(r, v);
	if (status != 0)
		return status;
	if (r->tracee.reaped) {
		waiter_started(w, r->tracee.pid);
		(void)!waiter_program_end(w, -1, -1, &status);
		return 0;
	}
	follow_ask(f, r);
	status = recording_begin(r);
	if (status == 0)
		status = follow_add(f, r);
	if (status != 0) {
		inj_tracee_kill(&r->tracee);
		return status;
	}
	recording_release(r);
	waiter_started(w, r->tracee.pid);
	await_end(f, w);
	stay_as_long_as_needed(f, w);
	return 0;
}

int verb_record(int argc, char **argv)
{
	struct recording r = { .session.code = { .fd = -1, .shm = -1 }, .pidfd = -1, .dir.lock_fd = -1 };
	struct supervisor supervisor;
	struct record_options opt;
	struct waiter waiter;
	struct follow follow;
	int status = record_options_parse(argc, argv, &opt);

	if (status < 0)
		return OPT_STATUS(status);
	mallopt(M_ARENA_MAX, 1); /* a second arena reserves 64 MiB of address space */
	supervise_begin(&supervisor);
	supervisor.toggle = opt.toggle;
	status = waiter_split(&waiter, &supervisor);
	if (status == 0)
		status = follow_begin(&follow, &opt);
	if (status == 0) {
		status = record(&r, &follow, &waiter, &supervisor);
		follow_end(&follow);
	}
	if (r.argv != opt.program)
		free(r.argv);
	recording_free(&r);
	record_options_free(&opt);
	if (status == 0)
		waiter_done(&waiter, false);
	return status;
}
