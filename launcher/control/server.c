// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "launcher/control/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "launcher/common/message.h"

#define CONNECTIONS 16
#define TRIES 8
#define PREFIX "sonde-control-"

struct control {
	int events;
	struct pollfd fds[1 + CONNECTIONS]; /* the first one listens */
	char path[CONTROL_PATH];
	char *file; /* in the trace folder; names the socket */
};

/* ---- the socket ---- */

static bool name_it(struct sockaddr_un *addr, const char *folder)
{
	uint64_t random;
	int n;

	if (!folder || *folder != '/' || getrandom(&random, sizeof(random), 0) != sizeof(random))
		return false;
	n = snprintf(addr->sun_path, sizeof(addr->sun_path), "%s/" PREFIX "%016llx", folder, (unsigned long long)random);
	return n > 0 && (size_t)n < sizeof(addr->sun_path);
}

/* Its mode is that of the descriptor. */
static bool bind_in(int fd, const char *folder, char path[static CONTROL_PATH])
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	for (int i = 0; i < TRIES && name_it(&addr, folder); i++) {
		if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
			memcpy(path, addr.sun_path, CONTROL_PATH);
			return true;
		}
		if (errno != EADDRINUSE)
			break;
	}
	return false;
}

static bool is_left_over(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct stat st;
	bool left;
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path) || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	strcpy(addr.sun_path, path);
	left = fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return left;
}

/* Recorders that were killed could not remove theirs. */
static void remove_left_over(const char *folder)
{
	DIR *d = folder ? opendir(folder) : NULL;
	struct dirent *e;
	char path[4096];

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0 ||
		    snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= (int)sizeof(path))
			continue;
		if (is_left_over(path))
			unlink(path);
	}
	if (d)
		closedir(d);
}

int control_socket(char path[static CONTROL_PATH])
{
	const char *const folders[] = { getenv("XDG_RUNTIME_DIR"), "/tmp" };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < 2 && fchmod(fd, 0600) == 0; i++) {
		remove_left_over(folders[i]);
		if (!bind_in(fd, folders[i], path))
			continue;
		if (listen(fd, CONNECTIONS) == 0)
			return fd;
		unlink(path);
		break;
	}
	close(fd);
	return -1;
}

static bool write_name(struct control *ctl, const char *dir)
{
	int fd, n;
	bool good;

	if (asprintf(&ctl->file, "%s/" CONTROL_FILE, dir) < 0) {
		ctl->file = NULL;
		return false;
	}
	fd = open(ctl->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(ctl->file);
		ctl->file = NULL;
		return false;
	}
	n = dprintf(fd, "%s\n", ctl->path);
	good = n == (int)strlen(ctl->path) + 1;
	close(fd);
	return good;
}

/* ---- who asks ---- */

static bool watch(const struct control *ctl, int fd)
{
	return epoll_ctl(ctl->events, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN }) == 0;
}

static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void let_in(struct control *ctl)
{
	int fd = accept4(ctl->fds[0].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (int i = 1; i <= CONNECTIONS && may_ask(fd); i++) {
		if (ctl->fds[i].fd >= 0)
			continue;
		if (!watch(ctl, fd))
			break;
		ctl->fds[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
		return;
	}
	close(fd);
}

/* False: there will be no more requests. */
static bool answer_one(const struct pollfd *p, control_serve_fn *serve, void *arg)
{
	struct control_request request, message;
	struct control_answer answer = { .magic = CONTROL_MAGIC, .version = CONTROL_VERSION };
	ssize_t n = recv(p->fd, &message, sizeof(message), MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	answer.error = control_check_request(&message, (size_t)n, &request);
	if (answer.error == CONTROL_OK)
		serve(arg, request.verb, &answer);
	n = (ssize_t)control_answer_bytes(&answer);
	return send(p->fd, &answer, (size_t)n, MSG_NOSIGNAL) == n;
}

void control_serve(struct control *ctl, control_serve_fn *serve, void *arg)
{
	if (!ctl || poll(ctl->fds, 1 + CONNECTIONS, 0) <= 0)
		return;
	for (int i = 1; i <= CONNECTIONS; i++) {
		if (ctl->fds[i].fd < 0 || !ctl->fds[i].revents || answer_one(&ctl->fds[i], serve, arg))
			continue;
		close(ctl->fds[i].fd);
		ctl->fds[i].fd = -1;
	}
	if (ctl->fds[0].revents)
		let_in(ctl);
}

/* ---- from the first to the last ---- */

void control_end(struct control *ctl)
{
	if (!ctl)
		return;
	if (ctl->file)
		unlink(ctl->file);
	if (ctl->path[0])
		unlink(ctl->path);
	if (ctl->fds[0].fd >= 0)
		close(ctl->fds[0].fd);
	free(ctl->file);
	free(ctl);
}

struct control *control_begin(const char *dir, int events)
{
	struct control *ctl = calloc(1, sizeof(*ctl));

	if (!ctl)
		return NULL;
	ctl->events = events;
	for (int i = 0; i <= CONNECTIONS; i++)
		ctl->fds[i].fd = -1;
	ctl->fds[0] = (struct pollfd){ .fd = control_socket(ctl->path), .events = POLLIN };
	if (ctl->fds[0].fd >= 0 && watch(ctl, ctl->fds[0].fd) && write_name(ctl, dir))
		return ctl;
	msg_debug("this recording cannot be controlled by `sonde ctl': %s", strerror(errno));
	control_end(ctl);
	return NULL;
}
