// SPDX-License-Identifier: GPL-3.0-or-later
/* Integer sort: keys into buckets by their upper bits, then counted bucket by bucket, then ranked. */
#include <omp.h>

#include "kernel.h"

#define KEY_BITS 20
#define BUCKET_BITS 9
#define BUCKETS (1 << BUCKET_BITS)
#define SHIFT (KEY_BITS - BUCKET_BITS)

/* start[t * BUCKETS + b]: where thread t puts its keys of bucket b. */
static void offsets(int *start, int threads)
{
	int sum = 0;

	for (int b = 0; b < BUCKETS; b++)
		for (int t = 0; t < threads; t++) {
			int n = start[t * BUCKETS + b];

			start[t * BUCKETS + b] = sum;
			sum += n;
		}
}

static void distribute(const int *key, int *sorted, int n, int *start)
{
#pragma omp parallel
	{
		int *mine = start + omp_get_thread_num() * BUCKETS;

		memset(mine, 0, BUCKETS * sizeof(*mine));
#pragma omp for schedule(static)
		for (int i = 0; i < n; i++)
			mine[key[i] >> SHIFT]++;
#pragma omp single
		offsets(start, omp_get_num_threads());
#pragma omp for schedule(static)
		for (int i = 0; i < n; i++)
			sorted[mine[key[i] >> SHIFT]++] = key[i];
	}
}

/* Each bucket by counting; rank[k]: keys that are less than k. */
static void rank_keys(const int *sorted, int *rank, const int *end)
{
#pragma omp parallel for schedule(static)
	for (int b = 0; b < BUCKETS; b++) {
		int from = b ? end[b - 1] : 0, sum = from;
		int *r = rank + ((size_t)b << SHIFT);

		memset(r, 0, sizeof(*r) << SHIFT);
		for (int i = from; i < end[b]; i++)
			rank[sorted[i]]++;
		for (int k = 0; k < 1 << SHIFT; k++) {
			int count = r[k];

			r[k] = sum;
			sum += count;
		}
	}
}

int main(int argc, char **argv)
{
	int n = (int)argument(argc, argv, 1, 4000000), threads = omp_get_max_threads();
	long times = argument(argc, argv, 2, 30);
	int *key = array((size_t)n, sizeof(int)), *sorted = array((size_t)n, sizeof(int));
	int *rank = array(1 << KEY_BITS, sizeof(int)), *start = array((size_t)threads * BUCKETS, sizeof(int));
	double sum = 0;

	for (int i = 0; i < n; i++)
		key[i] = (int)((random_at((uint64_t)i) >> 44) + (random_at((uint64_t)i + 1) >> 44)) / 2;
	for (long t = 0; t < times; t++) {
		key[t % n] = (int)t;
		distribute(key, sorted, n, start);
		rank_keys(sorted, rank, start + (size_t)(threads - 1) * BUCKETS);
	}
	for (int i = 0; i < n; i += 101)
		sum += (double)rank[key[i]] * (i % 13);
	checksum("is", sum);
	return 0;
}
