/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that waits in a system call, made by syscall(), for as long as it is told to: line "in": it begins to wait;
 * "out": it goes on.  An empty line ends all.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "opaque.h"

static int begin[2], go_on[2];
static long rounds, wrong;

OPAQUE long wait_within(void)
{
	char c = 0;
	struct iovec v = { .iov_base = &c, .iov_len = 1 };

	return syscall(SYS_readv, go_on[0], &v, 1) + c;
}

static void *run(void *arg)
{
	char c;

	while (read(begin[0], &c, 1) == 1 && c == 'i') {
		wrong += wait_within() != 'o' + 1;
		rounds++;
	}
	return arg;
}

int main(void)
{
	char line[8];
	pthread_t t;
	ssize_t n;

	if (pipe(begin) < 0 || pipe(go_on) < 0 || pthread_create(&t, NULL, run, NULL) != 0)
		return 1;
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	while ((n = read(STDIN_FILENO, line, sizeof(line))) > 1)
		(void)!write(line[0] == 'i' ? begin[1] : go_on[1], line, 1);
	(void)!write(begin[1], "e", 1);
	pthread_join(t, NULL);
	printf("rounds %ld, wrong %ld\n", rounds, wrong);
	return 0;
}
