/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: threads SHORT CONCURRENT CALLS: SHORT threads one after the other, then CONCURRENT ones of
 * which none ends before all have begun. Thread k calls work() CALLS + k times, with 1000 * k + i.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static pthread_barrier_t barrier;
static int calls;

static void *worker(void *arg)
{
	int k = (int)(long)arg;
	long sum = 0;

	for (int i = 0; i < calls + k; i++)
		sum += work(1000 * k + i);
	return (void *)sum;
}

static void *concurrent(void *arg)
{
	void *sum;

	pthread_barrier_wait(&barrier);
	sum = worker(arg);
	pthread_barrier_wait(&barrier);
	return sum;
}

int main(int argc, char **argv)
{
	int nshort = atoi(argv[1]), n = atoi(argv[2]);
	pthread_t *threads = calloc(n, sizeof(*threads));
	long sum = 0;
	void *one;

	calls = atoi(argv[3]);
	for (long k = 0; k < nshort; k++) {
		pthread_create(&threads[0], NULL, worker, (void *)k);
		pthread_join(threads[0], &one);
		sum += (long)one;
	}
	pthread_barrier_init(&barrier, NULL, n ? n : 1);
	for (long k = 0; k < n; k++)
		if (pthread_create(&threads[k], NULL, concurrent, (void *)k) != 0)
			return 1;
	for (int k = 0; k < n; k++) {
		pthread_join(threads[k], &one);
		sum += (long)one;
	}
	printf("sum %ld\n", sum);
	return 0;
}
