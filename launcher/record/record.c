// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * `sonde record`: everything is checked and prepared first; then the program is started, stopped at its
 * first instruction, instrumented and let go; then we collect until it and its children have ended.
 */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/common/message.h"
#include "launcher/record/recording.h"
#include "launcher/record/supervise.h"
#include "launcher/record/waiter.h"
#include "launcher/verbs.h"

#define SHORT_WAITS_NS 8000000	/* for children that end with the program */
#define LONG_WAIT_NS 100000000

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

static bool is_stopped(const struct recording *r)
{
	struct pollfd stop = { .fd = collector_stop_fd(r->collector), .events = POLLIN };

	return poll(&stop, 1, 0) == 1;
}

/* The program's children may live on. */
static void stay_as_long_as_needed(struct recording *r, struct waiter *w)
{
	int64_t wait_ns = 1000000;

	for (bool said = false; recording_is_needed(r) && !is_stopped(r); wait_ns += wait_ns < LONG_WAIT_NS ? wait_ns : 0) {
		if (wait_ns > SHORT_WAITS_NS && !said) {
			if (!r->opt.quiet)
				msg_info("the program's children are recorded until they end, into %s", r->dir.top);
			waiter_done(w, true);
			said = true;
		}
		nanosleep(&(struct timespec){ .tv_nsec = wait_ns }, NULL);
	}
}

static struct tf_end program_end(struct recording *r, struct waiter *w)
{
	struct tf_end end = { .complete = true };
	int status;

	enum waiter_end how;

	while ((how = waiter_program_end(w, collector_stop_fd(r->collector), &status)) == WAITER_TOGGLED)
		collector_toggle(r->collector);
	switch (how) {
	case WAITER_STOPPED:
		end.ending = SONDE_TRACE_DETACHED;
		waiter_done(w, true);
		return end;
	case WAITER_UNKNOWN:
		collector_program_ended(r->collector, true);
		return end;
	case WAITER_TOGGLED:
	case WAITER_ENDED:
		break;
	}
	if (WIFSIGNALED(status)) {
		collector_program_ended(r->collector, true);
		end.ending = SONDE_TRACE_KILLED;
		end.signal = WTERMSIG(status);
	} else {
		collector_program_ended(r->collector, false);
		end.ending = SONDE_TRACE_EXITED;
		end.exit_status = WEXITSTATUS(status);
	}
	return end;
}

static int record(struct recording *r, struct waiter *w, struct supervisor *v)
{
	struct tf_end end;
	int status = program_resolve(r->opt.program[0], &r->program);

	if (status == 0)
		status = recording_prepare(r);
	r->argv = program_argv(&r->program, r->opt.program);
	if (status == 0)
		status = r->argv ? start(r, v) : EXIT_TRACER;
	if (status != 0)
		return status;
	if (r->tracee.reaped) {
		waiter_started(w, r->tracee.pid);
		(void)!waiter_program_end(w, -1, &status);
		return 0;
	}
	status = recording_begin(r);
	if (status != 0) {
		inj_tracee_kill(&r->tracee);
		return status;
	}
	recording_release(r);
	waiter_started(w, r->tracee.pid);
	end = program_end(r, w);
	stay_as_long_as_needed(r, w);
	recording_finish(r, &end);
	return 0;
}

int verb_record(int argc, char **argv)
{
	struct recording r = { .session.code = { .fd = -1, .shm = -1 } };
	struct supervisor supervisor;
	struct waiter waiter;
	int status = record_options_parse(argc, argv, &r.opt);

	if (status < 0)
		return OPT_STATUS(status);
	mallopt(M_ARENA_MAX, 1); /* a second arena reserves 64 MiB of address space */
	supervise_begin(&supervisor);
	supervisor.toggle = r.opt.toggle;
	status = waiter_split(&waiter, &supervisor);
	if (status == 0)
		status = record(&r, &waiter, &supervisor);
	if (r.argv != r.opt.program)
		free(r.argv);
	recording_free(&r);
	record_options_free(&r.opt);
	if (status == 0)
		waiter_done(&waiter, false);
	return status;
}
