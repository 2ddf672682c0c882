// SPDX-License-Identifier: GPL-3.0-or-later
/* The process that records the ranks of a node: who asks, and a thread for each. */
#include "config.h"

#include "launcher/record/node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "launcher/collect/pool.h"
#include "launcher/common/message.h"
#include "launcher/common/proc.h"
#include "launcher/control/server.h"
#include "launcher/record/node/join.h"
#include "launcher/record/waiter.h"

#define BACKLOG 4096
#define TURN_SECONDS 5
#define PATIENCE_MS 10000 /* for what has to come at once */
#define RETRY_MS 50 /* where nobody can be accepted: too many files are open */

/* ---- what is asked ---- */

static bool is_readable(int fd, int until_gone)
{
	struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = until_gone, .events = POLLRDHUP } };

	return poll(p, 2, PATIENCE_MS) > 0 && (p[0].revents & POLLIN);
}

/* The message, and its descriptors, which are the caller's.  Returns how many. */
static size_t receive(int from, struct join_request *r, ssize_t *bytes, int fds[static JOIN_FDS])
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(JOIN_FDS * sizeof(int))];
	} control;
	struct iovec text = { r, sizeof(*r) };
	/* without what follows for alignment, where one more would fit */
	struct msghdr m = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = CMSG_LEN(JOIN_FDS * sizeof(int)) };
	struct cmsghdr *c;
	size_t n;

	*bytes = is_readable(from, from) ? recvmsg(from, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) : -1;
	c = *bytes >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	n = n < JOIN_FDS ? n : JOIN_FDS;
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	/* more than there is room for: none of them */
	if (m.msg_flags & (MSG_CTRUNC | MSG_TRUNC))
		*bytes = -1;
	return n;
}

/* The process, which is a child of @parent; 0: it is not. */
static pid_t process_of(int pidfd, pid_t parent)
{
	char path[48], line[128];
	struct proc_stat s;
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Pid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid > 0 && proc_stat(pid, &s) && s.parent == parent ? pid : 0;
}

static bool read_args(struct node_rank *k, const struct join_request *r, int from)
{
	k->text = malloc(r->bytes);
	if (!k->text || pread(from, k->text, r->bytes, 0) != (ssize_t)r->bytes)
		return false;
	k->argv = join_args(r, k->text);
	k->argc = (int)r->nargs;
	return k->argv != NULL;
}

static bool is_ours(int fd, struct ucred *peer)
{
	socklen_t len = sizeof(*peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &len) == 0 && peer->uid == geteuid() && peer->pid > 0;
}

/* Its processors are ours, too: a rank's are often its own. */
static void use_processors_of(pid_t pid)
{
	cpu_set_t set;

	if (sched_getaffinity(pid, sizeof(set), &set) == 0)
		pool_widen(&set);
}

static bool accept_rank(struct node_rank *k)
{
	struct join_request message, r;
	int fds[JOIN_FDS];
	struct ucred peer;
	ssize_t bytes;
	size_t n;
	bool good;

	if (!is_ours(k->fd, &peer))
		return false;
	n = receive(k->fd, &message, &bytes, fds);
	good = bytes >= 0 && join_check_request(&message, (size_t)bytes, n, &r) && r.context == k->node->context;
	if (good) {
		k->rank = r.rank;
		k->ranks = r.ranks;
		k->messages = fds[JOIN_STDERR];
		k->forked = (struct inj_forked){ process_of(fds[JOIN_PROGRAM], peer.pid), fds[JOIN_GO], fds[JOIN_FAILED] };
		good = k->forked.pid && read_args(k, &r, fds[JOIN_ARGS]) && is_readable(fds[JOIN_GO], k->fd);
		fds[JOIN_STDERR] = -1;
	}
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0 && !(good && (i == JOIN_GO || i == JOIN_FAILED)))
			close(fds[i]);
	if (good)
		use_processors_of(peer.pid);
	return good;
}

/* ---- threads ---- */

static void leave(struct node *n)
{
	pthread_mutex_lock(&n->mutex);
	n->nranks--;
	pthread_cond_signal(&n->left);
	pthread_mutex_unlock(&n->mutex);
}

static void *serve_rank(void *arg)
{
	struct node_rank *k = arg;
	struct node *n = k->node;

	if (accept_rank(k)) {
		n->serve(k);
		if (!k->taken) {
			close(k->forked.go);
			close(k->forked.failed);
		}
	} else {
		(void)!waiter_say(k->fd, WAITER_REFUSED);
	}
	if (k->messages >= 0)
		close(k->messages);
	close(k->fd);
	free(k->argv);
	free(k->text);
	free(k);
	leave(n);
	return NULL;
}

/* False: that cannot be. */
static bool let_in(struct node *n, int fd)
{
	struct node_rank *k = calloc(1, sizeof(*k));
	pthread_attr_t attr;
	pthread_t thread;
	bool good = false;

	if (!k)
		return false;
	*k = (struct node_rank){ .node = n, .fd = fd, .messages = -1 };
	pthread_mutex_lock(&n->mutex);
	if (!n->closed) {
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		good = pthread_create(&thread, &attr, serve_rank, k) == 0;
		pthread_attr_destroy(&attr);
		n->nranks += good;
	}
	pthread_mutex_unlock(&n->mutex);
	if (!good)
		free(k);
	return good;
}

static void *accept_ranks(void *arg)
{
	struct node *n = arg;
	struct pollfd p[] = { { .fd = n->socket, .events = POLLIN }, { .fd = n->wake, .events = POLLIN } };

	while (!p[1].revents) {
		int fd;

		if (poll(p, 2, -1) < 0 || !(p[0].revents & POLLIN))
			continue;
		fd = accept4(n->socket, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			(void)!poll(p + 1, 1, RETRY_MS);
		else if (!let_in(n, fd))
			close(fd);
	}
	return NULL;
}

/* ---- from the first to the last ---- */

/* Nobody finds us any more. */
static void give_up(struct node *n)
{
	if (n->socket >= 0)
		close(n->socket);
	if (n->wake >= 0)
		close(n->wake);
	if (n->path[0])
		unlink(n->path);
	if (n->lock >= 0) {
		unlink(n->file);
		close(n->lock);
	}
	n->socket = n->wake = n->lock = -1;
	n->path[0] = '\0';
}

void node_open(struct node *n)
{
	if (n->lock < 0)
		return;
	n->socket = control_socket(n->path);
	n->wake = eventfd(0, EFD_CLOEXEC);
	if (n->socket >= 0 && n->wake >= 0 && listen(n->socket, BACKLOG) == 0 && dprintf(n->lock, "%s\n", n->path) > 0)
		return;
	msg_debug("each rank is recorded by a process of its own: %s", strerror(errno));
	give_up(n);
}

void node_serve(struct node *n, node_serve_fn *serve)
{
	if (n->lock < 0)
		return;
	n->serve = serve;
	n->serves = pthread_create(&n->acceptor, NULL, accept_ranks, n) == 0;
	if (!n->serves)
		give_up(n);
}

void node_start(struct node *n)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += TURN_SECONDS;
	pthread_mutex_lock(&n->mutex);
	while (n->starting >= processors && pthread_cond_timedwait(&n->turn, &n->mutex, &until) == 0)
		;
	n->starting++;
	pthread_mutex_unlock(&n->mutex);
}

void node_started(struct node *n)
{
	pthread_mutex_lock(&n->mutex);
	n->starting--;
	pthread_cond_signal(&n->turn);
	pthread_mutex_unlock(&n->mutex);
	/* what planning has used */
	malloc_trim(0);
}

bool node_close(struct node *n)
{
	pthread_mutex_lock(&n->mutex);
	n->closed |= n->nranks == 0;
	pthread_mutex_unlock(&n->mutex);
	return n->closed;
}

void node_end(struct node *n)
{
	pthread_mutex_lock(&n->mutex);
	while (n->nranks)
		pthread_cond_wait(&n->left, &n->mutex);
	n->closed = true;
	pthread_mutex_unlock(&n->mutex);
	if (n->serves) {
		(void)!eventfd_write(n->wake, 1);
		pthread_join(n->acceptor, NULL);
	}
	give_up(n);
	free(n->file);
	free(n->top);
}
