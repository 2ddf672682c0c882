/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: steps: does what the lines of its standard input say, and then prints the line:
 *
 *	N	three threads call work() N times each
 *	main N	the first thread calls work() N times
 *	begin	calls begin_phase();  end: end_phase()
 *	enter	calls enclose(), which does what further lines say, up to
 *	leave	which is where that call returns
 *	segv	SIGSEGV;  abort: SIGABRT;  exit: _exit(5)
 *
 * Ends with status 7.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

#define HELPERS 2

static pthread_barrier_t barrier;
static volatile int calls; /* -1: the end */

OPAQUE void begin_phase(void)
{
	HIDE(calls);
}

OPAQUE void end_phase(void)
{
	HIDE(calls);
}

static void call_work(void)
{
	for (int i = 0; i < calls; i++)
		work(i);
}

static void *help(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&barrier);
		if (calls < 0)
			return arg;
		call_work();
		pthread_barrier_wait(&barrier);
	}
}

static void all_call(int n)
{
	calls = n;
	pthread_barrier_wait(&barrier);
	call_work();
	pthread_barrier_wait(&barrier);
}

static void call_alone(int n)
{
	calls = n;
	call_work();
}

static void follow_lines(void);

OPAQUE void enclose(void)
{
	follow_lines();
	HIDE(calls);
}

static int follow(const char *line)
{
	if (!strcmp(line, "begin"))
		begin_phase();
	else if (!strcmp(line, "end"))
		end_phase();
	else if (!strcmp(line, "enter"))
		enclose();
	else if (!strcmp(line, "leave"))
		return 0;
	else if (!strncmp(line, "main ", 5))
		call_alone(atoi(line + 5));
	else if (!strcmp(line, "segv"))
		raise(SIGSEGV);
	else if (!strcmp(line, "abort"))
		abort();
	else if (!strcmp(line, "exit"))
		_exit(5);
	else
		all_call(atoi(line));
	return 1;
}

static void follow_lines(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!follow(line))
			return;
		puts(line);
		fflush(stdout);
	}
}

int main(void)
{
	pthread_t helpers[HELPERS];

	pthread_barrier_init(&barrier, NULL, HELPERS + 1);
	for (int i = 0; i < HELPERS; i++)
		pthread_create(&helpers[i], NULL, help, NULL);
	follow_lines();
	calls = -1;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < HELPERS; i++)
		pthread_join(helpers[i], NULL);
	return 7;
}
