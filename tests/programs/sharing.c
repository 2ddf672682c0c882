// SPDX-License-Identifier: MIT
/*
 * usage: sharing PATTERN [TIMES]: two threads, and what they do to the same lines of memory.  Prints a sum that does not depend on their order.
 *
 * false       two counters in a line, one for each thread
 * true        one counter, which both add to by atomic instructions
 * mixed       both, in one line
 * padded      as false, in lines of their own
 * stride8, stride64, stride128   an array with an element of each thread, so many bytes apart
 * allocator   neighbours that malloc() made
 * ring        head and tail of a ring buffer beside each other, one thread that writes, one that reads
 * phases      two counters in a line, in phases between barriers: never both at once
 * mutex       one counter, under a mutex
 * regression  sums of each thread in an array of structures (as in Phoenix' linear regression)
 * cluster     a block of results for each thread with its length rounded to 32 bytes (as PARSEC's streamcluster does it)
 * cluster64   the same, rounded to 64
 * stack       two counters on the main thread's stack, in a function that waits for the other threads
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 2
#define LINE 64
#define BARRIERS 20
#define ROUND 16 /* what would be over before the other thread begins is done in rounds */

static long times = 100000;
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
	volatile uint64_t hits[THREADS];
} counters __attribute__((aligned(LINE)));

static struct {
	volatile uint64_t hits __attribute__((aligned(LINE)));
} padded[THREADS];

static volatile uint64_t common __attribute__((aligned(LINE)));

static struct {
	volatile uint64_t hits[THREADS], all;
} both __attribute__((aligned(LINE)));

static volatile char elements[THREADS * 128 + LINE] __attribute__((aligned(LINE)));
static volatile uint64_t *blocks[THREADS];

#define SLOTS 64
static struct {
	volatile uint64_t head, tail;
} ring __attribute__((aligned(LINE)));
static volatile uint64_t slots[SLOTS * LINE / sizeof(uint64_t)] __attribute__((aligned(LINE)));

struct sums {
	volatile uint64_t x, y, xx, yy, xy;
};
static struct sums sums[THREADS] __attribute__((aligned(LINE)));
static uint8_t points[4096][2];

static volatile double *work;
static size_t row;

/* ---- what a thread does ---- */

static void meet(long k)
{
	if (k % ROUND == 0)
		pthread_barrier_wait(&barrier);
}

static void count_false(size_t i)
{
	for (long k = 0; k < times; k++)
		counters.hits[i]++;
}

static void count_padded(size_t i)
{
	for (long k = 0; k < times; k++)
		padded[i].hits++;
}

static void count_true(size_t i)
{
	(void)i;
	for (long k = 0; k < times; k++)
		meet(k), __atomic_fetch_add(&common, 1, __ATOMIC_SEQ_CST);
}

static void count_mixed(size_t i)
{
	for (long k = 0; k < times; k++) {
		meet(k);
		both.hits[i]++;
		__atomic_fetch_add(&both.all, 1, __ATOMIC_SEQ_CST);
	}
}

static void count_elements(size_t i)
{
	volatile uint64_t *at = blocks[i];

	for (long k = 0; k < times; k++)
		++*at;
}

static void pass_ring(size_t i)
{
	for (uint64_t k = 0; k < (uint64_t)times; k++) {
		if (i) {
			while (__atomic_load_n(&ring.head, __ATOMIC_ACQUIRE) == k)
				;
			common += slots[k % SLOTS * LINE / sizeof(uint64_t)];
			__atomic_store_n(&ring.tail, k + 1, __ATOMIC_RELEASE);
		} else {
			while (k - __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE) == SLOTS)
				;
			slots[k % SLOTS * LINE / sizeof(uint64_t)] = k;
			__atomic_store_n(&ring.head, k + 1, __ATOMIC_RELEASE);
		}
	}
}

static void count_phases(size_t i)
{
	for (size_t phase = 0; phase < BARRIERS; phase++) {
		if (phase % THREADS == i)
			for (long k = 0; k < times / BARRIERS; k++)
				counters.hits[i]++;
		pthread_barrier_wait(&barrier);
	}
}

static void count_mutex(size_t i)
{
	(void)i;
	for (long k = 0; k < times; k++) {
		meet(k);
		pthread_mutex_lock(&mutex);
		common++;
		pthread_mutex_unlock(&mutex);
	}
}

static void regress(size_t i)
{
	struct sums *s = &sums[i];

	for (long k = 0; k < times; k++) {
		const uint8_t *p = points[(size_t)k % (sizeof(points) / sizeof(points[0]))];

		s->x += p[0];
		s->y += p[1];
		s->xx += (uint64_t)p[0] * p[0];
		s->yy += (uint64_t)p[1] * p[1];
		s->xy += (uint64_t)p[0] * p[1];
	}
}

static void cluster(size_t i)
{
	volatile double *mine = work + i * row;

	for (long k = 0; k < times; k++)
		mine[k % 4] += (double)(k & 7);
}

/* ---- patterns ---- */

static void make_elements(size_t stride)
{
	for (size_t i = 0; i < THREADS; i++)
		blocks[i] = (volatile uint64_t *)(elements + i * stride);
}

static void make_neighbours(void)
{
	volatile uint64_t *before;

	do { /* two in one line */
		before = blocks[0];
		blocks[0] = blocks[1];
		blocks[1] = calloc(1, sizeof(*blocks[1]));
	} while (!before || (uintptr_t)blocks[0] / LINE != (uintptr_t)blocks[1] / LINE);
}

static void make_work(size_t round)
{
	row = (4 * sizeof(double) + round - 1) / round * round / sizeof(double);
	work = aligned_alloc(LINE, (THREADS * row * sizeof(double) + LINE - 1) / LINE * LINE);
	memset((void *)work, 0, THREADS * row * sizeof(double));
}

static const struct pattern {
	const char *name;
	void (*body)(size_t i);
} patterns[] = {
	{ "false", count_false }, { "true", count_true }, { "mixed", count_mixed }, { "padded", count_padded },
	{ "stride8", count_elements }, { "stride64", count_elements }, { "stride128", count_elements },
	{ "allocator", count_elements }, { "ring", pass_ring }, { "phases", count_phases }, { "mutex", count_mutex },
	{ "regression", regress }, { "cluster", cluster }, { "cluster64", cluster }, { "stack", count_elements },
};

static void (*body)(size_t i);

/* What it returns leaves room for a jump after the call, also where it is the last function of all: so its end has a time. */
static void *run(void *number)
{
	body((size_t)(uintptr_t)number);
	return number;
}

static uint64_t sum_up(void)
{
	uint64_t sum = common + both.all;

	for (size_t i = 0; i < THREADS; i++) {
		sum += counters.hits[i] + padded[i].hits + both.hits[i] + (blocks[i] ? *blocks[i] : 0);
		sum += sums[i].x + sums[i].y + sums[i].xx + sums[i].yy + sums[i].xy;
		for (size_t k = 0; work && k < 4; k++)
			sum += (uint64_t)work[i * row + k];
	}
	return sum;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* What threads have added is in static memory at the end. */
static __attribute__((noinline)) void run_on_stack(void)
{
	struct {
		volatile uint64_t of[THREADS] __attribute__((aligned(16)));
	} local = { { 0 } };

	for (size_t i = 0; i < THREADS; i++)
		blocks[i] = &local.of[i];
	run_threads();
	for (size_t i = 0; i < THREADS; i++) {
		common += local.of[i];
		blocks[i] = NULL;
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (strcmp(patterns[i].name, name) == 0)
			body = patterns[i].body;
	if (!body) {
		fprintf(stderr, "usage: sharing PATTERN [TIMES]\n");
		return 2;
	}
	if (argc > 2)
		times = atol(argv[2]);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		points[i][0] = (uint8_t)(i * 7);
		points[i][1] = (uint8_t)(i * 13);
	}
	for (size_t i = 0; i < THREADS; i++)
		counters.hits[i] = padded[i].hits = both.hits[i] = 0; /* as a program that initializes all itself */
	if (strncmp(name, "stride", 6) == 0)
		make_elements((size_t)atoi(name + 6));
	else if (body == count_elements && strcmp(name, "stack") != 0)
		make_neighbours();
	else if (body == cluster)
		make_work(name[7] ? 64 : 32);
	if (strcmp(name, "stack") == 0)
		run_on_stack();
	else
		run_threads();
	printf("%llu\n", (unsigned long long)sum_up());
	return 0;
}
