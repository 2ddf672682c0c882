// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: paced PROCESSES EVENTS SECONDS [execute]
 *
 * PROCESSES children of two threads each, which are forked, or with "execute" execute this program anew.  Each thread calls
 * empty(), two events a call, so that it makes EVENTS a second for SECONDS; who is late does not leave calls out.  Prints how
 * many calls were made in all, and the wall time in milliseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ITERATION_NS 10000000L /* 10 ms */
#define SECOND 1000000000L
#define THREADS 2

int empty(int);

static long calls; /* in an iteration */
static long iterations;

static void *run(void *arg)
{
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < iterations; i++) {
		for (long k = 0; k < calls; k++)
			empty(-1);
		next.tv_nsec += ITERATION_NS;
		if (next.tv_nsec >= SECOND) {
			next.tv_nsec -= SECOND;
			next.tv_sec++;
		}
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
			;
	}
	return arg;
}

static int one(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static double ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 0, status, good = 1;
	double began = ms();

	if (n < 1)
		return 2;
	calls = (long)(atol(argv[2]) * (ITERATION_NS / 1000) / (SECOND / 1000) / 2);
	iterations = atol(argv[3]) * (SECOND / ITERATION_NS);
	if (argc == 5 && strcmp(argv[4], "child") == 0)
		return one();
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0 && argc == 4)
			_exit(one());
		if (pid == 0) {
			execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], "child", (char *)NULL);
			_exit(127);
		}
		good &= pid > 0;
	}
	while (wait(&status) > 0)
		good &= status == 0;
	printf("%ld %.0f\n", n * THREADS * iterations * calls, ms() - began);
	return !good;
}
