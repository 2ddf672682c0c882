// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: cachespeed TRACE SYSTEMS [N [SETS [TIMES [MOST [WORKERS]]]]]
 *
 * How fast caches are simulated with a trace's streams: the first N systems of a file at once (all, if 0), one in SETS sets.  Prints
 * how many accesses there are, and million accesses a second: the median of so many times, in which the machine computes
 * addresses, too; of the first MOST million accesses.  Processor time of one thread; with WORKERS, elapsed time, and then the processor
 * time of all of them, in seconds.  With SHOW=yes, prints all counts.
 */
#include "tests/bench/memload.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/cache/simulate.h"
#include "tests/unit/analysis/crew.h"

enum { BATCH = 4096, TIMES = 99, MOST_TEXT = 1 << 20 };

static struct cache_systems systems;
static struct cache_sim_options options;
static size_t nsystems;
static uint64_t most = UINT64_MAX;
static struct cache_crew crew = { .begin = crew_begin, .finish = crew_finish };
static bool show;

static double now_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_systems(const char *path)
{
	static char text[MOST_TEXT];
	char error[CACHE_ERROR_MAX];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		err(1, "%s", path);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	if (!cache_systems_parse(&systems, text, n, error))
		errx(1, "%s: %s", path, error);
	cache_systems_alone(&systems);
}

static void show_counts(const struct cache_sim *sim)
{
	struct cache_count c[CACHE_LEVELS];
	struct cache_insn insn;

	for (size_t i = 0; cache_sim_insn(sim, i, &insn); i++) {
		printf("%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", insn.insn, insn.accesses, insn.loads, insn.stores);
		for (size_t s = 0; s < nsystems; s++) {
			cache_sim_counts(sim, i, s, c);
			for (unsigned int k = 0; k < cache_levels(&systems.v[s]); k++)
				printf(" %zu.%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s, k, c[k].hits, c[k].misses,
				       c[k].written, c[k].prefetched);
		}
	}
}

static void end(struct mt_machine *machine, struct cache_sim *sim)
{
	mt_machine_free(machine);
	if (sim && !cache_sim_end(sim))
		err(1, "malloc");
	if (sim && show)
		show_counts(sim);
	cache_sim_free(sim);
}

static uint64_t run(const struct memload *load)
{
	static struct mt_access batch[BATCH];
	struct mt_machine *machine = NULL;
	struct cache_sim *sim = NULL;
	enum mt_status status = MT_OK;
	uint64_t all = 0;
	size_t n;

	for (size_t i = 0; i < load->n && all < most; i++) {
		if (load->pieces[i].first) {
			end(machine, sim);
			machine = mt_machine_new(load->code);
			sim = cache_sim_new(systems.v, nsystems, &options);
		}
		if (!machine || !sim || mt_feed(machine, load->pieces[i].data, load->pieces[i].len) != MT_OK)
			errx(1, "chunk %zu", i);
		for (; all < most && (n = mt_next(machine, batch, BATCH, &status)); all += n)
			if (!cache_sim_take(sim, batch, n, true))
				err(1, "malloc");
		if (status != MT_OK)
			errx(1, "status %d", status);
	}
	end(machine, sim);
	return all;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int times = argc > 5 ? atoi(argv[5]) : 1;
	double took[TIMES];
	struct memload load;
	uint64_t all = 0;

	if (argc < 3 || times < 1 || times > TIMES)
		errx(2, "usage: cachespeed TRACE SYSTEMS [N [SETS [TIMES]]]");
	memload(&load, argv[1]);
	read_systems(argv[2]);
	nsystems = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	if (!nsystems || nsystems > systems.n)
		nsystems = systems.n;
	options.one_in = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
	if (argc > 6)
		most = strtoull(argv[6], NULL, 10) * 1000000;
	if (argc > 7)
		crew.workers = (unsigned int)strtoul(argv[7], NULL, 10);
	if (crew.workers > 1)
		options.crew = &crew;
	show = getenv("SHOW");
	for (int i = 0; i < times; i++) {
		double start = argc > 7 ? now_of(CLOCK_MONOTONIC) : memload_now();

		all = run(&load);
		took[i] = (argc > 7 ? now_of(CLOCK_MONOTONIC) : memload_now()) - start;
	}
	qsort(took, (size_t)times, sizeof(took[0]), by_size);
	printf("%" PRIu64 " %.1f", all, (double)all / took[times / 2] / 1e6);
	if (argc > 7)
		printf(" %.2f", now_of(CLOCK_PROCESS_CPUTIME_ID));
	puts("");
	cache_systems_free(&systems);
	mt_code_free(load.code);
	return 0;
}
