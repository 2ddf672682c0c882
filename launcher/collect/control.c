// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "launcher/collect/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.h"
#include "launcher/common/message.h"

#define CONNECTIONS 16
#define STACK (64u << 10)
#define TRIES 8
#define PREFIX "sonde-control-"

enum { LISTENS, WAKES, FIRST };

struct control {
	struct collector *collector;
	control_serve_fn *serve;
	pthread_t thread;
	struct pollfd fds[FIRST + CONNECTIONS];
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

/* ---- the thread ---- */

static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

static void let_in(struct control *ctl)
{
	int fd = accept4(ctl->fds[LISTENS].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	for (int i = FIRST; i < FIRST + CONNECTIONS && may_ask(fd); i++) {
		if (ctl->fds[i].fd >= 0)
			continue;
		ctl->fds[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
		return;
	}
	close(fd);
}

/* False: there will be no more requests. */
static bool answer_one(struct control *ctl, struct pollfd *p)
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
		ctl->serve(ctl->collector, request.verb, &answer);
	n = (ssize_t)control_answer_bytes(&answer);
	return send(p->fd, &answer, (size_t)n, MSG_NOSIGNAL) == n;
}

static void *wait_for_requests(void *arg)
{
	struct control *ctl = arg;

	while (!ctl->fds[WAKES].revents) {
		if (poll(ctl->fds, FIRST + CONNECTIONS, -1) < 0)
			continue;
		for (int i = FIRST; i < FIRST + CONNECTIONS; i++) {
			if (ctl->fds[i].fd < 0 || !ctl->fds[i].revents || answer_one(ctl, &ctl->fds[i]))
				continue;
			close(ctl->fds[i].fd);
			ctl->fds[i].fd = -1;
		}
		if (ctl->fds[LISTENS].revents)
			let_in(ctl);
	}
	return NULL;
}

static int start_thread(struct control *ctl)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	pthread_attr_setstacksize(&attr, STACK);
	err = pthread_create(&ctl->thread, &attr, wait_for_requests, ctl);
	pthread_attr_destroy(&attr);
	return err;
}

static void remove_all(struct control *ctl)
{
	if (ctl->file)
		unlink(ctl->file);
	if (ctl->path[0])
		unlink(ctl->path);
	if (ctl->fds[LISTENS].fd >= 0)
		close(ctl->fds[LISTENS].fd);
	if (ctl->fds[WAKES].fd >= 0)
		close(ctl->fds[WAKES].fd);
	free(ctl->file);
	free(ctl);
}

struct control *control_begin(const char *dir, struct collector *c, control_serve_fn *serve)
{
	struct control *ctl = calloc(1, sizeof(*ctl));

	if (!ctl)
		return NULL;
	if (files_are_scarce()) {
		msg_debug("this recording cannot be controlled by `sonde ctl': too few files may be open");
		free(ctl);
		return NULL;
	}
	ctl->collector = c;
	ctl->serve = serve;
	for (int i = 0; i < FIRST + CONNECTIONS; i++)
		ctl->fds[i].fd = -1;
	ctl->fds[LISTENS] = (struct pollfd){ .fd = control_socket(ctl->path), .events = POLLIN };
	ctl->fds[WAKES] = (struct pollfd){ .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };
	if (ctl->fds[LISTENS].fd >= 0 && ctl->fds[WAKES].fd >= 0 && write_name(ctl, dir)) {
		errno = start_thread(ctl);
		if (errno == 0)
			return ctl;
	}
	msg_debug("this recording cannot be controlled by `sonde ctl': %s", strerror(errno));
	remove_all(ctl);
	return NULL;
}

void control_end(struct control *ctl)
{
	if (!ctl)
		return;
	(void)!eventfd_write(ctl->fds[WAKES].fd, 1);
	pthread_join(ctl->thread, NULL);
	remove_all(ctl);
}
