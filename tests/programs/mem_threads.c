/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_threads: threads of POSIX and C11 with their own data; each does the same whenever it runs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include "work.h"

static __thread int own[64], *where;
static _Thread_local long sum;
static int shared[8][64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static _Atomic int counter;
static long all;
static pthread_key_t key;

OPAQUE long rounds(int id, int n)
{
	for (int i = 0; i < n; i++) {
		own[i & 63] += id;
		where = &own[(i * 7) & 63];
		sum += *where + shared[id][i & 63]++;
		counter++;
	}
	return sum;
}

OPAQUE void *thread(void *arg)
{
	int id = (int)(long)arg, *mine = malloc(100 * sizeof(int));

	pthread_setspecific(key, mine);
	rounds(id, 30 + id);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++)
		mine[i] = shared[(id + 1) % 4][i & 31];
	pthread_mutex_lock(&mutex);
	all += rounds(id, 3);
	pthread_mutex_unlock(&mutex);
	if (id == 2)
		pthread_exit(mine);
	return mine;
}

OPAQUE int c11(void *arg)
{
	int v[20];

	for (int i = 0; i < 20; i++)
		v[i] = shared[5][i] = *(int *)arg + i;
	rounds(6, v[3] & 15);
	return v[7];
}

/* Its only address has zeros at its end where programs are at fixed places. */
OPAQUE void *reads(void *p)
{
	return (void *)((long)*(int *)p * 7919 + 123456);
}

OPAQUE void drop(void *mine)
{
	((int *)mine)[3]++;
	free(mine);
}

int main(void)
{
	pthread_t t[4];
	thrd_t other;
	int result, five = 5;

	pthread_key_create(&key, drop);
	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	rounds(4, 20);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 3; i++) {
		thrd_create(&other, c11, &five);
		thrd_join(other, &result);
		five += result;
	}
	pthread_create(&t[0], NULL, reads, &shared[5][3]);
	pthread_join(t[0], NULL);
	printf("%ld %d %d\n", all, counter, result);
	return 0;
}
