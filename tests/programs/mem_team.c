/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_team: OpenMP with work that is shared out the same way each time, by three threads. */
#include <omp.h>
#include <stdio.h>

#include "work.h"

enum { N = 300 };
static double a[N], b[N];
static int bins[3][16];

int main(void)
{
	double sum = 0;
	int most = 0;

	omp_set_num_threads(3);
	omp_set_dynamic(0);
#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		a[i] = i * .5;
#pragma omp parallel for schedule(static, 7) reduction(+ : sum) reduction(max : most)
	for (int i = 1; i < N; i++) {
		b[i] = a[i] - a[i - 1];
		sum += b[i];
		most = i * 37 % 101 > most ? i * 37 % 101 : most;
	}
#pragma omp parallel
	{
		int id = omp_get_thread_num();

		for (int i = id; i < N; i += 3)
			bins[id][work(i) & 15]++;
#pragma omp barrier
#pragma omp for collapse(2)
		for (int i = 0; i < 12; i++)
			for (int j = 0; j < 9; j++)
				a[i * 12 + j] += b[j];
	}
#pragma omp simd
	for (int i = 0; i < N; i++)
		a[i] *= 2;
	printf("%g %d %d %g\n", sum, most, bins[1][4], a[20]);
	return 0;
}
