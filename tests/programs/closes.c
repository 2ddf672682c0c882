/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: closes FILE COUNT: closes every descriptor, whether it knows of it or not, in all the ways
 * that daemons do; works before, between and after; writes into FILE what it has done.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static int count;

static void *calls(void *arg)
{
	for (int i = 0; i < count; i++)
		work(i);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int fd, sum = 0;

	count = atoi(argv[2]);
	calls(NULL);
	for (fd = 0; fd < 4096; fd++)
		sum += close(fd) == 0;
	calls(NULL);
	closefrom(0);
	calls(NULL);
	pthread_create(&thread, NULL, calls, NULL); /* needs a buffer of its own now */
	pthread_join(thread, NULL);
	if (fork() == 0) {
		calls(NULL);
		_exit(0);
	}
	wait(NULL);
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	dprintf(fd, "closed %d, the next one is %d\n", sum, fd);
	calls(NULL);
	return 0;
}
