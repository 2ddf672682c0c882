// SPDX-License-Identifier: GPL-3.0-or-later
/* Copy, scale, add and triad of long vectors. */
#include "kernel.h"

static void copy(long n, const double *a, double *c)
{
#pragma omp parallel for
	for (long i = 0; i < n; i++)
		c[i] = a[i];
}

static void scale(long n, double q, const double *c, double *b)
{
#pragma omp parallel for
	for (long i = 0; i < n; i++)
		b[i] = q * c[i];
}

static void add(long n, const double *a, const double *b, double *c)
{
#pragma omp parallel for
	for (long i = 0; i < n; i++)
		c[i] = a[i] + b[i];
}

static void triad(long n, double q, const double *b, const double *c, double *a)
{
#pragma omp parallel for
	for (long i = 0; i < n; i++)
		a[i] = b[i] + q * c[i];
}

int main(int argc, char **argv)
{
	long n = argument(argc, argv, 1, 2000000), times = argument(argc, argv, 2, 80);
	double *a = array((size_t)n, sizeof(*a)), *b = array((size_t)n, sizeof(*b)), *c = array((size_t)n, sizeof(*c));
	double sum = 0;

	for (long i = 0; i < n; i++)
		a[i] = unit_at((uint64_t)i);
	for (long t = 0; t < times; t++) {
		copy(n, a, c);
		scale(n, 0.25, c, b);
		add(n, a, b, c);
		triad(n, 0.5, b, c, a);
	}
	for (long i = 0; i < n; i += 37)
		sum += a[i];
	checksum("stream", sum);
	return 0;
}
