// SPDX-License-Identifier: MIT
/*
 * usage: layouts PATTERN VARIANT [ROUNDS]: two threads that work on the same objects in rounds between barriers, laid out in one way or in another.  Prints a
 * sum, which is the same for all variants of a pattern.
 *
 * items  plain, split     one thread reads keys, the other one counts hits; split: hits are in an array of their own
 * cells  plain, soa       one thread updates member a, the other one b; soa: a structure of arrays
 * bodies plain, soa       each thread updates every other element, a line each; soa makes that worse
 * outers plain, split     structures with arrays of structures in them, whose member is taken out
 * sums   plain, padded    40 bytes of sums for each thread; padded: each at a line's begin
 * hits   plain, padded    a counter for each thread, in a structure with another one
 * itemsheap, cellsheap    as items and cells, in blocks of the heap
 * owned  plain, padded    blocks of the heap that are next to each other, each of one thread alone; padded: a line each
 * pages  main, own        a block that the main thread, or each thread for its part, stores to first; then each uses its part
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64
#define N 509 /* arrays do not end where lines do */

static int rounds = 20;
static pthread_barrier_t barrier;

#define ALIGNED __attribute__((aligned(LINE)))

/* ---- items ---- */

struct item {
	volatile uint64_t key, hits;
	volatile uint32_t flags;
	volatile uint64_t rest;
};

struct cool {
	volatile uint64_t key;
	volatile uint32_t flags;
	volatile uint64_t rest;
};

static struct item items[N] ALIGNED;
static struct cool cools[N] ALIGNED;
static volatile uint64_t hits_of[N] ALIGNED;

static uint64_t found;

static void items_plain(struct item *v, size_t thread)
{
	for (size_t i = 0; i < N; i++) {
		if (!thread) {
			found += v[i].key;
			continue;
		}
		v[i].hits++;
		if (i % 16 == 0)
			v[i].flags ^= 1;
	}
}

static void items_split(struct cool *v, volatile uint64_t *hits, size_t thread)
{
	for (size_t i = 0; i < N; i++) {
		if (!thread) {
			found += v[i].key;
			continue;
		}
		hits[i]++;
		if (i % 16 == 0)
			v[i].flags ^= 1;
	}
}

static void run_items(size_t thread) { items_plain(items, thread); }
static void run_items_split(size_t thread) { items_split(cools, hits_of, thread); }

static struct item *heap_items;
static struct cool *heap_cools;
static volatile uint64_t *heap_hits;

static void run_heap_items(size_t thread)
{
	struct item *v = heap_items;

	items_plain(v, thread);
}

static void run_heap_items_split(size_t thread) { items_split(heap_cools, heap_hits, thread); }

/* ---- cells ---- */

struct cell {
	volatile double a, b;
	volatile float c;
};

struct cells {
	volatile double a[N], b[N];
	volatile float c[N];
};

static struct cell cell[N] ALIGNED;
static struct cells cells ALIGNED;

static void cells_plain(struct cell *v, size_t thread)
{
	for (size_t i = 0; i < N; i++) {
		if (thread)
			v[i].b += (double)v[i].c;
		else
			v[i].a += (double)v[i].c;
	}
}

static void cells_soa(struct cells *v, size_t thread)
{
	for (size_t i = 0; i < N; i++) {
		if (thread)
			v->b[i] += (double)v->c[i];
		else
			v->a[i] += (double)v->c[i];
	}
}

static struct cell *heap_cell;
static struct cells *heap_cells;

static void run_cells(size_t thread) { cells_plain(cell, thread); }
static void run_cells_soa(size_t thread) { cells_soa(&cells, thread); }
static void run_heap_cells(size_t thread) { cells_plain(heap_cell, thread); }
static void run_heap_cells_soa(size_t thread) { cells_soa(heap_cells, thread); }

/* ---- bodies ---- */

struct body {
	volatile double x, y, z, vx, vy, vz, m, q;
};

struct bodies {
	volatile double x[N], y[N], z[N], vx[N], vy[N], vz[N], m[N], q[N];
};

static struct body body[N] ALIGNED;
static struct bodies bodies ALIGNED;

static void run_bodies(size_t thread)
{
	for (size_t i = thread; i < N; i += 2) {
		body[i].x += body[i].vx;
		body[i].y += body[i].vy;
		body[i].z += body[i].m;
	}
}

static void run_bodies_soa(size_t thread)
{
	for (size_t i = thread; i < N; i += 2) {
		bodies.x[i] += bodies.vx[i];
		bodies.y[i] += bodies.vy[i];
		bodies.z[i] += bodies.m[i];
	}
}

/* ---- outers ---- */

struct pair {
	volatile uint64_t left, right;
};

struct outer {
	volatile uint32_t id;
	struct pair two[2];
};

struct lefts {
	volatile uint32_t id;
	volatile uint64_t left[2];
};

static struct outer outers[N] ALIGNED;
static struct lefts lefts[N] ALIGNED;
static volatile uint64_t rights[N][2] ALIGNED;

static void run_outers(size_t thread)
{
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < 2; k++) {
			if (thread)
				outers[i].two[k].right++;
			else
				outers[i].two[k].left += outers[i].id;
		}
}

static void run_outers_split(size_t thread)
{
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < 2; k++) {
			if (thread)
				rights[i][k]++;
			else
				lefts[i].left[k] += lefts[i].id;
		}
}

/* ---- sums, hits ---- */

struct sums {
	volatile uint64_t x, y, xx, yy, xy;
};

static struct sums sums[2] ALIGNED;
static struct {
	struct sums of ALIGNED;
} padded_sums[2];

static void add_sums(struct sums *s, uint64_t x, uint64_t y)
{
	s->x += x;
	s->y += y;
	s->xx += x * x;
	s->yy += y * y;
	s->xy += x * y;
}

static void run_sums(size_t thread)
{
	for (uint64_t i = 0; i < N; i++)
		add_sums(&sums[thread], i, thread);
}

static void run_sums_padded(size_t thread)
{
	for (uint64_t i = 0; i < N; i++)
		add_sums(&padded_sums[thread].of, i, thread);
}

static struct {
	volatile uint64_t both, each[2];
} hits ALIGNED;
static struct {
	volatile uint64_t both;
	struct {
		volatile uint64_t n ALIGNED;
	} each[2];
} padded_hits ALIGNED;

/* One thread stores to what the other one loads. */
static void run_hits(size_t thread)
{
	for (int i = 0; i < N; i++) {
		hits.each[thread]++;
		if (i % 8 != 0)
			continue;
		if (thread)
			found += hits.both & 1;
		else
			hits.both += 2;
	}
}

static void run_hits_padded(size_t thread)
{
	for (int i = 0; i < N; i++) {
		padded_hits.each[thread].n++;
		if (i % 8 != 0)
			continue;
		if (thread)
			found += padded_hits.both & 1;
		else
			padded_hits.both += 2;
	}
}

/* ---- owned ---- */

#define OWNED 8 /* neighbours in memory are of different threads */

static volatile uint64_t *owned[OWNED], *padded_owned[OWNED];

static __attribute__((noinline)) void make_owned(void)
{
	for (size_t i = 0; i < OWNED; i++)
		owned[i] = calloc(1, 3 * sizeof(*owned[i]));
	for (size_t i = 0; i < OWNED; i++) {
		padded_owned[i] = aligned_alloc(LINE, LINE);
		*padded_owned[i] = 0;
	}
}

static void count_owned(volatile uint64_t **of, size_t thread)
{
	for (size_t i = 0; i < N; i++)
		for (size_t k = thread; k < OWNED; k += 2)
			++*of[k];
}

static void run_owned(size_t thread) { count_owned(owned, thread); }
static void run_owned_padded(size_t thread) { count_owned(padded_owned, thread); }

/* ---- pages ---- */

#define PAGE 4096
#define PAGES 16 /* of each thread */

static volatile unsigned char *block;
static int own;

static __attribute__((noinline)) void fill(volatile unsigned char *v)
{
	for (size_t i = 0; i < PAGES * PAGE; i += LINE)
		v[i] = 1;
}

static void run_pages(size_t thread)
{
	volatile unsigned char *mine = block + thread * PAGES * PAGE;

	for (size_t i = 0; i < PAGES * PAGE; i += LINE)
		mine[i]++;
}

/* ---- all ---- */

static const struct pattern {
	const char *name, *variant;
	void (*round)(size_t thread);
} patterns[] = {
	{ "items", "plain", run_items }, { "items", "split", run_items_split },
	{ "cells", "plain", run_cells }, { "cells", "soa", run_cells_soa },
	{ "bodies", "plain", run_bodies }, { "bodies", "soa", run_bodies_soa },
	{ "outers", "plain", run_outers }, { "outers", "split", run_outers_split },
	{ "sums", "plain", run_sums }, { "sums", "padded", run_sums_padded },
	{ "hits", "plain", run_hits }, { "hits", "padded", run_hits_padded },
	{ "itemsheap", "plain", run_heap_items }, { "itemsheap", "split", run_heap_items_split },
	{ "cellsheap", "plain", run_heap_cells }, { "cellsheap", "soa", run_heap_cells_soa },
	{ "owned", "plain", run_owned }, { "owned", "padded", run_owned_padded },
	{ "pages", "main", run_pages }, { "pages", "own", run_pages },
};

static const struct pattern *pattern;
static volatile int met[2];

/* That both are in a round at the same time, whatever else the machine does, without a time in memory traces. */
static __attribute__((noinline)) void meet(size_t thread, int times)
{
	met[thread] = times;
	while (met[!thread] < times)
		sched_yield();
}

static void *run(void *number)
{
	const size_t thread = (size_t)(uintptr_t)number;

	if (block && own)
		fill(block + thread * PAGES * PAGE);
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		meet(thread, 2 * i + 1);
		pattern->round(thread);
		meet(thread, 2 * i + 2);
	}
	return NULL;
}

static __attribute__((noinline)) void allocate(void)
{
	heap_items = aligned_alloc(LINE, (N * sizeof(*heap_items) + LINE - 1) / LINE * LINE);
	heap_cools = aligned_alloc(LINE, (N * sizeof(*heap_cools) + LINE - 1) / LINE * LINE);
	heap_hits = aligned_alloc(LINE, (N * sizeof(*heap_hits) + LINE - 1) / LINE * LINE);
	heap_cell = aligned_alloc(LINE, (N * sizeof(*heap_cell) + LINE - 1) / LINE * LINE);
	heap_cells = aligned_alloc(LINE, (sizeof(*heap_cells) + LINE - 1) / LINE * LINE);
	make_owned();
}

static void start(void)
{
	for (size_t i = 0; i < N; i++) {
		items[i].key = cools[i].key = heap_items[i].key = heap_cools[i].key = i;
		heap_items[i].hits = heap_hits[i] = heap_items[i].flags = heap_cools[i].flags = 0;
		cell[i].c = cells.c[i] = heap_cell[i].c = heap_cells->c[i] = (float)(i % 7);
		heap_cell[i].a = heap_cell[i].b = heap_cells->a[i] = heap_cells->b[i] = 0;
		body[i].vx = bodies.vx[i] = body[i].m = bodies.m[i] = (double)(i % 5);
		outers[i].id = lefts[i].id = (uint32_t)i;
	}
}

static uint64_t sum_up(void)
{
	uint64_t sum = found + hits.both + padded_hits.both;

	for (size_t i = 0; i < N; i++) {
		sum += items[i].hits + hits_of[i] + heap_items[i].hits + heap_hits[i] + items[i].flags + cools[i].flags +
		       heap_items[i].flags + heap_cools[i].flags;
		sum += (uint64_t)(cell[i].a + cell[i].b + cells.a[i] + cells.b[i] + heap_cell[i].a + heap_cell[i].b + heap_cells->a[i] +
				  heap_cells->b[i] + body[i].x + body[i].z + bodies.x[i] + bodies.z[i]);
		for (size_t k = 0; k < 2; k++)
			sum += outers[i].two[k].left + outers[i].two[k].right + lefts[i].left[k] + rights[i][k];
	}
	for (size_t i = 0; i < 2; i++)
		sum += sums[i].xy + sums[i].xx + padded_sums[i].of.xy + padded_sums[i].of.xx + hits.each[i] + padded_hits.each[i].n;
	for (size_t i = 0; i < OWNED; i++)
		sum += *owned[i] + *padded_owned[i];
	for (size_t i = 0; block && i < 2 * PAGES * PAGE; i += LINE)
		sum += block[i];
	return sum;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	for (size_t i = 0; argc > 2 && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (strcmp(patterns[i].name, argv[1]) == 0 && strcmp(patterns[i].variant, argv[2]) == 0)
			pattern = &patterns[i];
	if (!pattern) {
		fprintf(stderr, "usage: layouts PATTERN VARIANT [ROUNDS]\n");
		return 2;
	}
	if (argc > 3)
		rounds = atoi(argv[3]);
	allocate();
	start();
	if (pattern->round == run_pages) {
		block = aligned_alloc(PAGE, 2 * PAGES * PAGE);
		own = strcmp(pattern->variant, "own") == 0;
		if (!own)
			fill(block), fill(block + PAGES * PAGE);
	}
	pthread_barrier_init(&barrier, NULL, 2);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)sum_up());
	return 0;
}
