// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Executes a program, in one of many ways:
 *
 *	executes HOW PROGRAM [ARGUMENT]...
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char **args;

static int fail(void)
{
	printf("%s: %s\n", args[0], strerror(errno));
	return 3;
}

static int by_execve(void)
{
	execve(args[0], args, environ);
	return fail();
}

static int by_execvp(void)
{
	execvp(args[0], args);
	return fail();
}

static int by_fexecve(void)
{
	int fd = open(args[0], O_RDONLY | O_CLOEXEC);

	fexecve(fd, args, environ);
	return fail();
}

static int by_execveat(void)
{
	char *name = strrchr(args[0], '/');
	int dir;

	*name++ = '\0';
	dir = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	syscall(SYS_execveat, dir, name, args, environ, 0);
	return fail();
}

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return fail();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve(args[0], args, environ);
		_exit(4);
	}
	return wait_for(pid);
}

static int by_spawn(void)
{
	pid_t pid;

	errno = posix_spawnp(&pid, args[0], NULL, NULL, args, environ);
	return errno ? fail() : wait_for(pid);
}

static void *in_thread(void *arg)
{
	*(int *)arg = by_execve();
	return NULL;
}

static int by_thread(void)
{
	pthread_t thread;
	int status = 0;

	pthread_create(&thread, NULL, in_thread, &status);
	pthread_join(thread, NULL);
	return status;
}

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Under a timer that the new program does not have any more: it is a signal's default action that would end it. */
static int by_signals(void)
{
	struct sigaction act = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerspec often = { { 0, 100000 }, { 0, 100000 } };
	timer_t timer;

	sigaction(SIGALRM, &act, NULL);
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	timer_settime(timer, 0, &often, NULL);
	while (ticks < 10)
		;
	for (int i = 0; i < 20; i++)
		(void)by_spawn();
	return by_vfork();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*how)(void);
	} ways[] = {
		{ "execve", by_execve }, { "execvp", by_execvp },   { "fexecve", by_fexecve }, { "execveat", by_execveat },
		{ "vfork", by_vfork },	 { "spawn", by_spawn },	    { "thread", by_thread },   { "signals", by_signals },
	};

	args = argv + 2;
	for (size_t i = 0; argc > 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			return ways[i].how();
	return 2;
}
