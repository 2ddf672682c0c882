/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: outlives CALLS FILE: calls work() once and ends with status 3 at once; a daemon that was forked twice, with
 * no file open, waits until there is no file named FILE any more, calls work() so often, and makes FILE-done.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "work.h"

static void be_daemon(int calls, const char *file)
{
	char done[4096];

	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	snprintf(done, sizeof(done), "%s-done", file);
	while (access(file, F_OK) == 0)
		usleep(1000);
	for (int i = 0; i < calls; i++)
		work(i);
	_exit(open(done, O_CREAT | O_WRONLY, 0600) < 0);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	work(0);
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			be_daemon(atoi(argv[1]), argv[2]);
		_exit(0);
	}
	return 3;
}
