/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: forks CHILDREN: child i calls work() i + 1 times and ends in one of five ways; every tenth
 * also forks a grandchild that makes 7 calls. The parent makes 11 calls before and 13 after. One
 * child in five has a thread that makes 3 calls. Prints how many calls were made.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static void calls(int n)
{
	for (int i = 0; i < n; i++)
		work(i);
}

static void *three_calls(void *arg)
{
	calls(3);
	return arg;
}

static void grandchild(void)
{
	if (fork() == 0) {
		calls(7);
		_exit(0);
	}
	wait(NULL);
}

static void child(int i)
{
	pthread_t thread;

	if (i % 10 == 0)
		grandchild();
	if (i % 5 == 4) {
		pthread_create(&thread, NULL, three_calls, NULL);
		pthread_join(thread, NULL);
	}
	calls(i + 1);
	if (i % 5 == 1)
		_exit(i);
	if (i % 5 == 2)
		kill(getpid(), SIGKILL);
	if (i % 5 == 3)
		execl("/bin/true", "true", (char *)NULL);
	exit(i);
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), status, killed = 0, sum = 0, made = 24;

	calls(11);
	for (int i = 0; i < n; i++) {
		if (fork() == 0)
			child(i);
		made += i + 1 + (i % 10 == 0 ? 7 : 0) + (i % 5 == 4 ? 3 : 0);
	}
	while (wait(&status) > 0) {
		killed += WIFSIGNALED(status);
		sum += WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	}
	calls(13);
	printf("%d calls, %d killed, statuses %d\n", made, killed, sum);
	return 0;
}
