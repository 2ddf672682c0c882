/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: ends COUNT HOW: calls work(0) ... work(COUNT - 1), says so, ends as asked. The last call
 * is made right before the end, so that nothing has time to carry its event away.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

static void raise_by_default(int sig)
{
	signal(sig, SIG_DFL);
	kill(getpid(), sig);
	for (;;)
		pause();
}

static void *exit_thread(void *status)
{
	exit(*(int *)status);
}

static void end_by(const char *how, int last)
{
	static int three = 3;
	pthread_t thread;
	char **nowhere = NULL;

	HIDE(nowhere);
	if (strcmp(how, "thread") == 0) {
		work(last);
		pthread_create(&thread, NULL, exit_thread, &three);
		for (;;)
			pause();
	}
	if (strcmp(how, "leader") == 0) { /* the first thread ends, the process goes on */
		work(last);
		pthread_exit(NULL);
	}
	work(last);
	if (strcmp(how, "exit") == 0)
		exit(3);
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "quick") == 0)
		quick_exit(3);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "segv") == 0)
		*nowhere = "";
	if (strcmp(how, "exec") == 0)
		execl("/bin/sh", "sh", "-c", "echo executed; exit 5", (char *)NULL);
	if (strcmp(how, "tkill") == 0)
		syscall(SYS_tkill, syscall(SYS_gettid), SIGKILL);
	raise_by_default(atoi(how));
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	long sum = 0;

	for (int i = 0; i < n - 1; i++)
		sum += work(i);
	printf("%d calls, %ld\n", n, sum);
	fflush(stdout);
	if (strcmp(argv[2], "return") == 0)
		return work(n - 1) ? 3 : 4;
	end_by(argv[2], n - 1);
	return 9;
}
