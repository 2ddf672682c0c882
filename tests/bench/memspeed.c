// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: memspeed FOLDER [TIMES]
 *
 * How fast the machine alone is on a trace's streams, the first 256 MiB of them, which are unpacked before: the median of so many
 * times.  Prints how many accesses there are, and million accesses a second one by one, and counted.
 */
#include "tests/bench/memload.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "memtrace/compile.h"

enum { BATCH = 4096, TIMES = 99 };

static struct mt_access batch[BATCH];

static uint64_t take(struct mt_machine *m, bool counting)
{
	struct mt_counts counts = { 0 };
	enum mt_status status;
	uint64_t all = 0;
	size_t n;

	if (counting) {
		status = mt_count(m, 1, &counts);
		for (int i = 0; i < 4; i++)
			all += counts.accesses[i];
	} else {
		while ((n = mt_next(m, batch, BATCH, &status)))
			all += n;
	}
	if (status != MT_OK)
		errx(1, "status %d", status);
	return all;
}

static uint64_t run(const struct memload *load, bool counting)
{
	struct mt_machine *m = NULL;
	uint64_t all = 0;

	for (size_t i = 0; i < load->n; i++) {
		if (load->pieces[i].first) {
			mt_machine_free(m);
			m = mt_machine_new(load->code);
		}
		if (!m || mt_feed(m, load->pieces[i].data, load->pieces[i].len) != MT_OK)
			errx(1, "chunk %zu", i);
		all += take(m, counting);
	}
	mt_machine_free(m);
	return all;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Million accesses a second. */
static double median(const struct memload *load, bool counting, int times, uint64_t *all)
{
	double took[TIMES];

	for (int i = 0; i < times; i++) {
		double start = memload_now();

		*all = run(load, counting);
		took[i] = memload_now() - start;
	}
	qsort(took, (size_t)times, sizeof(took[0]), by_size);
	return (double)*all / took[times / 2] / 1e6;
}

int main(int argc, char **argv)
{
	struct mt_compiled stats;
	double next, counted;
	struct memload load;
	uint64_t all;
	int times = argc > 2 ? atoi(argv[2]) : 3;

	if (argc < 2 || times < 1 || times > TIMES)
		errx(2, "usage: memspeed FOLDER [TIMES]");
	memload(&load, argv[1]);
	next = median(&load, false, times, &all);
	counted = median(&load, true, times, &all);
	printf("%llu %.0f %.0f\n", (unsigned long long)all, next, counted);
	if (mt_compile_stats(load.code, &stats))
		fprintf(stderr, "%llu pieces, %llu bytes of code, entered %llu times, %llu nodes and loops interpreted\n",
			(unsigned long long)stats.nodes, (unsigned long long)stats.bytes,
			(unsigned long long)stats.entered, (unsigned long long)stats.interpreted);
	mt_code_free(load.code);
	return 0;
}
