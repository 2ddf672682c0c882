// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: memtraces FOLDER
 *
 * Counts the memory accesses of a trace, and computes them one by one.  Prints how many there are, the ms of CPU time that
 * counting and computing take, and how many gaps there are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "launcher/memory/memread.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct memread_thread *start(struct memread *r, size_t i)
{
	struct memread_thread *t = memread_start(r, i);

	if (!t)
		exit(1);
	return t;
}

static uint64_t count(struct memread *r, uint64_t *gaps)
{
	struct tf_memory_thread thread;
	struct mt_counts counts = { 0 };
	uint64_t sum = 0;

	for (size_t i = 0; memread_thread(r, i, &thread); i++) {
		struct memread_thread *t = start(r, i);

		memread_count(t, true, &counts, gaps);
		memread_stop(t);
	}
	for (size_t kind = 0; kind < 4; kind++)
		sum += counts.accesses[kind];
	return sum;
}

static uint64_t compute(struct memread *r, uint64_t *gaps)
{
	struct tf_memory_thread thread;
	const struct mt_access *v;
	uint64_t sum = 0;

	for (size_t i = 0; memread_thread(r, i, &thread); i++) {
		struct memread_thread *t = start(r, i);

		for (size_t n; (n = memread_next(t, &v, gaps));)
			sum += n;
		memread_stop(t);
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t gaps = 0, counted, computed;
	double begin, middle, end;
	struct memread *r;
	bool none;

	r = argc == 2 ? memread_open(argv[1], &none) : NULL;
	if (!r) {
		fprintf(stderr, "usage: memtraces FOLDER, of a trace of memory accesses\n");
		return 2;
	}
	begin = now_ms();
	counted = count(r, &gaps);
	middle = now_ms();
	computed = compute(r, &gaps);
	end = now_ms();
	memread_close(r);
	printf("%llu %.3f %.3f %llu\n", (unsigned long long)counted, middle - begin, end - middle,
	       (unsigned long long)gaps);
	return counted != computed;
}
