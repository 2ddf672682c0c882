/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop's chunks, handed out anew. */
#include "launcher/report/omp/omp.h"
#include "launcher/report/report-rows.h"

#include <stdlib.h>

/* Blocks of a loop with @n chunks: a schedule that makes more is not tried, lest it take longer than to read the chunks. */
#define MAX_BLOCKS(n) (4 * (uint64_t)(n) + 4096)

/* Iterations are asked for in ascending order. */
struct cursor {
	const struct omp_chunk *v;
	size_t n, at;
};

/* What iterations [from, to) take. */
static double cost(struct cursor *c, uint64_t from, uint64_t to)
{
	double sum = 0;

	while (c->at < c->n && c->v[c->at].end <= from)
		c->at++;
	for (size_t i = c->at; i < c->n && c->v[i].first < to; i++) {
		const struct omp_chunk *k = &c->v[i];
		uint64_t lo = k->first > from ? k->first : from, hi = k->end < to ? k->end : to;

		sum += (double)k->time * (double)(hi - lo) / (double)(k->end - k->first);
	}
	return sum;
}

static double longest(const double *busy, uint32_t threads)
{
	double most = 0;

	for (uint32_t i = 0; i < threads; i++)
		most = busy[i] > most ? busy[i] : most;
	return most;
}

static uint32_t first_free(const double *busy, uint32_t threads)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < threads; i++)
		best = busy[i] < busy[best] ? i : best;
	return best;
}

/* One block for each, the first ones an iteration longer: as libgomp does. */
static double blocks(const struct omp_chunk *v, size_t n, uint64_t all, uint32_t threads)
{
	struct cursor c = { v, n, 0 };
	uint64_t size = all / threads, longer = all % threads, from = 0;
	double most = 0;

	for (uint32_t i = 0; i < threads; i++) {
		uint64_t to = from + size + (i < longer);
		double one = cost(&c, from, to);

		most = one > most ? one : most;
		from = to;
	}
	return most;
}

enum how { IN_TURN, AS_FREE, GUIDED };

/* Blocks of @k: to each thread in turn, to who is free, or to who is free a share of what is left. */
static double handed_out(const struct omp_chunk *v, size_t n, uint64_t all, uint32_t threads, uint64_t k, enum how how, double get)
{
	struct cursor c = { v, n, 0 };
	double *busy = report_zeroed(threads, sizeof(*busy));
	double most;
	uint64_t turn = 0;

	for (uint64_t from = 0, size; from < all; from += size, turn++) {
		uint32_t who = how == IN_TURN ? (uint32_t)(turn % threads) : first_free(busy, threads);
		uint64_t share = (all - from + threads - 1) / threads;

		size = how == GUIDED && share > k ? share : k;
		size = size < all - from ? size : all - from;
		busy[who] += cost(&c, from, from + size) + (how == IN_TURN ? 0 : get);
	}
	most = longest(busy, threads);
	free(busy);
	return most;
}

void omp_compare(const struct omp_chunk *v, size_t n, uint32_t threads, uint64_t k, double get, double would[OMP_SCHEDULES])
{
	static const struct {
		enum how how;
		uint64_t times;
	} of[OMP_SCHEDULES] = {
		[OMP_STATIC_K] = { IN_TURN, 1 },   [OMP_STATIC_4K] = { IN_TURN, 4 },	[OMP_DYNAMIC_K] = { AS_FREE, 1 },
		[OMP_DYNAMIC_4K] = { AS_FREE, 4 }, [OMP_DYNAMIC_16K] = { AS_FREE, 16 }, [OMP_GUIDED_K] = { GUIDED, 1 },
	};
	uint64_t all = v[n - 1].end;

	would[OMP_STATIC] = blocks(v, n, all, threads);
	for (int i = OMP_STATIC_K; i < OMP_SCHEDULES; i++) {
		uint64_t size = k < all / of[i].times ? k * of[i].times : all;

		would[i] = all / size > MAX_BLOCKS(n) ? 0 : handed_out(v, n, all, threads, size, of[i].how, get);
	}
}

const char *omp_schedule_name(enum omp_schedule schedule)
{
	static const char *const names[OMP_SCHEDULES] = {
		"static", "static,k", "static,4k", "dynamic,k", "dynamic,4k", "dynamic,16k", "guided,k",
	};

	return names[schedule];
}
