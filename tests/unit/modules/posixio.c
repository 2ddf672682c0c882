// SPDX-License-Identifier: GPL-3.0-or-later
/* posixio's wrappers around the C library's functions: same results, and the records say so. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/modules/harness.h"

#define NAME "posixio.tmp"

static int setup(void **state)
{
	(void)state;
	unlink(NAME);
	harness_load(harness_built("modules/posixio.so"), harness_libc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	harness_unload();
	unlink(NAME);
	return 0;
}

static int made(const char *content)
{
	int fd = open(NAME, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void modes(void **state)
{
	struct stat st;
	mode_t mask = umask(0);
	int fd = WRAPPER(open)(NAME, O_CREAT | O_WRONLY, 0640);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	harness_expect("enter open path=\"" NAME "\" flags=%d", O_CREAT | O_WRONLY);
	harness_expect("leave open result=%d", fd);
	assert_int_equal(WRAPPER(close)(fd), 0);
	harness_expect("enter close fd=%d", fd);
	harness_expect("leave close result=0");

	fd = WRAPPER(openat)(AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0604);
	if (fd >= 0) { /* not every file system has it */
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0604);
		close(fd);
	}
	harness_expect("enter openat fd=%d path=\".\" flags=%d", AT_FDCWD, O_TMPFILE | O_RDWR);
	harness_expect("leave openat result=%d", fd);
	harness_expect_end();
	umask(mask);
}

static void transfers(void **state)
{
	char buf[16] = "";
	int fd = made("0123456789");

	(void)state;
	assert_int_equal(WRAPPER(read)(fd, buf, 4), 4);
	assert_memory_equal(buf, "0123", 4);
	harness_expect("enter read fd=%d requested=4", fd);
	harness_expect("leave read result=4 bytes=4");
	assert_int_equal(WRAPPER(pread)(fd, buf, sizeof(buf), 7), 3);
	harness_expect("enter pread fd=%d requested=16 offset=7", fd);
	harness_expect("leave pread result=3 bytes=3");
	assert_int_equal(WRAPPER(pwrite)(fd, "ab", 2, 1), 2);
	harness_expect("enter pwrite fd=%d requested=2 offset=1", fd);
	harness_expect("leave pwrite result=2 bytes=2");
	assert_int_equal(WRAPPER(lseek)(fd, -1, SEEK_END), 9);
	harness_expect("enter lseek fd=%d offset=-1 whence=%d", fd, SEEK_END);
	harness_expect("leave lseek result=9");
	assert_int_equal(WRAPPER(read)(fd, buf, 4), 1);
	assert_int_equal(WRAPPER(read)(fd, buf, 4), 0);
	harness_next();
	harness_expect("leave read result=1 bytes=1");
	harness_next();
	harness_expect("leave read result=0 bytes=0");
	errno = 0;
	assert_int_equal(WRAPPER(write)(-1, buf, 4), -1);
	assert_int_equal(errno, EBADF);
	harness_expect("enter write fd=-1 requested=4");
	harness_expect("leave write result=-1 bytes=0");
	harness_expect_end();
	close(fd);
}

static void vectors(void **state)
{
	char a[3], b[5];
	struct iovec v[2] = { { a, sizeof(a) }, { b, sizeof(b) } };
	int fd = made("0123456789");

	(void)state;
	assert_int_equal(WRAPPER(readv)(fd, v, 2), 8);
	assert_memory_equal(b, "34567", 5);
	harness_expect("enter readv fd=%d parts=2", fd);
	harness_expect("leave readv result=8 bytes=8");
	const struct iovec *volatile nowhere = (void *)1; /* volatile: the compiler would warn */
	errno = 0;
	assert_int_equal(WRAPPER(writev)(fd, nowhere, 2), -1);
	assert_int_equal(errno, EFAULT);
	harness_expect("enter writev fd=%d parts=2", fd);
	harness_expect("leave writev result=-1 bytes=0");
	harness_expect_end();
	close(fd);
}

static void copies(void **state)
{
	int in = made("0123456789");
	int pair[2];

	(void)state;
	assert_int_equal(WRAPPER(pipe)(pair), 0);
	harness_expect("enter pipe");
	harness_expect("leave pipe result=0 first=%d second=%d", pair[0], pair[1]);
	assert_int_equal(WRAPPER(sendfile)(pair[1], in, NULL, 6), 6);
	harness_expect("enter sendfile in=%d out=%d requested=6", in, pair[1]);
	harness_expect("leave sendfile result=6 bytes=6");
	assert_int_equal(WRAPPER(dup2)(in, pair[0]), pair[0]);
	harness_expect("enter dup2 fd=%d to=%d", in, pair[0]);
	harness_expect("leave dup2 result=%d", pair[0]);
	assert_int_equal(WRAPPER(fcntl)(in, F_SETFD, FD_CLOEXEC), 0);
	assert_int_equal(fcntl(in, F_GETFD), FD_CLOEXEC);
	harness_expect("enter fcntl fd=%d command=%d", in, F_SETFD);
	harness_expect("leave fcntl result=0");
	harness_expect_end();
	close(pair[0]);
	close(pair[1]);
	close(in);
}

/* A bad path is an error of the call, not the end of the program. */
static void bad_paths(void **state)
{
	const char *volatile null = NULL; /* volatile: the compiler would warn */
	struct stat st;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(page != MAP_FAILED);
	memset(page, 'p', 4096);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	errno = 0;
	assert_int_equal(WRAPPER(open)((char *)1, O_RDONLY), -1);
	assert_int_equal(errno, EFAULT);
	harness_expect("enter open path=\"\" flags=0");
	harness_expect("leave open result=-1");
	assert_int_equal(WRAPPER(stat)(null, &st), -1);
	assert_int_equal(errno, EFAULT);
	harness_expect("enter stat path=\"\"");
	harness_expect("leave stat result=-1");
	assert_int_equal(WRAPPER(unlink)(page + 4090), -1);
	assert_int_equal(errno, EFAULT);
	harness_expect("enter unlink path=\"pppppp\"");
	harness_expect("leave unlink result=-1");
	strcpy(page + 4090, "o.tmp");
	assert_int_equal(WRAPPER(access)(page + 4090, F_OK), -1);
	assert_int_equal(errno, ENOENT);
	harness_expect("enter access path=\"%s\" mode=0", "o.tmp");
	harness_expect("leave access result=-1");
	harness_expect_end();
	munmap(page, 4096);
}

static void names(void **state)
{
	struct stat st;
	int fd = made("x");

	(void)state;
	assert_int_equal(WRAPPER(rename)(NAME, NAME "2"), 0);
	harness_expect("enter rename path=\"" NAME "\" to=\"" NAME "2\"");
	harness_expect("leave rename result=0");
	assert_int_equal(WRAPPER(lstat)(NAME "2", &st), 0);
	assert_int_equal(st.st_size, 1);
	harness_expect("enter lstat path=\"" NAME "2\"");
	harness_expect("leave lstat result=0");
	assert_int_equal(WRAPPER(ftruncate)(fd, 100), 0);
	harness_expect("enter ftruncate fd=%d length=100", fd);
	harness_expect("leave ftruncate result=0");
	assert_int_equal(WRAPPER(fstat)(fd, &st), 0);
	assert_int_equal(st.st_size, 100);
	harness_expect("enter fstat fd=%d", fd);
	harness_expect("leave fstat result=0");
	assert_int_equal(WRAPPER(unlink)(NAME "2"), 0);
	harness_expect("enter unlink path=\"" NAME "2\"");
	harness_expect("leave unlink result=0");
	harness_expect_end();
	close(fd);
}

static void sockets(void **state)
{
	char buf[8];
	int s[2];
	struct pollfd p = { .events = POLLIN };

	(void)state;
	assert_int_equal(WRAPPER(socketpair)(AF_UNIX, SOCK_STREAM, 0, s), 0);
	harness_expect("enter socketpair domain=%d type=%d", AF_UNIX, SOCK_STREAM);
	harness_expect("leave socketpair result=0 first=%d second=%d", s[0], s[1]);
	assert_int_equal(WRAPPER(send)(s[0], "hello", 5, MSG_NOSIGNAL), 5);
	harness_expect("enter send fd=%d requested=5 flags=%d", s[0], MSG_NOSIGNAL);
	harness_expect("leave send result=5 bytes=5");
	p.fd = s[1];
	assert_int_equal(WRAPPER(poll)(&p, 1, -1), 1);
	harness_expect("enter poll fds=1 timeout_ms=-1 wait");
	harness_expect("leave poll result=1");
	assert_int_equal(WRAPPER(recv)(s[1], buf, sizeof(buf), 0), 5);
	assert_memory_equal(buf, "hello", 5);
	harness_expect("enter recv fd=%d requested=8 flags=0", s[1]);
	harness_expect("leave recv result=5 bytes=5");
	harness_expect_end();
	close(s[0]);
	close(s[1]);
}

static void streams(void **state)
{
	uint32_t words[4] = { 1, 2, 3, 4 };
	FILE *f = WRAPPER(fopen)(NAME, "w+");

	(void)state;
	assert_non_null(f);
	harness_expect("enter fopen path=\"" NAME "\" mode=\"w+\"");
	harness_expect("leave fopen result=%p", (void *)f);
	assert_int_equal(WRAPPER(fwrite)(words, 4, 3, f), 3);
	harness_expect("enter fwrite stream=%p size=4 items=3", (void *)f);
	harness_expect("leave fwrite result=3 bytes=12");
	assert_int_equal(WRAPPER(fseek)(f, 4, SEEK_SET), 0);
	harness_expect("enter fseek stream=%p offset=4 whence=0", (void *)f);
	harness_expect("leave fseek result=0");
	assert_int_equal(WRAPPER(fread)(words, 4, 4, f), 2);
	assert_int_equal(words[0], 2);
	harness_expect("enter fread stream=%p size=4 items=4", (void *)f);
	harness_expect("leave fread result=2 bytes=8");
	assert_int_equal(WRAPPER(fclose)(f), 0);
	harness_expect("enter fclose stream=%p", (void *)f);
	harness_expect("leave fclose result=0");
	harness_expect_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(modes, setup, teardown),
		cmocka_unit_test_setup_teardown(transfers, setup, teardown),
		cmocka_unit_test_setup_teardown(vectors, setup, teardown),
		cmocka_unit_test_setup_teardown(copies, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(names, setup, teardown),
		cmocka_unit_test_setup_teardown(sockets, setup, teardown),
		cmocka_unit_test_setup_teardown(streams, setup, teardown),
	};

	return cmocka_run_group_tests_name("modules_posixio", tests, NULL, NULL);
}
