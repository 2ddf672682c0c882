// SPDX-License-Identifier: GPL-3.0-or-later
/* Conjugate gradients on a random sparse matrix, symmetric and dominated by its diagonal, in CSR. */
#include "kernel.h"

#define PER_ROW 12

struct csr {
	int n, *row, *col;
	double *val;
};

/* Rows i and j = i + a random distance are joined; distances are the same for all rows, so it is symmetric. */
static struct csr make(int n)
{
	struct csr a = { n, array((size_t)n + 1, sizeof(int)), array((size_t)n * (2 * PER_ROW + 1), sizeof(int)),
			 array((size_t)n * (2 * PER_ROW + 1), sizeof(double)) };
	int k = 0;

	for (int i = 0; i < n; i++) {
		a.row[i] = k;
		a.col[k] = i;
		a.val[k++] = 2 * PER_ROW + 0.5;
		for (int d = 0; d < PER_ROW; d++) {
			int far = 1 + (int)(random_at((uint64_t)d) % (uint64_t)(n / 2 - 1));

			a.col[k] = (i + far) % n;
			a.val[k++] = -0.9;
			a.col[k] = (i + n - far) % n;
			a.val[k++] = -0.9;
		}
	}
	a.row[n] = k;
	return a;
}

static void multiply(const struct csr *a, const double *x, double *y)
{
#pragma omp parallel for
	for (int i = 0; i < a->n; i++) {
		double sum = 0;

		for (int k = a->row[i]; k < a->row[i + 1]; k++)
			sum += a->val[k] * x[a->col[k]];
		y[i] = sum;
	}
}

static double dot(int n, const double *x, const double *y)
{
	double sum = 0;

#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

/* y = a * x + b * y */
static void combine(int n, double a, const double *x, double b, double *y)
{
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		y[i] = a * x[i] + b * y[i];
}

static void solve(const struct csr *m, double *x, double *r, double *p, double *q, long steps)
{
	double rho = dot(m->n, r, r);

	for (long s = 0; s < steps; s++) {
		double alpha, old = rho;

		multiply(m, p, q);
		alpha = rho / dot(m->n, p, q);
		combine(m->n, alpha, p, 1, x);
		combine(m->n, -alpha, q, 1, r);
		rho = dot(m->n, r, r);
		combine(m->n, 1, r, rho / old, p);
	}
}

int main(int argc, char **argv)
{
	int n = (int)argument(argc, argv, 1, 100000);
	long steps = argument(argc, argv, 2, 120);
	struct csr a = make(n < 100 ? 100 : n);
	double *v[4];

	for (int i = 0; i < 4; i++)
		v[i] = array((size_t)a.n, sizeof(double));
	for (int i = 0; i < a.n; i++)
		v[1][i] = v[2][i] = 1 + (i % 7 == 0);
	solve(&a, v[0], v[1], v[2], v[3], steps);
	checksum("cg", dot(a.n, v[0], v[0]));
	return 0;
}
