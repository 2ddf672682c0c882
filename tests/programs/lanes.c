// SPDX-License-Identifier: GPL-3.0-or-later
/* Threads, each on a stack of its own at a known place, that write much of what they access: argv: threads, times. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 20000, MOST = 16, STACK = 65536 };

static _Alignas(4096) char stacks[MOST][STACK];
static int from[WORDS];

static __attribute__((noinline)) int work(int times, int seed)
{
	volatile int sum[64] = { 0 };
	int all = 0;

	for (int k = 0; k < times; k++)
		for (int i = 0; i < WORDS; i++)
			sum[(from[i] + seed) & 63] += i;
	for (int i = 0; i < 64; i++)
		all ^= sum[i] * i;
	return all;
}

static void *thread(void *arg)
{
	int *n = arg;

	n[1] = work(n[0], n[2]);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = atoi(argv[1]), n[MOST][3];
	pthread_t t[MOST];

	for (int i = 0; i < WORDS; i++)
		from[i] = rand();
	for (int i = 0; i < threads; i++) {
		pthread_attr_t attr;

		n[i][0] = atoi(argv[argc > 3 ? 2 + i % (argc - 2) : 2]);
		n[i][2] = i;
		pthread_attr_init(&attr);
		pthread_attr_setstack(&attr, stacks[i], STACK);
		pthread_create(&t[i], &attr, thread, n[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		printf("%d\n", n[i][1]);
	}
	return 0;
}
