// SPDX-License-Identifier: MIT
/*
 * posixio: files, sockets and standard I/O streams.
 *
 * On x86-64 the names with 64 (open64, pread64, fstat64...) are the same code as those without, so
 * they are recorded too.  What a stream function reads or writes shows up below it as read() or
 * write().  doc/modules.md says what each field means.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sonde/module.h>

SONDE_MODULE("posixio", "files, sockets and standard I/O: descriptors, paths, bytes transferred");

/*
 * One line a function: its type, name, parameters, arguments, what is recorded at entry, and what
 * at return, where `result` is what the function returns.
 */
#define CALL(type, name, params, args, before, after)                                          \
	SONDE_WRAP_IF_PRESENT(type, name, params)                                              \
	{                                                                                      \
		sonde_enter before;                                                            \
		type result = SONDE_REAL(name) args;                                           \
		sonde_leave after;                                                             \
		return result;                                                                 \
	}

#define FD(fd) SONDE_I32("fd", fd)
#define ASKED(n) SONDE_U64("requested", n)
#define OFFSET(n) SONDE_I64("offset", n)
#define FLAGS(flags) SONDE_U32("flags", flags)
#define STREAM(f) SONDE_PTR("stream", f)
#define STATUS (SONDE_I32("result", result))
#define TRANSFER (SONDE_I64("result", result), SONDE_BYTES("bytes", result > 0 ? result : 0))
#define POINTER (SONDE_PTR("result", result))

/* Opening: the mode is an argument only where a file may be created. */
#define MODE_IF_CREATED(flags)                                                                 \
	mode_t mode = 0;                                                                       \
	va_list ap;                                                                            \
                                                                                               \
	va_start(ap, flags);                                                                   \
	if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE)                         \
		mode = va_arg(ap, mode_t);                                                     \
	va_end(ap)

SONDE_WRAP_IF_PRESENT(int, open, (const char *path, int flags, ...))
{
	MODE_IF_CREATED(flags);
	sonde_enter(SONDE_PATH("path", path), FLAGS(flags));
	int result = SONDE_REAL(open)(path, flags, mode);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

SONDE_WRAP_IF_PRESENT(int, openat, (int dir, const char *path, int flags, ...))
{
	MODE_IF_CREATED(flags);
	sonde_enter(FD(dir), SONDE_PATH("path", path), FLAGS(flags));
	int result = SONDE_REAL(openat)(dir, path, flags, mode);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

CALL(int, creat, (const char *path, mode_t mode), (path, mode), (SONDE_PATH("path", path)), STATUS)
CALL(int, close, (int fd), (fd), (FD(fd)), STATUS)

/* Descriptors.  Whatever the third argument of fcntl() and ioctl() is, it fits a register. */
SONDE_WRAP_IF_PRESENT(int, fcntl, (int fd, int command, ...))
{
	va_list ap;

	va_start(ap, command);
	long argument = va_arg(ap, long);
	va_end(ap);
	sonde_enter(FD(fd), SONDE_I32("command", command));
	int result = SONDE_REAL(fcntl)(fd, command, argument);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

SONDE_WRAP_IF_PRESENT(int, ioctl, (int fd, unsigned long request, ...))
{
	va_list ap;

	va_start(ap, request);
	long argument = va_arg(ap, long);
	va_end(ap);
	sonde_enter(FD(fd), SONDE_U64("request", request));
	int result = SONDE_REAL(ioctl)(fd, request, argument);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

CALL(int, dup, (int fd), (fd), (FD(fd)), STATUS)
CALL(int, dup2, (int fd, int to), (fd, to), (FD(fd), SONDE_I32("to", to)), STATUS)
CALL(int, dup3, (int fd, int to, int flags), (fd, to, flags),
     (FD(fd), SONDE_I32("to", to), FLAGS(flags)), STATUS)

#define BOTH_ENDS(fd)                                                                          \
	(SONDE_I32("result", result), SONDE_I32("first", result == 0 ? (fd)[0] : -1),          \
	 SONDE_I32("second", result == 0 ? (fd)[1] : -1))
CALL(int, pipe, (int fd[2]), (fd), (), BOTH_ENDS(fd))
CALL(int, pipe2, (int fd[2], int flags), (fd, flags), (FLAGS(flags)), BOTH_ENDS(fd))
CALL(int, socketpair, (int domain, int type, int protocol, int fd[2]),
     (domain, type, protocol, fd), (SONDE_I32("domain", domain), SONDE_I32("type", type)),
     BOTH_ENDS(fd))

/* Reading and writing. */
CALL(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n), (FD(fd), ASKED(n)), TRANSFER)
CALL(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n), (FD(fd), ASKED(n)),
     TRANSFER)
CALL(ssize_t, pread, (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at),
     (FD(fd), ASKED(n), OFFSET(at)), TRANSFER)
CALL(ssize_t, pwrite, (int fd, const void *buf, size_t n, off_t at), (fd, buf, n, at),
     (FD(fd), ASKED(n), OFFSET(at)), TRANSFER)

/* The parts of a vector are not added up: it may be anywhere, or nowhere. */
#define VECTOR(v) SONDE_I32("parts", v)
CALL(ssize_t, readv, (int fd, const struct iovec *v, int n), (fd, v, n), (FD(fd), VECTOR(n)),
     TRANSFER)
CALL(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n), (FD(fd), VECTOR(n)),
     TRANSFER)
CALL(ssize_t, preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
     (FD(fd), VECTOR(n), OFFSET(at)), TRANSFER)
CALL(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at),
     (FD(fd), VECTOR(n), OFFSET(at)), TRANSFER)
CALL(ssize_t, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags),
     (fd, v, n, at, flags), (FD(fd), VECTOR(n), OFFSET(at), FLAGS(flags)), TRANSFER)
CALL(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags),
     (fd, v, n, at, flags), (FD(fd), VECTOR(n), OFFSET(at), FLAGS(flags)), TRANSFER)

/* From one descriptor to another. */
#define FROM_TO(in, out) SONDE_I32("in", in), SONDE_I32("out", out)
CALL(ssize_t, sendfile, (int out, int in, off_t *at, size_t n), (out, in, at, n),
     (FROM_TO(in, out), ASKED(n)), TRANSFER)
CALL(ssize_t, copy_file_range,
     (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned int flags),
     (in, in_at, out, out_at, n, flags), (FROM_TO(in, out), ASKED(n), FLAGS(flags)), TRANSFER)
CALL(ssize_t, splice,
     (int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned int flags),
     (in, in_at, out, out_at, n, flags), (FROM_TO(in, out), ASKED(n), FLAGS(flags)), TRANSFER)
CALL(ssize_t, tee, (int in, int out, size_t n, unsigned int flags), (in, out, n, flags),
     (FROM_TO(in, out), ASKED(n), FLAGS(flags)), TRANSFER)

/* Position, size, durability. */
CALL(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence),
     (FD(fd), OFFSET(at), SONDE_I32("whence", whence)), (SONDE_I64("result", result)))
CALL(int, fsync, (int fd), (fd), (FD(fd)), STATUS)
CALL(int, fdatasync, (int fd), (fd), (FD(fd)), STATUS)
CALL(int, sync_file_range, (int fd, off64_t at, off64_t n, unsigned int flags),
     (fd, at, n, flags), (FD(fd), OFFSET(at), SONDE_I64("length", n), FLAGS(flags)), STATUS)
CALL(int, ftruncate, (int fd, off_t length), (fd, length),
     (FD(fd), SONDE_I64("length", length)), STATUS)
CALL(int, truncate, (const char *path, off_t length), (path, length),
     (SONDE_PATH("path", path), SONDE_I64("length", length)), STATUS)
CALL(int, fallocate, (int fd, int mode, off_t at, off_t length), (fd, mode, at, length),
     (FD(fd), SONDE_I32("mode", mode), OFFSET(at), SONDE_I64("length", length)), STATUS)
CALL(int, posix_fallocate, (int fd, off_t at, off_t length), (fd, at, length),
     (FD(fd), OFFSET(at), SONDE_I64("length", length)), STATUS)
CALL(int, posix_fadvise, (int fd, off_t at, off_t length, int advice), (fd, at, length, advice),
     (FD(fd), OFFSET(at), SONDE_I64("length", length), SONDE_I32("advice", advice)), STATUS)

/* What a file is.  Programs built before glibc 2.33 call the names with x. */
CALL(int, stat, (const char *path, struct stat *st), (path, st), (SONDE_PATH("path", path)), STATUS)
CALL(int, lstat, (const char *path, struct stat *st), (path, st), (SONDE_PATH("path", path)),
     STATUS)
CALL(int, fstat, (int fd, struct stat *st), (fd, st), (FD(fd)), STATUS)
CALL(int, fstatat, (int dir, const char *path, struct stat *st, int flags),
     (dir, path, st, flags), (FD(dir), SONDE_PATH("path", path), FLAGS(flags)), STATUS)
CALL(int, statx, (int dir, const char *path, int flags, unsigned int mask, struct statx *st),
     (dir, path, flags, mask, st), (FD(dir), SONDE_PATH("path", path), FLAGS(flags)), STATUS)
CALL(int, __xstat, (int version, const char *path, struct stat *st), (version, path, st),
     (SONDE_PATH("path", path)), STATUS)
CALL(int, __lxstat, (int version, const char *path, struct stat *st), (version, path, st),
     (SONDE_PATH("path", path)), STATUS)
CALL(int, __fxstat, (int version, int fd, struct stat *st), (version, fd, st), (FD(fd)), STATUS)
CALL(int, __fxstatat, (int version, int dir, const char *path, struct stat *st, int flags),
     (version, dir, path, st, flags), (FD(dir), SONDE_PATH("path", path), FLAGS(flags)), STATUS)
CALL(int, access, (const char *path, int mode), (path, mode),
     (SONDE_PATH("path", path), SONDE_I32("mode", mode)), STATUS)
CALL(int, faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags),
     (FD(dir), SONDE_PATH("path", path), SONDE_I32("mode", mode), FLAGS(flags)), STATUS)
CALL(ssize_t, readlink, (const char *path, char *buf, size_t n), (path, buf, n),
     (SONDE_PATH("path", path)), (SONDE_I64("result", result)))
CALL(ssize_t, readlinkat, (int dir, const char *path, char *buf, size_t n), (dir, path, buf, n),
     (FD(dir), SONDE_PATH("path", path)), (SONDE_I64("result", result)))

/* Names. */
#define TWO_PATHS(from, to) SONDE_PATH("path", from), SONDE_PATH("to", to)
CALL(int, unlink, (const char *path), (path), (SONDE_PATH("path", path)), STATUS)
CALL(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags),
     (FD(dir), SONDE_PATH("path", path), FLAGS(flags)), STATUS)
CALL(int, remove, (const char *path), (path), (SONDE_PATH("path", path)), STATUS)
CALL(int, rename, (const char *from, const char *to), (from, to), (TWO_PATHS(from, to)), STATUS)
CALL(int, renameat, (int dir, const char *from, int to_dir, const char *to),
     (dir, from, to_dir, to), (FD(dir), TWO_PATHS(from, to), SONDE_I32("to_fd", to_dir)), STATUS)
CALL(int, renameat2,
     (int dir, const char *from, int to_dir, const char *to, unsigned int flags),
     (dir, from, to_dir, to, flags),
     (FD(dir), TWO_PATHS(from, to), SONDE_I32("to_fd", to_dir), FLAGS(flags)), STATUS)
CALL(int, link, (const char *from, const char *to), (from, to), (TWO_PATHS(from, to)), STATUS)
CALL(int, symlink, (const char *from, const char *to), (from, to), (TWO_PATHS(from, to)), STATUS)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), (SONDE_PATH("path", path)), STATUS)
CALL(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode),
     (FD(dir), SONDE_PATH("path", path)), STATUS)
CALL(int, rmdir, (const char *path), (path), (SONDE_PATH("path", path)), STATUS)
CALL(int, chdir, (const char *path), (path), (SONDE_PATH("path", path)), STATUS)
CALL(DIR *, opendir, (const char *path), (path), (SONDE_PATH("path", path)), POINTER)
CALL(int, closedir, (DIR *dir), (dir), (SONDE_PTR("dir", dir)), STATUS)

/* Sockets. */
CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol),
     (SONDE_I32("domain", domain), SONDE_I32("type", type), SONDE_I32("protocol", protocol)),
     STATUS)
CALL(int, bind, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n), (FD(fd)), STATUS)
CALL(int, listen, (int fd, int backlog), (fd, backlog),
     (FD(fd), SONDE_I32("backlog", backlog)), STATUS)
CALL(int, connect, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n), (FD(fd)),
     STATUS)
CALL(int, accept, (int fd, struct sockaddr *from, socklen_t *n), (fd, from, n),
     (FD(fd), SONDE_WAIT), STATUS)
CALL(int, accept4, (int fd, struct sockaddr *from, socklen_t *n, int flags),
     (fd, from, n, flags), (FD(fd), FLAGS(flags), SONDE_WAIT), STATUS)
CALL(int, shutdown, (int fd, int how), (fd, how), (FD(fd), SONDE_I32("how", how)), STATUS)
CALL(ssize_t, send, (int fd, const void *buf, size_t n, int flags), (fd, buf, n, flags),
     (FD(fd), ASKED(n), FLAGS(flags)), TRANSFER)
CALL(ssize_t, sendto,
     (int fd, const void *buf, size_t n, int flags, const struct sockaddr *to, socklen_t to_n),
     (fd, buf, n, flags, to, to_n), (FD(fd), ASKED(n), FLAGS(flags)), TRANSFER)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags),
     (FD(fd), FLAGS(flags)), TRANSFER)
CALL(ssize_t, recv, (int fd, void *buf, size_t n, int flags), (fd, buf, n, flags),
     (FD(fd), ASKED(n), FLAGS(flags)), TRANSFER)
CALL(ssize_t, recvfrom,
     (int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *from_n),
     (fd, buf, n, flags, from, from_n), (FD(fd), ASKED(n), FLAGS(flags)), TRANSFER)
CALL(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags),
     (FD(fd), FLAGS(flags)), TRANSFER)
CALL(int, sendmmsg, (int fd, struct mmsghdr *msg, unsigned int n, int flags),
     (fd, msg, n, flags), (FD(fd), SONDE_U32("messages", n), FLAGS(flags)), STATUS)
CALL(int, recvmmsg,
     (int fd, struct mmsghdr *msg, unsigned int n, int flags, struct timespec *timeout),
     (fd, msg, n, flags, timeout), (FD(fd), SONDE_U32("messages", n), FLAGS(flags)), STATUS)

/* Waiting for descriptors. */
#define WAITS(n) SONDE_I64("fds", n), SONDE_WAIT
#define WAITS_MS(n, ms) SONDE_I64("fds", n), SONDE_I32("timeout_ms", ms), SONDE_WAIT
CALL(int, poll, (struct pollfd *v, nfds_t n, int ms), (v, n, ms), (WAITS_MS(n, ms)), STATUS)
CALL(int, ppoll,
     (struct pollfd *v, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
     (v, n, timeout, mask), (WAITS(n)), STATUS)
CALL(int, select, (int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout),
     (n, r, w, x, timeout), (WAITS(n)), STATUS)
CALL(int, pselect,
     (int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec *timeout,
      const sigset_t *mask),
     (n, r, w, x, timeout, mask), (WAITS(n)), STATUS)
CALL(int, epoll_ctl, (int fd, int op, int target, struct epoll_event *event),
     (fd, op, target, event), (FD(fd), SONDE_I32("op", op), SONDE_I32("target", target)), STATUS)
CALL(int, epoll_wait, (int fd, struct epoll_event *v, int n, int ms), (fd, v, n, ms),
     (FD(fd), SONDE_I32("timeout_ms", ms), SONDE_WAIT), STATUS)
CALL(int, epoll_pwait, (int fd, struct epoll_event *v, int n, int ms, const sigset_t *mask),
     (fd, v, n, ms, mask), (FD(fd), SONDE_I32("timeout_ms", ms), SONDE_WAIT), STATUS)
CALL(int, epoll_pwait2,
     (int fd, struct epoll_event *v, int n, const struct timespec *timeout,
      const sigset_t *mask),
     (fd, v, n, timeout, mask), (FD(fd), SONDE_WAIT), STATUS)

/* Streams. */
#define ITEMS (SONDE_U64("result", result), SONDE_BYTES("bytes", result * size))
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode),
     (SONDE_PATH("path", path), SONDE_STR("mode", mode)), POINTER)
CALL(FILE *, freopen, (const char *path, const char *mode, FILE *f), (path, mode, f),
     (SONDE_PATH("path", path), SONDE_STR("mode", mode), STREAM(f)), POINTER)
CALL(FILE *, fdopen, (int fd, const char *mode), (fd, mode), (FD(fd), SONDE_STR("mode", mode)),
     POINTER)
CALL(FILE *, tmpfile, (void), (), (), POINTER)
CALL(int, fclose, (FILE *f), (f), (STREAM(f)), STATUS)
CALL(int, fflush, (FILE *f), (f), (STREAM(f)), STATUS)
CALL(size_t, fread, (void *buf, size_t size, size_t n, FILE *f), (buf, size, n, f),
     (STREAM(f), SONDE_U64("size", size), SONDE_U64("items", n)), ITEMS)
CALL(size_t, fwrite, (const void *buf, size_t size, size_t n, FILE *f), (buf, size, n, f),
     (STREAM(f), SONDE_U64("size", size), SONDE_U64("items", n)), ITEMS)
CALL(size_t, fread_unlocked, (void *buf, size_t size, size_t n, FILE *f), (buf, size, n, f),
     (STREAM(f), SONDE_U64("size", size), SONDE_U64("items", n)), ITEMS)
CALL(size_t, fwrite_unlocked, (const void *buf, size_t size, size_t n, FILE *f),
     (buf, size, n, f), (STREAM(f), SONDE_U64("size", size), SONDE_U64("items", n)), ITEMS)
CALL(char *, fgets, (char *buf, int n, FILE *f), (buf, n, f),
     (STREAM(f), SONDE_I32("requested", n)), POINTER)
CALL(int, fputs, (const char *s, FILE *f), (s, f), (STREAM(f)), STATUS)
CALL(int, fseek, (FILE *f, long at, int whence), (f, at, whence),
     (STREAM(f), OFFSET(at), SONDE_I32("whence", whence)), STATUS)
CALL(int, fseeko, (FILE *f, off_t at, int whence), (f, at, whence),
     (STREAM(f), OFFSET(at), SONDE_I32("whence", whence)), STATUS)
