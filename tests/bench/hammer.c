// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: hammer THREADS CALLS
 *
 * Each thread calls empty() CALLS times, all at the same time.  Prints the CPU time of the process in
 * milliseconds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define MAX_THREADS 64

int empty(int);

static long calls;

static void *hammer(void *arg)
{
	for (long i = 0; i < calls; i++)
		empty(-1);
	return arg;
}

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_THREADS];
	int n = argc == 3 ? atoi(argv[1]) : 0;
	struct rusage usage;

	if (n < 1 || n > MAX_THREADS)
		return 2;
	calls = atol(argv[2]);
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, hammer, NULL) != 0)
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	getrusage(RUSAGE_SELF, &usage);
	printf("%.2f\n", ms(usage.ru_utime) + ms(usage.ru_stime));
	return 0;
}
