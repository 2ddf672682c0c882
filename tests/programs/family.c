/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that forks children again and again: they compute, and end. One of them, the companion, runs on, and is replaced
 * by another one from time to time, which is said. It ends when a line comes from standard input, and says whether all results were right.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opaque.h"

#define ROUNDS 200 /* that a companion runs */

OPAQUE unsigned long compute(unsigned long n)
{
	return n < 2 ? n : compute(n - 1) + compute(n - 2);
}

OPAQUE int is_right(void)
{
	return compute(12) == 144;
}

static volatile sig_atomic_t over;

static void stop(int sig)
{
	(void)sig;
	over = 1;
}

OPAQUE int ends_well(pid_t pid)
{
	int status = 1;

	return waitpid(pid, &status, 0) == pid && status == 0;
}

OPAQUE pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(is_right() ? 0 : 1);
	return pid;
}

OPAQUE pid_t start_companion(void)
{
	pid_t pid = fork();
	int right = 1;

	if (pid)
		return pid;
	while (!over)
		right &= is_right();
	_exit(right ? 0 : 1);
}

static int ends_when_told(pid_t companion)
{
	kill(companion, SIGTERM);
	return ends_well(companion);
}

int main(void)
{
	struct pollfd line = { .fd = STDIN_FILENO, .events = POLLIN };
	pid_t companion;
	int right = 1;

	signal(SIGTERM, stop);
	companion = start_companion();
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	for (int i = 1; poll(&line, 1, 1) == 0; i++) {
		right &= is_right() & ends_well(start_child());
		if (i % ROUNDS == 0) {
			right &= ends_when_told(companion);
			companion = start_companion();
			(void)!write(STDOUT_FILENO, "another one\n", 12);
		}
	}
	right &= ends_when_told(companion);
	puts(right ? "right" : "wrong");
	return 0;
}
