// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Everything is checked and prepared, and functions are planned, while the process runs; then it is stopped for as long as it
 * takes to write what leads to their copies.  In the end all of that is taken out again.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/patch/attach.h"
#include "injector/process/attachable.h"
#include "launcher/common/message.h"
#include "launcher/common/proc.h"
#include "launcher/record/attach/attached.h"
#include "launcher/record/describe/metadata.h"

static int refuse(const struct recording *r, const char *why)
{
	msg_error("cannot attach to process %d: %s", (int)r->tracee.pid, why);
	return EXIT_USAGE;
}

/* ---- which process ---- */

static int find_process(struct recording *r, const char *text)
{
	char why[256], *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid <= 0 || pid > INT_MAX) {
		msg_error("'%s' is not the number of a process; see `sonde attach --help'", text);
		return EXIT_USAGE;
	}
	r->tracee.pid = (pid_t)pid;
	if (!inj_attachable(r->tracee.pid, why, sizeof(why)))
		return refuse(r, why);
	r->pidfd = (int)syscall(SYS_pidfd_open, r->tracee.pid, 0);
	return r->pidfd >= 0 ? 0 : refuse(r, strerror(errno));
}

/* The file may have been replaced since, or be in another root: then it is read as the kernel has it. */
static int find_program(struct recording *r)
{
	char link[32], path[PATH_MAX + 32]; /* " (deleted)" */
	struct stat kernels, st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)r->tracee.pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0 || stat(link, &kernels) < 0)
		return refuse(r, strerror(errno));
	path[n] = '\0';
	if (stat(path, &st) < 0 || st.st_dev != kernels.st_dev || st.st_ino != kernels.st_ino)
		memcpy(path, link, sizeof(link));
	return program_resolve(path, &r->program);
}

int attached_find(struct recording *r, const char *text)
{
	int status = find_process(r, text);
	struct proc_stat stat;

	if (status == 0)
		status = find_program(r);
	if (status != 0)
		return status;
	r->argv = proc_arguments(r->tracee.pid);
	proc_stat(r->tracee.pid, &stat);
	r->parent = stat.parent;
	return r->argv ? 0 : EXIT_TRACER;
}

/* ---- beginning ---- */

static int attach_failed(const struct recording *r, enum inj_status status)
{
	char why[256];

	switch (status) {
	case INJ_GONE:
		return refuse(r, "it has just ended");
	case INJ_NOT_SUPPORTED:
		return EXIT_USAGE; /* it has been said why */
	case INJ_SYSTEM:
		inj_not_attachable(r->tracee.pid, errno, why, sizeof(why));
		return refuse(r, why);
	case INJ_REMOTE:
		msg_error("cannot attach to process %d: %s: %s", (int)r->tracee.pid, inj_status_text(status), strerror(errno));
		return EXIT_USAGE;
	default:
		msg_error("cannot attach to process %d: %s", (int)r->tracee.pid, inj_status_text(status));
		return EXIT_TRACER;
	}
}

static void say_stop(const char *what, const struct inj_stop *stop)
{
	msg_debug("%s: %zu thread%s stopped for %.1f ms", what, stop->threads, stop->threads == 1 ? "" : "s",
		  (double)stop->ns / 1e6);
}

static int put_in(struct recording *r)
{
	struct inj_stop stop = { 0 };
	enum inj_status status = inj_session_attach(&r->session, r->tracee.pid);
	int ret;

	if (status != INJ_OK)
		return attach_failed(r, status);
	ret = recording_open(r);
	if (ret != 0) {
		inj_session_leave(&r->session);
		return ret;
	}
	recording_write_cost(r);
	status = inj_session_place(&r->session, &stop);
	if (status != INJ_OK) {
		ret = attach_failed(r, status);
		(void)recording_give_up(r);
		return ret;
	}
	say_stop("attached", &stop);
	r->let_go = true;
	return 0;
}

int attached_begin(struct recording *r)
{
	int status = put_in(r);

	if (status != 0)
		return status;
	/* what threads record meanwhile waits in their rings */
	if (collector_start(r->collector, r->writer, &r->session, &r->opt, r->tracee.pid) < 0) {
		attached_leave(r);
		return recording_give_up(r);
	}
	recording_say_recorded(r);
	return 0;
}

/* ---- the end ---- */

static void take_out_of(struct recording *r, pid_t pid)
{
	struct inj_stop stop;
	size_t rest;
	enum inj_status status = inj_session_detach(&r->session, pid, &stop, &rest);

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
static void take_out_of_others(struct recording *r)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;

	while (dir && recording_is_needed(r) && (e = readdir(dir))) {
		pid_t pid = atoi(e->d_name);

		if (pid > 0 && pid != r->tracee.pid && pid != getpid() && inj_session_is_in(&r->session, pid))
			take_out_of(r, pid);
	}
	if (dir)
		closedir(dir);
}

void attached_leave(struct recording *r)
{
	collector_no_requests(r->collector);
	if (inj_session_is_in(&r->session, r->tracee.pid))
		take_out_of(r, r->tracee.pid);
	take_out_of_others(r);
}
