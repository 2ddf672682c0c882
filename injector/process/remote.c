// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/process/remote.h"

#define PAGE 4096u

/* What the process needs for recvmsg(), in the page that is mapped for it. */
struct mail {
	int32_t fds[2]; /* of socketpair() */
	struct msghdr msg;
	struct iovec iov;
	char byte;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

enum inj_status inj_remote_close(struct inj_target *t, int remote)
{
	int64_t ignored;

	return inj_syscall(t, SYS_close, (const uint64_t[6]){ (uint64_t)remote }, &ignored);
}

/* Where it sees another /proc than we do, the number may be that of another process. */
static bool is_same(const struct inj_target *t, int fd, int remote)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)t->pid, remote);
	return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

static enum inj_status open_by_path(struct inj_target *t, int fd, uint64_t page, int *remote)
{
	char path[64];
	enum inj_status status;
	int64_t result = -1;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	status = inj_write(t, page, path, strlen(path) + 1);
	if (status == INJ_OK)
		status = inj_syscall(t, SYS_open, (const uint64_t[6]){ page, O_RDWR | O_CLOEXEC }, &result);
	*remote = (int)result;
	if (status != INJ_OK || is_same(t, fd, *remote))
		return status;
	(void)!inj_remote_close(t, *remote);
	errno = ENOENT;
	return INJ_REMOTE;
}

/* Into the socket @theirs of the process. */
static enum inj_status send_fd(const struct inj_target *t, int theirs, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { .iov_base = (char[]){ 'f' }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	int sock = pidfd >= 0 ? (int)syscall(438 /* pidfd_getfd */, pidfd, theirs, 0) : -1;
	enum inj_status status;
	int saved;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	status = sock >= 0 && sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? INJ_OK : INJ_SYSTEM;
	saved = errno;
	if (sock >= 0)
		close(sock);
	if (pidfd >= 0)
		close(pidfd);
	errno = saved;
	return status;
}

static enum inj_status receive_fd(struct inj_target *t, uint64_t page, struct mail *m, int *remote)
{
	struct cmsghdr c;
	int64_t ignored;
	enum inj_status status;

	m->iov = (struct iovec){ .iov_base = (void *)(page + offsetof(struct mail, byte)), .iov_len = 1 };
	m->msg = (struct msghdr){ .msg_iov = (void *)(page + offsetof(struct mail, iov)), .msg_iovlen = 1,
				  .msg_control = (void *)(page + offsetof(struct mail, control)),
				  .msg_controllen = sizeof(m->control) };
	status = inj_write(t, page, m, sizeof(*m));
	if (status == INJ_OK)
		status = inj_syscall(t, SYS_recvmsg,
				     (const uint64_t[6]){ (uint64_t)m->fds[1], page + offsetof(struct mail, msg),
							  MSG_CMSG_CLOEXEC | MSG_DONTWAIT },
				     &ignored);
	if (status == INJ_OK)
		status = inj_read(t, page, m, sizeof(*m));
	memcpy(&c, m->control, sizeof(c));
	if (status != INJ_OK)
		return status;
	errno = EPROTO;
	if (c.cmsg_type != SCM_RIGHTS || c.cmsg_len != CMSG_LEN(sizeof(*remote)))
		return INJ_SYSTEM;
	memcpy(remote, m->control + CMSG_LEN(0), sizeof(*remote));
	return INJ_OK;
}

/* A pair of sockets of its own, one of which we take: so no name, user, or namespace has to be the same. */
static enum inj_status pass_by_socket(struct inj_target *t, int fd, uint64_t page, int *remote)
{
	const uint64_t pair[6] = { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, page };
	struct mail m = { 0 };
	int64_t ignored;
	enum inj_status status = inj_syscall(t, SYS_socketpair, pair, &ignored);

	if (status == INJ_OK)
		status = inj_read(t, page, m.fds, sizeof(m.fds));
	if (status != INJ_OK)
		return status;
	status = send_fd(t, m.fds[0], fd);
	if (status == INJ_OK)
		status = receive_fd(t, page, &m, remote);
	(void)!inj_remote_close(t, m.fds[0]);
	(void)!inj_remote_close(t, m.fds[1]);
	return status;
}

enum inj_status inj_remote_open(struct inj_target *t, int fd, int *remote)
{
	enum inj_status status;
	uint64_t page;

	*remote = fd;
	if (t->inherits)
		return INJ_OK;
	status = inj_mmap(t, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &page);
	if (status != INJ_OK)
		return status;
	status = open_by_path(t, fd, page, remote);
	if (status == INJ_REMOTE)
		status = pass_by_socket(t, fd, page, remote);
	(void)!inj_munmap(t, page, PAGE);
	return status;
}
