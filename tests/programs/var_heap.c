// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks of the heap, whose memory is used again and again by others; each line of its output is an allocation's source line, a tabulator, and
 * how many accesses were to its blocks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int expected[1000];

static void touch(volatile char *p, size_t n, int line)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)i;
	expected[line] += (int)n;
}

#define ALLOCATE(to, how) do { (to) = how; line = __LINE__; } while (0)

static volatile size_t size = 100;

/* The same block again and again, for the one and for the other. */
static void in_turns(void)
{
	for (int i = 0; i < 200; i++) {
		void *p;
		int line;

		ALLOCATE(p, malloc(size));
		touch(p, 3, line);
		free(p);
		ALLOCATE(p, calloc(1, size));
		touch(p, 5, line);
		free(p);
	}
}

static void grows(void)
{
	void *p = malloc(10);
	int line = __LINE__ - 1;

	touch(p, 10, line);
	for (int i = 1; i < 50; i++) {
		ALLOCATE(p, realloc(p, 10 + 100 * (size_t)i));
		touch(p, (size_t)i, line);
	}
	free(p);
}

static void others(void)
{
	void *p;
	int line;

	if (posix_memalign(&p, 64, 1000) == 0) line = __LINE__; else return;
	touch(p, 1000, line);
	free(p);
	ALLOCATE(p, aligned_alloc(64, 640));
	touch(p, 640, line);
	free(p);
	p = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	touch(p, 5000, 0); /* who calls mmap() is not always known */
	munmap(p, 100000);
}

static void many(void)
{
	static void *v[3000];
	int line = 0;

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 3000; i++)
			ALLOCATE(v[i], malloc(16 + (i * 7) % 300));
		for (size_t i = 0; i < 3000; i++)
			touch(v[i], 2, line);
		for (size_t i = 0; i < 3000; i++)
			free(v[(i * 1001) % 3000]);
	}
}

/* Allocated by one, used by another, freed by the first. */
static void *use(void *p)
{
	volatile char *c = p;

	for (int i = 0; i < 50; i++)
		c[i] = 1;
	return NULL;
}

static void handed_over(void)
{
	pthread_t t;
	void *p;
	int line;

	ALLOCATE(p, malloc(70000));
	expected[line] += 50;
	if (pthread_create(&t, NULL, use, p) == 0)
		pthread_join(t, NULL);
	free(p);
}

int main(void)
{
	in_turns();
	grows();
	others();
	many();
	handed_over();
	for (int i = 1; i < 1000; i++)
		if (expected[i])
			printf("%d\t%d\n", i, expected[i]);
	return 0;
}
