/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: waits file|signals: makes 1,000 calls of work(), says "ready", waits for a file "go"; with
 * "signals" it says which it gets. Then 41,000 more calls, in itself, in a thread and in a child.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static int made;

static void calls(int n)
{
	for (int i = 0; i < n; i++)
		made += work(i) > 0;
}

static void *thread_calls(void *arg)
{
	calls(20000);
	return arg;
}

static void say(int sig)
{
	char text[] = "got  0\n";

	text[4] = sig >= 10 ? '0' + sig / 10 : '0' + sig % 10;
	text[5] = sig >= 10 ? '0' + sig % 10 : '\n';
	if (write(1, text, sig >= 10 ? 7 : 6) < 0)
		_exit(1);
}

static void handle_all(void)
{
	static const int sigs[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH };
	struct sigaction act = { .sa_handler = say, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &act, NULL);
}

int main(int argc, char **argv)
{
	int status, n = 0;
	pthread_t thread;

	if (strcmp(argv[1], "signals") == 0)
		handle_all();
	calls(1000);
	puts("ready");
	fflush(stdout);
	while (access("go", F_OK) != 0 && n++ < 6000)
		usleep(10000);
	pthread_create(&thread, NULL, thread_calls, NULL);
	pthread_join(thread, NULL);
	calls(20000);
	if (fork() == 0) {
		made = 0;
		calls(1000);
		_exit(made == 1000 ? 0 : 1);
	}
	wait(&status);
	made += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1000 : 0;
	printf("status %d, %d calls\n", WEXITSTATUS(status), made);
	return 0;
}
