// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Variables on a thread's stack that other threads access; says how often each is accessed.  Afterwards other functions have other variables at the same
 * addresses, which no other thread accesses.
 */
#include <pthread.h>
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))
#define THREADS 3
#define N 1000

struct job {
	volatile long sum;
	volatile long *table;
};

KEEP static void *work(void *arg)
{
	struct job *job = arg;
	volatile long *table = job->table;
	long sum = 0;

	for (int i = 0; i < N; i++) {
		sum += table[i];
		job->sum = sum;
	}
	return NULL;
}

KEEP static long shares(void)
{
	volatile long table[N];
	struct job jobs[THREADS];
	pthread_t thread[THREADS];
	long all = 0;

	for (int i = 0; i < N; i++)
		table[i] = i;
	for (int i = 0; i < THREADS; i++) {
		jobs[i].sum = 0;
		jobs[i].table = table;
		pthread_create(&thread[i], NULL, work, &jobs[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++)
		all += jobs[i].sum;
	return all;
}

/* From a thread that is not the first one. */
KEEP static void *shares_too(void *arg)
{
	*(volatile long *)arg = shares();
	return NULL;
}

int main(void)
{
	volatile long result = 0;
	pthread_t t;

	pthread_create(&t, NULL, shares_too, (void *)&result);
	pthread_join(t, NULL);
	if (shares() != result)
		return 1;
	printf("table[] in shares\t%d\n", 2 * (N + THREADS * N));
	/* set to 0, and to each sum, read at the end */
	printf("jobs[].sum in shares\t%d\n", 2 * (THREADS * (1 + N) + THREADS));
	printf("jobs[].table in shares\t%d\n", 2 * 2 * THREADS);
	printf("result in main\t%d\n", 3);
	return 0;
}
