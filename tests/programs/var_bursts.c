// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks that are allocated and freed all the time by two threads, whose memory is used alternately: each use_*() accesses blocks of one make_*()
 * alone, so that of any part of a run it is known what was accessed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))
#define LONGS 40
#define KEPT 64

static __thread long *kept[KEPT];

KEEP static long *make_odd(void)
{
	return malloc(LONGS * sizeof(long));
}

KEEP static long *make_even(void)
{
	return calloc(LONGS, sizeof(long));
}

KEEP static long *make_kept(void)
{
	return malloc(LONGS * sizeof(long));
}

KEEP static long *make_grown(long *p, size_t n)
{
	return realloc(p, n * sizeof(long));
}

#define USE(name)                                                  \
	KEEP static void name(volatile long *p, size_t n)           \
	{                                                          \
		for (size_t i = 0; i < n; i++)                     \
			p[i] = (long)i;                            \
		for (int k = 0; k < 3; k++)                        \
			for (size_t i = 1; i < n; i++)             \
				p[i] += p[i - 1];                  \
	}

USE(use_odd)
USE(use_even)
USE(use_kept)
USE(use_grown)

/* Each lives through a few rounds. */
static void keep(unsigned int round)
{
	long **p = &kept[round % KEPT];

	free(*p);
	*p = make_kept();
	use_kept(*p, LONGS);
	use_kept(kept[(round * 7 + 1) % KEPT] ? kept[(round * 7 + 1) % KEPT] : *p, LONGS);
}

static void *run(void *arg)
{
	const unsigned int rounds = *(const unsigned int *)arg;
	long *p, *grown = NULL;

	for (unsigned int i = 0; i < rounds; i++) {
		p = make_odd();
		use_odd(p, LONGS);
		free(p);
		p = make_even();
		use_even(p, LONGS);
		free(p);
		keep(i);
		if (i % 100 == 99) {
			free(grown);
			grown = NULL;
		}
		grown = make_grown(grown, 10 + i % 100);
		use_grown(grown, 10 + i % 100);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1000;
	pthread_t other;

	if (pthread_create(&other, NULL, run, &rounds) != 0)
		return 1;
	run(&rounds);
	pthread_join(other, NULL);
	puts("done");
	return 0;
}
