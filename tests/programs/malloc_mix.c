// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Every way to get memory from the C library.  Blocks carry a pattern that is checked when they are
 * given back; a timer's handler does arithmetic alone, so that it may interrupt the allocator.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#define BLOCKS 256
#define STEPS 20000

#define CHECK(condition)                                                                       \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

struct block {
	unsigned char *p;
	size_t n;
	unsigned char mark;
};

static struct block blocks[BLOCKS];
static unsigned int seed = 1;
static unsigned long calls[6];
static volatile sig_atomic_t ticks;

static unsigned int pick(unsigned int below)
{
	seed = seed * 1103515245 + 12345;
	return seed / 65536 % below;
}

static void tick(int signal)
{
	(void)signal;
	ticks++;
}

static void give_back(struct block *b)
{
	for (size_t i = 0; i < b->n; i++)
		CHECK(b->p[i] == b->mark);
	free(b->p);
	b->p = NULL;
	calls[5]++;
}

static void get(struct block *b)
{
	unsigned int way = pick(4);

	b->n = pick(8) ? pick(512) + 1 : pick(300000) + 1;
	b->mark = (unsigned char)pick(256);
	calls[way]++;
	switch (way) {
	case 0:
		b->p = malloc(b->n);
		break;
	case 1:
		b->p = calloc(b->n, 1);
		for (size_t i = 0; b->p && i < b->n; i++)
			CHECK(b->p[i] == 0);
		break;
	case 2:
		CHECK(posix_memalign((void **)&b->p, 256, b->n) == 0);
		CHECK((uintptr_t)b->p % 256 == 0);
		break;
	default:
		b->p = aligned_alloc(64, (b->n + 63) / 64 * 64);
		CHECK((uintptr_t)b->p % 64 == 0);
	}
	CHECK(b->p);
	memset(b->p, b->mark, b->n);
}

static void resize(struct block *b)
{
	size_t n = pick(2000) + 1;
	unsigned char *p = realloc(b->p, n);

	CHECK(p);
	calls[4]++;
	for (size_t i = 0; i < n && i < b->n; i++)
		CHECK(p[i] == b->mark);
	memset(p, b->mark, n);
	b->p = p;
	b->n = n;
}

static void mappings(void)
{
	for (int i = 0; i < 10; i++) {
		char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		CHECK(p != MAP_FAILED);
		memset(p, i, 8192);
		p = mremap(p, 8192, 65536, MREMAP_MAYMOVE);
		CHECK(p != MAP_FAILED && p[8191] == i && p[8192] == 0);
		CHECK(munmap(p, 65536) == 0);
	}
	puts("mmap 10 mremap 10 munmap 10");
}

int main(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { 0 };

	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < STEPS; i++) {
		struct block *b = &blocks[pick(BLOCKS)];

		if (!b->p)
			get(b);
		else if (pick(3) == 0)
			resize(b);
		else
			give_back(b);
	}
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].p)
			give_back(&blocks[i]);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("malloc %lu calloc %lu posix_memalign %lu aligned_alloc %lu realloc %lu free %lu\n",
	       calls[0], calls[1], calls[2], calls[3], calls[4], calls[5]);
	CHECK(calls[0] + calls[1] + calls[2] + calls[3] == calls[5]);
	mappings();
	puts("ok");
	return 0;
}
