// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * SSOR: a lower and an upper triangular sweep over a cube, five coupled unknowns a point.  Points of a plane
 * i + j + k = const do not depend on each other.
 */
#include "kernel.h"

#define V 5

typedef double vec[V];

static int n;

static size_t at(int i, int j, int k)
{
	return ((size_t)i * (size_t)(n + 2) + (size_t)j) * (size_t)(n + 2) + (size_t)k;
}

/* A dense system of a point: the right side is overwritten by the solution. */
static void solve(double a[V][V], double *x)
{
	for (int p = 0; p < V; p++) {
		double inv = 1 / a[p][p];

		for (int i = p + 1; i < V; i++) {
			double f = a[i][p] * inv;

			for (int j = p + 1; j < V; j++)
				a[i][j] -= f * a[p][j];
			x[i] -= f * x[p];
		}
	}
	for (int p = V - 1; p >= 0; p--) {
		for (int j = p + 1; j < V; j++)
			x[p] -= a[p][j] * x[j];
		x[p] /= a[p][p];
	}
}

static void jacobian(double a[V][V], const double *u)
{
	for (int i = 0; i < V; i++) {
		for (int j = 0; j < V; j++)
			a[i][j] = 0.05 * u[(i + j) % V];
		a[i][i] += 6.2;
	}
}

/* d: -1 of the neighbours that are done in the lower sweep, 1 in the upper one */
static void relax(vec *u, const vec *f, int i, int j, int k, int d)
{
	const double *x = u[at(i + d, j, k)], *y = u[at(i, j + d, k)], *z = u[at(i, j, k + d)];
	const double *p = u[at(i - d, j, k)], *q = u[at(i, j - d, k)], *r = u[at(i, j, k - d)];
	double *here = u[at(i, j, k)], a[V][V];
	vec v;

	for (int c = 0; c < V; c++)
		v[c] = f[at(i, j, k)][c] + x[c] + y[c] + z[c] + p[c] + q[c] + r[c];
	jacobian(a, here);
	solve(a, v);
	for (int c = 0; c < V; c++)
		here[c] += 1.2 * (v[c] - here[c]);
}

static void plane(vec *u, const vec *f, int sum, int d)
{
#pragma omp parallel for
	for (int i = sum - 2 * n > 1 ? sum - 2 * n : 1; i <= (sum - 2 < n ? sum - 2 : n); i++)
		for (int j = 1; j <= n; j++) {
			int k = sum - i - j;

			if (k >= 1 && k <= n)
				relax(u, f, i, j, k, d);
		}
}

int main(int argc, char **argv)
{
	long times = argument(argc, argv, 2, 12);
	size_t total;
	double sum = 0;
	vec *u, *f;

	n = (int)argument(argc, argv, 1, 48);
	total = (size_t)(n + 2) * (size_t)(n + 2) * (size_t)(n + 2);
	u = array(total, sizeof(*u));
	f = array(total, sizeof(*f));
	for (size_t i = 0; i < total * V; i++)
		f[i / V][i % V] = unit_at(i);
	for (long t = 0; t < times; t++) {
		for (int s = 3; s <= 3 * n; s++)
			plane(u, f, s, -1);
		for (int s = 3 * n; s >= 3; s--)
			plane(u, f, s, 1);
	}
	for (size_t i = 0; i < total; i++)
		sum += u[i][i % V];
	checksum("lu", sum);
	return 0;
}
