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

#include "memtrace/read/read.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct mt_read_thread *start(struct mt_read *r, size_t i)
{
	enum sonde_trace_status status;
	struct mt_read_thread *t = mt_read_start(r, i, &status);

	if (!t)
		exit(1);
	return t;
}

static uint64_t count(struct mt_read *r, uint64_t *gaps)
{
	struct mt_files_thread thread;
	struct mt_counts counts = { 0 };
	uint64_t sum = 0;

	for (size_t i = 0; mt_read_thread(r, i, &thread); i++) {
		struct mt_read_thread *t = start(r, i);

		mt_read_count(t, true, &counts, gaps);
		mt_read_stop(t);
	}
	for (size_t kind = 0; kind < 4; kind++)
		sum += counts.accesses[kind];
	return sum;
}

static uint64_t compute(struct mt_read *r, uint64_t *gaps)
{
	struct mt_files_thread thread;
	const struct mt_access *v;
	uint64_t sum = 0;

	for (size_t i = 0; mt_read_thread(r, i, &thread); i++) {
		struct mt_read_thread *t = start(r, i);

		for (size_t n; (n = mt_read_next(t, &v, gaps));)
			sum += n;
		mt_read_stop(t);
	}
	return sum;
}

int main(int argc, char **argv)
{
	uint64_t gaps = 0, counted, computed;
	double begin, middle, end;
	struct mt_read *r;
	enum sonde_trace_status status;
	struct sonde_trace_message why;

	r = argc == 2 ? mt_read_open(argv[1], &status, &why) : NULL;
	if (!r) {
		fprintf(stderr, "usage: memtraces FOLDER, of a trace of memory accesses\n");
		return 2;
	}
	begin = now_ms();
	counted = count(r, &gaps);
	middle = now_ms();
	computed = compute(r, &gaps);
	end = now_ms();
	mt_read_close(r);
	printf("%llu %.3f %.3f %llu\n", (unsigned long long)counted, middle - begin, end - middle,
	       (unsigned long long)gaps);
	return counted != computed;
}
