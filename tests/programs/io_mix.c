// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Files, pipes, sockets and streams.  Each part checks what it did; the output says how often each
 * function was called, so that a trace can be compared with it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 50
#define BLOCK 4096

#define CHECK(condition)                                                                       \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition,             \
				strerror(errno));                                              \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

static unsigned char block[BLOCK];

static void fill(unsigned int round)
{
	for (size_t i = 0; i < BLOCK; i++)
		block[i] = (unsigned char)(i * 7 + round * 13);
}

static int is_filled(unsigned int round)
{
	for (size_t i = 0; i < BLOCK; i++)
		if (block[i] != (unsigned char)(i * 7 + round * 13))
			return 0;
	return 1;
}

static void files(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct stat st;

	CHECK(fd >= 0);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		fill(r);
		CHECK(write(fd, block, BLOCK) == BLOCK);
	}
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		CHECK(read(fd, block, BLOCK) == BLOCK);
		CHECK(is_filled(r));
	}
	CHECK(read(fd, block, BLOCK) == 0);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		CHECK(pread(fd, block, BLOCK, (off_t)(ROUNDS - 1 - r) * BLOCK) == BLOCK);
		CHECK(is_filled(ROUNDS - 1 - r));
	}
	CHECK(fstat(fd, &st) == 0 && st.st_size == ROUNDS * BLOCK);
	CHECK(close(fd) == 0);
	CHECK(unlink(path) == 0);
	printf("files: open 1 write %d read %d pread %d close 1\n", ROUNDS, ROUNDS + 1, ROUNDS);
}

static void errors(void)
{
	struct stat st;

	errno = 0;
	CHECK(open("/nonexistent/file", O_RDONLY) == -1 && errno == ENOENT);
	CHECK(open((char *)8, O_RDONLY) == -1 && errno == EFAULT);
	CHECK(stat("", &st) == -1 && errno == ENOENT);
	CHECK(read(-1, block, 1) == -1 && errno == EBADF);
	CHECK(close(-1) == -1 && errno == EBADF);
	printf("errors: open 2 stat 1 read 1 close 1\n");
}

static void pipes(void)
{
	int fd[2];

	CHECK(pipe(fd) == 0);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		struct iovec v[2] = { { block, 100 }, { block + 100, 28 } };

		fill(r);
		CHECK(writev(fd[1], v, 2) == 128);
		memset(block, 0, 128);
		CHECK(readv(fd[0], v, 2) == 128);
		CHECK(is_filled(r));
	}
	CHECK(close(fd[0]) == 0 && close(fd[1]) == 0);
	printf("pipes: pipe 1 writev %d readv %d close 2\n", ROUNDS, ROUNDS);
}

/* A child sends everything back that it is sent. */
static void echo(int fd)
{
	char c[64];
	ssize_t n;

	while ((n = recv(fd, c, sizeof(c), 0)) > 0)
		if (send(fd, c, (size_t)n, 0) != n)
			_exit(1);
	_exit(n == 0 ? 0 : 1);
}

static void sockets(void)
{
	int fd[2], status;
	pid_t child;
	char c[64];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		close(fd[0]);
		echo(fd[1]);
	}
	close(fd[1]);
	for (int r = 0; r < ROUNDS; r++) {
		struct pollfd p = { .fd = fd[0], .events = POLLIN };

		snprintf(c, sizeof(c), "message %d", r);
		CHECK(send(fd[0], c, 16, 0) == 16);
		CHECK(poll(&p, 1, -1) == 1);
		CHECK(recv(fd[0], c, 16, MSG_WAITALL) == 16);
		CHECK(atoi(c + 8) == r);
	}
	close(fd[0]);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	printf("sockets: socketpair 1 send %d poll %d recv %d\n", ROUNDS, ROUNDS, ROUNDS);
}

static void streams(const char *path)
{
	FILE *f = fopen(path, "w+");
	unsigned int word;

	CHECK(f);
	for (unsigned int i = 0; i < 10000; i++)
		CHECK(fwrite(&i, sizeof(i), 1, f) == 1);
	CHECK(fseek(f, 0, SEEK_SET) == 0);
	for (unsigned int i = 0; i < 10000; i++)
		CHECK(fread(&word, sizeof(word), 1, f) == 1 && word == i);
	CHECK(fclose(f) == 0);
	CHECK(unlink(path) == 0);
	printf("streams: fopen 1 fwrite 10000 fseek 1 fread 10000 fclose 1\n");
}

int main(void)
{
	char dir[] = "io_mix.XXXXXX", path[64];

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	files(path);
	errors();
	pipes();
	sockets();
	streams(path);
	CHECK(rmdir(dir) == 0);
	puts("ok");
	return 0;
}
