// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/record/waiter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "launcher/collect/collector.h"
#include "launcher/common/message.h"

#define TOGGLE (-1) /* no status of waitpid() */

bool waiter_say(int fd, int value)
{
	return send(fd, &value, sizeof(value), MSG_NOSIGNAL) == sizeof(value);
}

bool waiter_hear(int fd, int *value)
{
	ssize_t n;

	do
		n = recv(fd, value, sizeof(*value), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*value);
}

/* ---- the one that waits ---- */

/* It has said why, or was killed. */
static int status_of_recorder(pid_t recorder)
{
	int status;

	while (waitpid(recorder, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_TRACER;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	msg_error("the process that records was ended by signal %d; the program was ended with it",
		  WTERMSIG(status));
	return EXIT_TRACER;
}

static void say_toggle(void *fd)
{
	(void)!waiter_say(*(int *)fd, TOGGLE);
}

/* Until the program has ended, and what it did is on disk.  *recorder_ends: the one that records is about to end, too. */
static int wait_for_program(int fd, pid_t program, struct supervisor *v, bool *recorder_ends)
{
	int status, stays = 1;

	v->toggled = say_toggle;
	v->arg = &fd;
	status = supervise(v, program);
	(void)!waiter_say(fd, status);	/* a recording that was stopped is over, and has said so before */
	if (!waiter_hear(fd, &stays))
		msg_warn("the process that records was ended before the program: the trace is not complete");
	*recorder_ends = !stays;
	return status;
}

static void wait_here(int fd, pid_t recorder, struct supervisor *v) __attribute__((noreturn));

static void wait_here(int fd, pid_t recorder, struct supervisor *v)
{
	bool recorder_ends;
	int program, status;

	if (!waiter_hear(fd, &program))
		exit(status_of_recorder(recorder));
	status = wait_for_program(fd, program, v, &recorder_ends);
	if (recorder_ends)
		(void)!status_of_recorder(recorder);
	supervise_end(v, status);
}

void waiter_wait(int fd, pid_t program, struct supervisor *v)
{
	bool ignored;

	supervise_end(v, wait_for_program(fd, program, v, &ignored));
}

/* ---- the one that records ---- */

/* None is ours yet. */
static void note_inherited(struct waiter *w, const int ours[2])
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int fd = atoi(e->d_name);

		if (fd <= STDERR_FILENO || fd == dirfd(dir) || fd == w->fd || fd == ours[0] || fd == ours[1])
			continue;
		if (!array_one_more(w->inherited, w->ninherited))
			break;
		w->inherited[w->ninherited++] = fd;
	}
	if (dir)
		closedir(dir);
}

int waiter_split(struct waiter *w, struct supervisor *v, const int recorders[2])
{
	pid_t waits = getpid(), recorder;
	int fds[2];

	*w = (struct waiter){ .fd = -1, .program_fd = -1, .messages = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0 || (recorder = fork()) < 0) {
		msg_error("cannot start the process that records: %s", strerror(errno));
		return EXIT_TRACER;
	}
	if (recorder > 0) {
		close(fds[1]);
		for (int i = 0; i < 2; i++)
			if (recorders[i] >= 0)
				close(recorders[i]);
		wait_here(fds[0], recorder, v);
	}
	close(fds[0]);
	w->fd = fds[1];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != waits)
		_exit(EXIT_TRACER);
	note_inherited(w, recorders);
	return 0;
}

/* Each program that is followed, and each thread, takes some descriptors; the program keeps the limit that it was given. */
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)!setrlimit(RLIMIT_NOFILE, &files);
}

/* From here on we are on our own. */
static void leave_waiter(struct waiter *w)
{
	prctl(PR_SET_PDEATHSIG, 0);
	setsid();
	for (size_t i = 0; i < w->ninherited; i++)
		close(w->inherited[i]);
	free(w->inherited);
	w->inherited = NULL;
	raise_file_limit();
}

bool waiter_started(struct waiter *w, pid_t program)
{
	if (w->messages < 0)
		leave_waiter(w);
	w->program = program;
	w->program_fd = (int)syscall(SYS_pidfd_open, program, 0);
	return waiter_say(w->fd, program);
}

/* Whoever reads a pipe that they lead to waits for our end, too. */
static void leave_streams(const struct waiter *w)
{
	int first = w->messages < 0 ? STDIN_FILENO : w->messages, last = w->messages < 0 ? STDERR_FILENO : w->messages;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = first; fd <= last; fd++) {
		if (null >= 0)
			dup3(null, fd, w->messages < 0 ? 0 : O_CLOEXEC);
		else if (w->messages < 0)
			close(fd);
	}
	if (null > STDERR_FILENO)
		close(null);
}

/* False: @wake_fd can be read, or the time is over. */
static bool await(int fd, int wake_fd, int ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = wake_fd, .events = POLLIN } };

	while (poll(fds, 2, ms) < 0 && errno == EINTR)
		;
	return fds[0].revents;
}

enum waiter_end waiter_program_end(struct waiter *w, int wake_fd, int ms, int *status)
{
	if (w->fd >= 0) {
		if (!await(w->fd, wake_fd, ms))
			return WAITER_WOKEN;
		if (waiter_hear(w->fd, status))
			return *status == TOGGLE ? WAITER_TOGGLED : WAITER_ENDED;
		leave_streams(w);
		close(w->fd);
		w->fd = -1;
	}
	if (w->program_fd >= 0 && !await(w->program_fd, wake_fd, ms))
		return WAITER_WOKEN;
	return collector_exit_status(w->program, w->program_fd, status) ? WAITER_ENDED : WAITER_UNKNOWN;
}

void waiter_done(struct waiter *w, bool stays)
{
	if (w->fd < 0)
		return;
	leave_streams(w);
	(void)!waiter_say(w->fd, stays);
	close(w->fd);
	w->fd = -1;
}
