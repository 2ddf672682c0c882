// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Kernels of the kinds that the NAS Parallel Benchmarks have, small: omp_kernels [SIZE].  What they print does not depend on threads.
 *
 *	EP	pairs of random numbers, counted by rings: one loop, private counts, a critical region
 *	IS	keys sorted by counting: loops with barriers in one region, a chunk of keys for each thread
 *	CG	conjugate gradients: many short loops with reductions in one region, a single region each time
 *	MG	a V-cycle on grids of one dimension: a region for each step on each grid
 *	LU	tasks by blocks, each of which depends on its neighbours
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RINGS 10
#define KEYS 1024
#define BLOCKS 8

static double uniform(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
}

static void ep(int n)
{
	long rings[RINGS] = { 0 };

#pragma omp parallel
	{
		long mine[RINGS] = { 0 };

#pragma omp for schedule(dynamic, 4) nowait
		for (int block = 0; block < n; block++) {
			uint64_t state = (uint64_t)block * 977 + 1;

			for (int i = 0; i < 256; i++) {
				double x = 2 * uniform(&state) - 1, y = 2 * uniform(&state) - 1, t = x * x + y * y;

				if (t > 0 && t <= 1)
					mine[(int)fmin(fmax(fabs(x), fabs(y)) * sqrt(-2 * log(t) / t), RINGS - 1)]++;
			}
		}
#pragma omp critical
		for (int i = 0; i < RINGS; i++)
			rings[i] += mine[i];
	}
	printf("EP");
	for (int i = 0; i < RINGS; i++)
		printf(" %ld", rings[i]);
	puts("");
}

static void is(int n)
{
	int *keys = malloc((size_t)n * sizeof(*keys));
	long counts[KEYS] = { 0 }, sum = 0;
	uint64_t state = 5;

	for (int i = 0; i < n; i++)
		keys[i] = (int)(uniform(&state) * KEYS);
	for (int round = 0; round < 10; round++) {
		memset(counts, 0, sizeof(counts));
#pragma omp parallel
		{
			long mine[KEYS] = { 0 };

#pragma omp for schedule(static)
			for (int i = 0; i < n; i++)
				mine[keys[i]]++;
			for (int k = 0; k < KEYS; k++)
#pragma omp atomic
				counts[k] += mine[k];
#pragma omp barrier
#pragma omp master
			for (int k = 1; k < KEYS; k++)
				counts[k] += counts[k - 1];
#pragma omp barrier
#pragma omp for schedule(guided) reduction(+ : sum)
			for (int k = 0; k < KEYS; k++)
				sum += counts[k] * (k + round);
		}
	}
	free(keys);
	printf("IS %ld\n", sum);
}

static void cg(int n)
{
	double *x = calloc((size_t)n, sizeof(*x)), *r = malloc((size_t)n * sizeof(*r)), *p = malloc((size_t)n * sizeof(*p));
	double *q = malloc((size_t)n * sizeof(*q)), rr = n, pq = 0, next = 0, alpha = 0, beta = 0;

	for (int i = 0; i < n; i++)
		r[i] = p[i] = 1;
#pragma omp parallel
	for (int step = 0; step < 20; step++) {
#pragma omp for schedule(static) reduction(+ : pq)
		for (int i = 0; i < n; i++) {
			q[i] = 4 * p[i] - (i ? p[i - 1] : 0) - (i < n - 1 ? p[i + 1] : 0);
			pq += p[i] * q[i];
		}
#pragma omp single
		alpha = rr / pq;
#pragma omp for schedule(static) reduction(+ : next)
		for (int i = 0; i < n; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
			next += r[i] * r[i];
		}
#pragma omp single
		{
			beta = next / rr;
			rr = next;
			next = pq = 0;
		}
#pragma omp for schedule(dynamic, 512)
		for (int i = 0; i < n; i++)
			p[i] = r[i] + beta * p[i];
	}
	printf("CG %.6f\n", x[n / 2]);
	free(x);
	free(r);
	free(p);
	free(q);
}

static void smooth(double *u, const double *f, double *tmp, int n)
{
#pragma omp parallel for
	for (int i = 1; i < n; i++)
		tmp[i] = (u[i - 1] + u[i + 1] + f[i]) / 2;
#pragma omp parallel for schedule(runtime)
	for (int i = 1; i < n; i++)
		u[i] = u[i] / 3 + tmp[i] * 2 / 3;
}

static void v_cycle(double *u, double *f, double *tmp, int n)
{
	double *coarse = calloc((size_t)n + 3, sizeof(*coarse)), *right = calloc((size_t)n + 3, sizeof(*right));

	smooth(u, f, tmp, n);
	if (n > 4) {
#pragma omp parallel for
		for (int i = 1; i < n / 2; i++)
			right[i] = 4 * (f[2 * i] - 2 * u[2 * i] + u[2 * i - 1] + u[2 * i + 1]);
		v_cycle(coarse, right, tmp, n / 2);
#pragma omp parallel for
		for (int i = 1; i < n; i++)
			u[i] += i % 2 ? (coarse[i / 2] + coarse[i / 2 + 1]) / 2 : coarse[i / 2];
	}
	smooth(u, f, tmp, n);
	free(coarse);
	free(right);
}

static void mg(int n)
{
	double *u = calloc((size_t)n + 1, sizeof(*u)), *f = calloc((size_t)n + 1, sizeof(*f)), *tmp = calloc((size_t)n + 1, sizeof(*tmp));
	double most = 0;

	f[n / 3] = 1;
	for (int i = 0; i < 5; i++)
		v_cycle(u, f, tmp, n);
#pragma omp parallel for reduction(max : most)
	for (int i = 1; i < n; i++)
		most = u[i] > most ? u[i] : most;
	printf("MG %.6e\n", most);
	free(u);
	free(f);
	free(tmp);
}

static void lu(int n)
{
	static double sums[BLOCKS + 1][BLOCKS + 1];

	for (int round = 0; round < 5; round++) {
#pragma omp parallel
#pragma omp single
		for (int i = 1; i <= BLOCKS; i++)
			for (int j = 1; j <= BLOCKS; j++) {
#pragma omp task depend(in : sums[i - 1][j], sums[i][j - 1]) depend(inout : sums[i][j])
				for (int k = 0; k < n; k++)
					sums[i][j] = (sums[i - 1][j] + sums[i][j - 1] + sums[i][j] + k) / 4;
			}
	}
	printf("LU %.6f\n", sums[BLOCKS][BLOCKS]);
}

int main(int argc, char **argv)
{
	int size = argc > 1 ? atoi(argv[1]) : 1;

	ep(400 * size);
	is(100000 * size);
	cg(20000 * size);
	mg(4096 * size);
	lu(500 * size);
	return 0;
}
