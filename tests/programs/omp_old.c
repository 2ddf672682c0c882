// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What GCC before 4.9 made of regions: it calls the outlined function itself, between GOMP_parallel_start() and
 * GOMP_parallel_end().  And locks by the names that Fortran has for them.  5 regions of 3 threads, in one of these 3 more of 2, and one as it is made today;
 * loops of 20 and 10 chunks, 5 sections, 15 times a lock.
 */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

typedef void body(void *data);

extern void GOMP_parallel_start(body *fn, void *data, unsigned int threads);
extern void GOMP_parallel_end(void);
extern void GOMP_parallel_loop_dynamic_start(body *fn, void *data, unsigned int threads, long from, long to, long step, long chunk);
extern bool GOMP_loop_dynamic_next(long *first, long *end);
extern void GOMP_loop_end_nowait(void);
extern void GOMP_parallel_loop_runtime_start(body *fn, void *data, unsigned int threads, long from, long to, long step);
extern bool GOMP_loop_runtime_next(long *first, long *end);
extern void GOMP_parallel_sections_start(body *fn, void *data, unsigned int threads, unsigned int count);
extern unsigned int GOMP_sections_next(void);
extern void GOMP_sections_end_nowait(void);
extern void omp_set_lock_(omp_lock_t *lock);
extern void omp_unset_lock_(omp_lock_t *lock);

static omp_lock_t lock;

static void region(void *data)
{
	for (int i = 0; i < 5; i++) {
		omp_set_lock_(&lock);
		++*(long *)data;
		omp_unset_lock_(&lock);
	}
}

static void loop(void *data)
{
	long first, end;

	while (GOMP_loop_dynamic_next(&first, &end))
		for (long i = first; i < end; i++)
			__atomic_fetch_add((long *)data, i, __ATOMIC_RELAXED);
	GOMP_loop_end_nowait();
}

static void runtime_loop(void *data)
{
	long first, end;

	while (GOMP_loop_runtime_next(&first, &end))
		for (long i = first; i < end; i++)
			__atomic_fetch_add((long *)data, i, __ATOMIC_RELAXED);
	GOMP_loop_end_nowait();
}

static void sections(void *data)
{
	for (unsigned int i; (i = GOMP_sections_next());)
		__atomic_fetch_add((long *)data, i, __ATOMIC_RELAXED);
	GOMP_sections_end_nowait();
}

static void one(void *data)
{
	__atomic_fetch_add((long *)data, 1, __ATOMIC_RELAXED);
}

static void outer(void *data)
{
	GOMP_parallel_start(one, data, 2);
	one(data);
	GOMP_parallel_end();
}

int main(void)
{
	long a = 0, b = 0, c = 0, d = 0, e = 0;

	omp_init_lock(&lock);
	omp_set_max_active_levels(2);
	omp_set_schedule(omp_sched_dynamic, 10);
	GOMP_parallel_start(region, &a, 3);
	region(&a);
	GOMP_parallel_end();
	GOMP_parallel_loop_dynamic_start(loop, &b, 3, 0, 100, 1, 5);
	loop(&b);
	GOMP_parallel_end();
	GOMP_parallel_loop_runtime_start(runtime_loop, &c, 3, 0, 100, 1);
	runtime_loop(&c);
	GOMP_parallel_end();
	GOMP_parallel_sections_start(sections, &d, 3, 5);
	sections(&d);
	GOMP_parallel_end();
	GOMP_parallel_start(outer, &e, 3);
	outer(&e);
	GOMP_parallel_end();
#pragma omp parallel num_threads(3)
	one(&e);
	printf("%ld %ld %ld %ld %ld\n", a, b, c, d, e);
	return 0;
}
