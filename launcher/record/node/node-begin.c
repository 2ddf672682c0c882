// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A rank, before it records: who does?  All hangs on the lock of a file in the trace folder.  Who gets it records for all
 * that come later; it is given up by closing, so with the process that holds it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/hash.h"
#include "launcher/common/message.h"
#include "launcher/program/program.h"
#include "launcher/record/node/join.h"
#include "launcher/record/node/node.h"
#include "launcher/record/waiter.h"
#include "launcher/trace/job.h"

#define TRIES 300
#define TRY_NS 10000000 /* 10 ms */
#define PATIENCE_MS 60000 /* for who has the lock, and may be at the start of a large program */

enum attempt { OURS, AGAIN, ALONE };

struct asking {
	struct node *n;
	struct tracedir *dir;
	const struct node_wish *wish;
	struct program program;
	char **argv; /* of the program */
	const char *why; /* we record ourselves */
};

/* ---- what paths and names depend on ---- */

static uint64_t add(uint64_t hash, const void *bytes, size_t n)
{
	return hash_word(hash ^ hash_bytes(bytes, n));
}

static uint64_t add_place(uint64_t hash, const char *path)
{
	struct stat st = { 0 };
	uint64_t v[2];

	if (stat(path, &st) < 0)
		st.st_ino = 0;
	v[0] = st.st_dev;
	v[1] = st.st_ino;
	return add(hash, v, sizeof(v));
}

static uint64_t context(void)
{
	static const char *const names[] = { "CC", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "SONDE_CFLAGS",
					     "SONDE_INCLUDE_PATH", "SONDE_MODULE_PATH", "TMPDIR", "XDG_CACHE_HOME" };
	mode_t mask = umask(077);
	uint64_t hash = add(0, PACKAGE_VERSION, sizeof(PACKAGE_VERSION));

	umask(mask);
	hash = add(hash, &mask, sizeof(mask));
	hash = add_place(hash, ".");
	hash = add_place(hash, "/");
	hash = add_place(hash, "/proc/self/ns/pid");
	hash = add_place(hash, "/proc/self/ns/mnt");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		hash = add(hash, value ? value : "", value ? strlen(value) + 1 : 0);
	}
	return hash;
}

/* What the one that records would do by its own limits. */
static const char *cannot_share(void)
{
	struct rlimit limit;

	if (files_are_scarce())
		return "too few files may be open";
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return "its address space is limited";
	return NULL;
}

/* ---- asking ---- */

static int args_file(const struct node_wish *wish)
{
	int fd = memfd_create("sonde-arguments", MFD_CLOEXEC);

	for (int i = 0; i < wish->argc && fd >= 0; i++) {
		size_t len = strlen(wish->argv[i]) + 1;

		if (write(fd, wish->argv[i], len) == (ssize_t)len)
			continue;
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool send_request(int to, const struct join_request *r, const int fds[JOIN_FDS])
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(JOIN_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec text = { (void *)r, sizeof(*r) };
	struct msghdr m = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(JOIN_FDS * sizeof(int));
	memcpy(CMSG_DATA(&control.head), fds, JOIN_FDS * sizeof(int));
	return sendmsg(to, &m, MSG_NOSIGNAL) == sizeof(*r);
}

/* False, and a->why: it will not be possible later, either. */
static bool hand_over(struct asking *a, int to, const struct inj_forked *forked)
{
	struct join_request r = {
		.magic = JOIN_MAGIC, .version = JOIN_VERSION, .context = a->n->context, .rank = a->dir->rank, .ranks = a->dir->ranks,
		.nargs = (uint32_t)a->wish->argc, .bytes = join_args_bytes(a->wish->argc, a->wish->argv),
	};
	int fds[JOIN_FDS] = { STDERR_FILENO, r.bytes ? args_file(a->wish) : -1, (int)syscall(SYS_pidfd_open, forked->pid, 0),
			      forked->go, forked->failed };
	bool good = true;

	for (int i = 0; i < JOIN_FDS; i++)
		good &= fds[i] >= 0;
	good = good && fcntl(STDERR_FILENO, F_GETFD) >= 0;
	if (!good)
		a->why = "its program cannot be handed over";
	good = good && send_request(to, &r, fds);
	for (int i = JOIN_STDERR + 1; i < JOIN_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return good;
}

/*
 * That the program is let go is said before it is, and not done if it could not be said.  So when nothing was said in time,
 * and nothing can be said any more, we may take the program back.
 */
static bool hear_answer(struct asking *a, int from, int *answer)
{
	struct pollfd p = { .fd = from, .events = POLLIN };

	if (poll(&p, 1, PATIENCE_MS) == 0) {
		a->why = "the one that records the other ranks does not answer";
		shutdown(from, SHUT_RDWR);
	}
	return waiter_hear(from, answer);
}

static enum attempt ask(struct asking *a, int fd, pid_t recorder)
{
	struct inj_exec exec = {
		.path = a->program.path, .argv = a->argv, .envp = environ, .mask = &a->wish->supervisor->original_mask,
		.in_child = supervise_in_child, .arg = a->wish->supervisor,
	};
	struct inj_forked forked;
	int answer = 0;

	if (inj_tracee_fork(&exec, recorder, &forked) != INJ_OK) {
		a->why = "no process can be forked";
		return ALONE;
	}
	if (!hand_over(a, fd, &forked)) {
		inj_forked_end(&forked);
		return a->why ? ALONE : AGAIN;
	}
	if (hear_answer(a, fd, &answer) && answer == forked.pid) {
		tracedir_close(a->dir);
		waiter_wait(fd, forked.pid, a->wish->supervisor);
	}
	inj_forked_end(&forked);
	if (answer < 0 && answer != WAITER_REFUSED) {
		tracedir_abandon(a->dir);
		exit(WAITER_FAILED(answer));
	}
	if (answer == WAITER_REFUSED)
		a->why = "the one that records the other ranks cannot do it";
	return a->why ? ALONE : AGAIN;
}

/* ---- who records ---- */

static bool is_current(int fd, const char *path)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

/* -1: *next says what to do. */
static int connect_to(struct asking *a, int file, pid_t *recorder, enum attempt *next)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char text[CONTROL_PATH + 1], path[CONTROL_PATH];
	ssize_t n = pread(file, text, sizeof(text), 0);
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd;

	*next = AGAIN;
	if (n <= 0)
		return -1; /* it is about to be written */
	*next = ALONE;
	a->why = "the one that records the other ranks cannot be reached";
	if (!control_check_path(text, (size_t)n, path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	memcpy(addr.sun_path, path, sizeof(path));
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid() && peer.pid > 0) {
		a->why = NULL;
		*recorder = peer.pid;
		return fd;
	}
	/* it has just ended, perhaps */
	if (fd >= 0 && (errno == ECONNREFUSED || errno == ENOENT))
		*next = AGAIN;
	if (fd >= 0)
		close(fd);
	return -1;
}

static enum attempt attempt(struct asking *a)
{
	int file = open(a->n->file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), fd;
	enum attempt next;
	pid_t recorder;

	if (file < 0) {
		a->why = strerror(errno);
		return ALONE;
	}
	if (flock(file, LOCK_EX | LOCK_NB) == 0) {
		if (!is_current(file, a->n->file)) {
			close(file);
			return AGAIN;
		}
		a->n->lock = file;
		return ftruncate(file, 0) == 0 ? OURS : ALONE;
	}
	if (errno != EWOULDBLOCK) {
		a->why = "the file system has no locks";
		close(file);
		return ALONE;
	}
	fd = connect_to(a, file, &recorder, &next);
	close(file);
	if (fd < 0)
		return next;
	next = ask(a, fd, recorder);
	close(fd);
	return next;
}

/* Comes back if this process is to record. */
static void find_recorder(struct asking *a)
{
	enum attempt next = AGAIN;

	a->why = cannot_share();
	for (int i = 0; i < TRIES && !a->why && next == AGAIN; i++) {
		next = attempt(a);
		if (next == AGAIN) {
			a->why = NULL;
			nanosleep(&(struct timespec){ .tv_nsec = TRY_NS }, NULL);
		}
	}
	if (a->n->lock < 0)
		msg_debug("this rank is recorded by a process of its own: %s",
			  a->why ? a->why : "the one that records the other ranks cannot be reached");
}

static int enter(struct asking *a, const struct job *job)
{
	char host[64] = "";
	int status = program_resolve(a->wish->opt->program[0], &a->program);

	if (status != 0)
		return status;
	a->argv = program_argv(&a->program, a->wish->opt->program);
	if (!a->argv)
		return EXIT_TRACER;
	status = tracedir_enter(a->wish->opt->dir, job, a->dir);
	if (status != 0)
		return status;
	gethostname(host, sizeof(host) - 1);
	a->n->context = context();
	a->n->top = strdup(a->dir->top);
	if (a->n->top && asprintf(&a->n->file, "%s/.sonde.node.%s", a->dir->top, host) >= 0)
		find_recorder(a);
	return 0;
}

int node_begin(struct node *n, struct tracedir *dir, const struct node_wish *wish)
{
	struct asking a = { .n = n, .dir = dir, .wish = wish };
	struct job job;
	int status = 0;

	*n = (struct node){ .lock = -1, .socket = -1, .wake = -1, .mutex = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER,
			    .turn = PTHREAD_COND_INITIALIZER };
	if (job_detect(&job) != 0) {
		msg_error("out of memory");
		return EXIT_TRACER;
	}
	if (job.rank >= 0)
		status = enter(&a, &job);
	job_free(&job);
	if (a.argv != wish->opt->program)
		free(a.argv);
	program_free(&a.program);
	return status;
}
