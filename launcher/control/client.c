// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "launcher/control/client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_rank(const char *path, const char *name)
{
	struct stat st;

	return strncmp(name, "rank-", 5) == 0 && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool control_folders(const char *dir, void (*found)(void *arg, const char *dir), void *arg)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[4096];

	if (!d)
		return false;
	found(arg, dir);
	while ((e = readdir(d)))
		if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) < (int)sizeof(path) && is_rank(path, e->d_name))
			found(arg, path);
	closedir(d);
	return true;
}

static bool read_path(const char *dir, char file[static 4096], char path[static CONTROL_PATH])
{
	char text[CONTROL_PATH + 1];
	ssize_t n;
	int fd;

	if (snprintf(file, 4096, "%s/" CONTROL_FILE, dir) >= 4096) {
		errno = ENAMETOOLONG;
		return false;
	}
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	close(fd);
	errno = EPROTO;
	return n > 0 && control_check_path(text, (size_t)n, path);
}

/* It may be a name that somebody else has taken since. */
static bool is_our_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0 || geteuid() == 0);
}

static void remove_left(const char *file, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid())
		unlink(path);
	unlink(file);
}

int control_connect(const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char file[4096], path[CONTROL_PATH];
	int fd, err;

	if (!read_path(dir, file, path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
		if (is_our_peer(fd))
			return fd;
		err = EPERM;
	} else {
		err = errno == EACCES ? EPERM : errno;
	}
	if (err == ECONNREFUSED) {
		remove_left(file, path);
		err = ENOENT;
	}
	close(fd);
	errno = err;
	return -1;
}

static ssize_t receive(int fd, void *to, size_t bytes)
{
	ssize_t n;

	do
		n = recv(fd, to, bytes, MSG_TRUNC);
	while (n < 0 && errno == EINTR);
	return n;
}

bool control_ask(int fd, enum control_verb verb, struct control_answer *answer)
{
	struct control_request request = { .magic = CONTROL_MAGIC, .version = CONTROL_VERSION, .verb = verb };
	struct control_answer message;
	ssize_t n;

	if (send(fd, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request)) {
		errno = errno == EPIPE ? ECONNRESET : errno;
		return false;
	}
	n = receive(fd, &message, sizeof(message));
	if (n < 0)
		return false;
	if (n == 0) {
		errno = ECONNRESET;
		return false;
	}
	errno = EPROTO;
	return (size_t)n <= sizeof(message) && control_check_answer(&message, (size_t)n, answer) &&
	       answer->error != CONTROL_UNKNOWN;
}

void control_await_end(int fd)
{
	char rest[64];

	while (receive(fd, rest, sizeof(rest)) > 0)
		;
}
