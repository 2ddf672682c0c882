/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: brief THREADS RATE CALLS: so many threads, RATE of them a second (0: as fast as can be), each of which calls work()
 * CALLS times and ends. Prints how many calls there were; on standard error, how many threads there were at a time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "work.h"

static long calls, made, running;

static void *run(void *arg)
{
	long n = 0;

	for (; n < calls; n++)
		work((int)n);
	__atomic_fetch_add(&made, n, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return arg;
}

static void wait_until(struct timespec *t, long ns)
{
	t->tv_nsec += ns;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL);
}

int main(int argc, char **argv)
{
	long threads = argc == 4 ? atol(argv[1]) : 0, rate = argc == 4 ? atol(argv[2]) : 0, now, most = 0;
	pthread_attr_t detached;
	struct timespec next;
	pthread_t t;

	if (threads < 1 || rate < 0)
		return 2;
	calls = atol(argv[3]);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < threads; i++) {
		now = __atomic_add_fetch(&running, 1, __ATOMIC_RELAXED);
		most = now > most ? now : most;
		while (pthread_create(&t, &detached, run, NULL) != 0)
			wait_until(&next, 1000000);
		if (rate)
			wait_until(&next, 1000000000 / rate);
	}
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE))
		wait_until(&next, 1000000);
	printf("%ld calls\n", made);
	fprintf(stderr, "at most %ld threads at a time\n", most);
	return 4;
}
