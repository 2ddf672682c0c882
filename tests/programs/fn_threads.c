/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_threads: a few threads, each with its own calls; thread-local variables, destructors, once. */
#include <pthread.h>
#include <stdio.h>

#include "work.h"

#define THREADS 4

static __thread int mine;
static pthread_key_t key;
static long results[THREADS];

OPAQUE int twice(int i)
{
	mine += i;
	return work(i) + work(i + 1);
}

OPAQUE void done(void *p)
{
	results[(long)p - 1] += work(7);
}

OPAQUE void *body(void *arg)
{
	long n = (long)arg, sum = 0;

	pthread_setspecific(key, arg);
	for (int i = 0; i < 3 + n; i++)
		sum = sum * 31 + twice(i);
	results[n - 1] = sum + mine;
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	long sum = 0;

	pthread_key_create(&key, done);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, body, (void *)(i + 1));
	sum += twice(5);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < THREADS; i++)
		sum = sum * 31 + results[i];
	printf("%ld\n", sum);
	return 0;
}
