// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * `sonde attach`: everything is checked and prepared, and functions are planned, while the process runs; then it is stopped
 * for as long as it takes to write what leads to their copies.  In the end all of that is taken out again.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injector/patch/attach.h"
#include "injector/process/attachable.h"
#include "launcher/common/message.h"
#include "launcher/common/proc.h"
#include "launcher/record/metadata.h"
#include "launcher/record/recording.h"
#include "launcher/verbs.h"

#define CHILDREN_MS 50

struct attached {
	struct recording r;
	pid_t pid;
	int pidfd;
	int signals; /* those that end the recording */
	int timer;   /* -1: no --duration */
	char path[PATH_MAX + 32]; /* of the program */
};

/* ---- which process ---- */

static int refuse(const struct attached *a, const char *why)
{
	msg_error("cannot attach to process %d: %s", (int)a->pid, why);
	return EXIT_USAGE;
}

static int find_process(struct attached *a)
{
	const char *text = a->r.opt.program[0];
	char why[256], *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid <= 0 || pid > INT_MAX) {
		msg_error("'%s' is not the number of a process; see `sonde attach --help'", text);
		return EXIT_USAGE;
	}
	a->pid = (pid_t)pid;
	if (!inj_attachable(a->pid, why, sizeof(why)))
		return refuse(a, why);
	a->pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);
	return a->pidfd >= 0 ? 0 : refuse(a, strerror(errno));
}

/* The file may have been replaced since, or be in another root: then it is read as the kernel has it. */
static int find_program(struct attached *a)
{
	char link[32];
	struct stat kernels, st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)a->pid);
	n = readlink(link, a->path, sizeof(a->path) - 1);
	if (n < 0 || stat(link, &kernels) < 0)
		return refuse(a, strerror(errno));
	a->path[n] = '\0';
	if (stat(a->path, &st) < 0 || st.st_dev != kernels.st_dev || st.st_ino != kernels.st_ino)
		memcpy(a->path, link, sizeof(link));
	return program_resolve(a->path, &a->r.program);
}

static int check_wanted(const struct recording *r)
{
	if (r->opt.modules.n)
		msg_error("-m is not possible in a process that runs already, only -F and --mem are; start the program by "
			  "`sonde record'");
	else if (!r->opt.select.functions.n && !r->opt.memory.n)
		msg_error("nothing is to be recorded: say which functions, as by -F '*', or --mem");
	else
		return 0;
	return EXIT_USAGE;
}

/* ---- beginning ---- */

static int attach_failed(const struct attached *a, enum inj_status status)
{
	char why[256];

	switch (status) {
	case INJ_GONE:
		return refuse(a, "it has just ended");
	case INJ_NOT_SUPPORTED:
		return EXIT_USAGE; /* it has been said why */
	case INJ_SYSTEM:
		inj_not_attachable(a->pid, errno, why, sizeof(why));
		return refuse(a, why);
	case INJ_REMOTE:
		msg_error("cannot attach to process %d: %s: %s", (int)a->pid, inj_status_text(status), strerror(errno));
		return EXIT_USAGE;
	default:
		msg_error("cannot attach to process %d: %s", (int)a->pid, inj_status_text(status));
		return EXIT_TRACER;
	}
}

static void say_stop(const char *what, const struct inj_stop *stop)
{
	msg_debug("%s: %zu thread%s stopped for %.1f ms", what, stop->threads, stop->threads == 1 ? "" : "s",
		  (double)stop->ns / 1e6);
}

static int begin(struct attached *a)
{
	struct recording *r = &a->r;
	struct inj_stop stop = { 0 };
	enum inj_status status = inj_session_attach(&r->session, a->pid);
	int ret;

	if (status != INJ_OK)
		return attach_failed(a, status);
	ret = recording_open(r);
	if (ret != 0) {
		inj_session_leave(&r->session);
		return ret;
	}
	recording_write_cost(r);
	status = inj_session_place(&r->session, &stop);
	if (status != INJ_OK) {
		ret = attach_failed(a, status);
		recording_give_up(r);
		return ret;
	}
	say_stop("attached", &stop);
	r->let_go = true;
	return 0;
}

/* ---- the end ---- */

static void take_out_of(struct attached *a, pid_t pid)
{
	struct inj_stop stop;
	size_t rest;
	enum inj_status status = inj_session_detach(&a->r.session, pid, &stop, &rest);

	say_stop("detached", &stop);
	if (status != INJ_OK && status != INJ_GONE)
		msg_error("process %d could not be left as it was: %s%s%s", (int)pid, inj_status_text(status),
			  status == INJ_SYSTEM || status == INJ_REMOTE ? ": " : "",
			  status == INJ_SYSTEM || status == INJ_REMOTE ? strerror(errno) : "");
	else if (rest)
		msg_debug("process %d: %zu thread%s may still need code of ours, which stays mapped", (int)pid, rest,
			  rest == 1 ? "" : "s");
}

/* Children that were forked meanwhile have inherited everything. */
static void take_out_of_others(struct attached *a)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	while (dir && recording_is_needed(&a->r) && (e = readdir(dir))) {
		pid_t pid = atoi(e->d_name);

		if (pid > 0 && pid != a->pid && pid != getpid() && inj_session_is_in(&a->r.session, pid))
			take_out_of(a, pid);
	}
	if (dir)
		closedir(dir);
}

static void take_out(struct attached *a, bool runs)
{
	collector_no_libraries(a->r.collector);
	if (runs)
		take_out_of(a, a->pid);
	take_out_of_others(a);
}

static struct tf_end end_of(struct attached *a)
{
	struct tf_end end = { .complete = true };
	int status;

	if (!collector_exit_status(a->pid, a->pidfd, &status)) {
		collector_program_ended(a->r.collector, true);
	} else if (WIFSIGNALED(status)) {
		collector_program_ended(a->r.collector, true);
		end.ending = SONDE_TRACE_KILLED;
		end.signal = WTERMSIG(status);
	} else {
		collector_program_ended(a->r.collector, false);
		end.ending = SONDE_TRACE_EXITED;
		end.exit_status = WEXITSTATUS(status);
	}
	return end;
}

/* A signal has come.  Is it to end the recording? */
static bool is_to_end(const struct attached *a)
{
	struct signalfd_siginfo info;

	if (read(a->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if ((int)info.ssi_signo != a->r.opt.toggle)
		return true;
	collector_toggle(a->r.collector);
	return false;
}

/* True: somebody wants the recording to end; false: the process, and then its children, have. */
static bool is_stopped(struct attached *a, bool runs)
{
	struct pollfd fds[] = {
		{ .fd = runs ? a->pidfd : -1, .events = POLLIN },
		{ .fd = a->signals, .events = POLLIN },
		{ .fd = collector_stop_fd(a->r.collector), .events = POLLIN },
		{ .fd = a->timer, .events = POLLIN },
	};

	for (;;) {
		/* nobody says when the last child has ended */
		int n = poll(fds, sizeof(fds) / sizeof(fds[0]), runs ? -1 : CHILDREN_MS);

		if (n < 0)
			continue;
		if (fds[0].revents || (n == 0 && !recording_is_needed(&a->r)))
			return false;
		if (fds[2].revents || fds[3].revents || (fds[1].revents && is_to_end(a)))
			return true;
	}
}

static struct tf_end await_end(struct attached *a)
{
	struct tf_end end = { .complete = true, .ending = SONDE_TRACE_DETACHED };
	bool runs = is_stopped(a, true);

	if (runs) {
		take_out(a, true);
		return end;
	}
	end = end_of(a);
	if (recording_is_needed(&a->r) && is_stopped(a, false))
		take_out(a, false);
	return end;
}

static int record(struct attached *a)
{
	struct recording *r = &a->r;
	int status = begin(a);

	if (status != 0)
		return status;
	if (a->timer >= 0) {
		struct itimerspec t = { .it_value = { .tv_sec = (time_t)(r->opt.duration / 1000000000),
						      .tv_nsec = (long)(r->opt.duration % 1000000000) } };

		timerfd_settime(a->timer, 0, &t, NULL);
	}
	/* what threads record meanwhile waits in their rings */
	if (collector_start(r->collector, r->writer, &r->session, &r->opt, a->pid) < 0) {
		take_out(a, true);
		return recording_give_up(r);
	}
	metadata_warn_missing(&r->session);
	recorded_warn(&r->recorded, &r->session);
	recorded_perf_map(&r->recorded, &r->session, a->pid);
	r->end = await_end(a);
	recording_finish(r);
	return 0;
}

/* ---- all of it ---- */

static int listen_for_signals(struct attached *a)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigaddset(&set, ending[i]);
	if (a->r.opt.toggle)
		sigaddset(&set, a->r.opt.toggle);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	a->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (a->r.opt.duration)
		a->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (a->signals >= 0 && (a->timer >= 0 || !a->r.opt.duration))
		return 0;
	msg_error("cannot wait for signals: %s", strerror(errno));
	return EXIT_TRACER;
}

static int attach(struct attached *a)
{
	int status = check_wanted(&a->r);

	if (status == 0)
		status = find_process(a);
	if (status == 0)
		status = find_program(a);
	if (status == 0 && !(a->r.argv = proc_arguments(a->pid)))
		status = EXIT_TRACER;
	if (status == 0)
		status = listen_for_signals(a);
	if (status == 0)
		status = recording_prepare(&a->r);
	return status == 0 ? record(a) : status;
}

int verb_attach(int argc, char **argv)
{
	static struct attached a = { .r.session.code = { .fd = -1, .shm = -1 }, .r.pidfd = -1, .pidfd = -1, .signals = -1, .timer = -1 };
	int status = attach_options_parse(argc, argv, &a.r.opt);

	if (status < 0)
		return OPT_STATUS(status);
	mallopt(M_ARENA_MAX, 1);
	a.r.opt.no_follow = true;
	status = attach(&a);
	recording_free(&a.r);
	free(a.r.argv);
	record_options_free(&a.r.opt);
	return status;
}
