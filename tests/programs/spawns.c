/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: spawns N: N times a vfork whose child calls work() in the parent's memory, a posix_spawn, a
 * system(); one call of work() after each, and one before all: 6 N + 1 calls in all, of this process.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

extern char **environ;

static int run_vfork(int i)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		work(i);
		work(i + 1);
		execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int run_vfork_exit(int i)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		work(i);
		_exit(4);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int run_spawn(void)
{
	char *argv[] = { "sh", "-c", "exit 5", NULL };
	int status;
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) != 0)
		return -1;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), sum = 0;

	work(n);
	for (int i = 0; i < n; i++) {
		sum += run_vfork(i);
		work(i);
		sum += run_vfork_exit(i);
		sum += run_spawn();
		work(i);
		sum += WEXITSTATUS(system("exit 6"));
		work(i);
	}
	printf("sum %d\n", sum);
	return 0;
}
