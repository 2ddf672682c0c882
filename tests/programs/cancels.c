/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: cancels N: N threads each end inside of inner(), called by middle(), called by outer(), by
 * turns cancelled and by pthread_exit(): both unwind the stack through all callers and run what
 * they have registered. inner() also looks at its backtrace.
 */
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "work.h"

static int cleaned, frames;

static void clean(void *arg)
{
	__atomic_fetch_add(&cleaned, *(int *)arg, __ATOMIC_RELAXED);
}

OPAQUE int inner(int i)
{
	void *where[64];
	int n = backtrace(where, 64);

	__atomic_fetch_add(&frames, n >= 5, __ATOMIC_RELAXED);
	if (i % 2)
		pthread_exit((void *)(long)i);
	for (;;)
		pause();
	return i;
}

OPAQUE int middle(int i)
{
	int one = 1, r;

	pthread_cleanup_push(clean, &one);
	r = inner(i) + 1;
	pthread_cleanup_pop(0);
	HIDE(r);
	return r;
}

OPAQUE int outer(int i)
{
	int thousand = 1000, r;

	pthread_cleanup_push(clean, &thousand);
	r = middle(i) + 1;
	pthread_cleanup_pop(0);
	HIDE(r);
	return r;
}

static void *thread(void *arg)
{
	outer((int)(long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), cancelled = 0;
	long sum = 0;
	pthread_t id;
	void *result, *where[4];

	backtrace(where, 4); /* loads what it needs now, not in a thread to be cancelled */
	for (long i = 0; i < n; i++) {
		pthread_create(&id, NULL, thread, (void *)i);
		if (i % 2 == 0)
			pthread_cancel(id);
		pthread_join(id, &result);
		cancelled += result == PTHREAD_CANCELED;
		sum += result == PTHREAD_CANCELED ? 0 : (long)result;
	}
	work(0);
	printf("%d cancelled, sum %ld, cleaned %d, %s\n", cancelled, sum, cleaned,
	       frames ? "backtraces" : "no backtraces");
	return 0;
}
