/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: team N: OpenMP: a loop of N calls of work(), tasks, a reduction, nested teams. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return work(n) > 0 ? n : 0;
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

int main(int argc, char **argv)
{
	long sum = 0, f = 0, nested = 0;
	int n = atoi(argv[1]);

	omp_set_dynamic(0);
	omp_set_max_active_levels(2);
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 7) num_threads(4)
	for (int i = 0; i < n; i++)
		sum += work(i);
#pragma omp parallel num_threads(4)
#pragma omp single
	f = fib(15);
#pragma omp parallel num_threads(2) reduction(+ : nested)
#pragma omp parallel num_threads(3) reduction(+ : nested)
	nested += work(1);
	printf("%ld %ld %ld\n", sum, f, nested);
	return 0;
}
