// SPDX-License-Identifier: GPL-3.0-or-later
/* Block tridiagonal systems, blocks of 5 x 5, along the lines of a cube in each of three directions. */
#include "kernel.h"

#define B 5

typedef double block[B][B];
typedef double vec[B];

struct line {
	block *lower, *diag, *upper;
	vec *rhs;
};

static void multiply_sub(block c, block a, block b)
{
	for (int i = 0; i < B; i++)
		for (int j = 0; j < B; j++)
			for (int k = 0; k < B; k++)
				c[i][j] -= a[i][k] * b[k][j];
}

static void apply_sub(vec y, block a, const vec x)
{
	for (int i = 0; i < B; i++)
		for (int k = 0; k < B; k++)
			y[i] -= a[i][k] * x[k];
}

/* Gauss-Jordan: a becomes one, c and r what they are multiplied by its inverse. */
static void eliminate(block a, block c, vec r)
{
	for (int p = 0; p < B; p++) {
		double pivot = 1 / a[p][p];

		for (int j = 0; j < B; j++) {
			a[p][j] *= pivot;
			c[p][j] *= pivot;
		}
		r[p] *= pivot;
		for (int i = 0; i < B; i++) {
			double f = a[i][p];

			if (i == p)
				continue;
			for (int j = 0; j < B; j++) {
				a[i][j] -= f * a[p][j];
				c[i][j] -= f * c[p][j];
			}
			r[i] -= f * r[p];
		}
	}
}

static void solve(const struct line *l, int n)
{
	for (int i = 0; i < n; i++) {
		if (i) {
			multiply_sub(l->diag[i], l->lower[i], l->upper[i - 1]);
			apply_sub(l->rhs[i], l->lower[i], l->rhs[i - 1]);
		}
		eliminate(l->diag[i], l->upper[i], l->rhs[i]);
	}
	for (int i = n - 2; i >= 0; i--)
		apply_sub(l->rhs[i], l->upper[i], l->rhs[i + 1]);
}

/* Coefficients depend on the solution, as those of a linearized flow do. */
static void fill(const struct line *l, const vec *u, size_t step, int n)
{
	for (int i = 0; i < n; i++) {
		const double *v = u[(size_t)i * step];

		for (int r = 0; r < B; r++) {
			for (int c = 0; c < B; c++) {
				l->lower[i][r][c] = -0.02 * v[c];
				l->upper[i][r][c] = -0.02 * v[r];
				l->diag[i][r][c] = 0.05 * v[(r + c) % B];
			}
			l->lower[i][r][r] -= 0.5;
			l->upper[i][r][r] -= 0.5;
			l->diag[i][r][r] += 2;
			l->rhs[i][r] = v[r];
		}
	}
}

static void sweep(vec *u, int n, size_t a, size_t b, size_t step)
{
#pragma omp parallel
	{
		struct line l = { array((size_t)n, sizeof(block)), array((size_t)n, sizeof(block)),
				  array((size_t)n, sizeof(block)), array((size_t)n, sizeof(vec)) };

#pragma omp for collapse(2)
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++) {
				vec *line = u + (size_t)i * a + (size_t)j * b;

				fill(&l, line, step, n);
				solve(&l, n);
				for (int k = 0; k < n; k++)
					memcpy(line[(size_t)k * step], l.rhs[k], sizeof(vec));
			}
		free(l.lower);
		free(l.diag);
		free(l.upper);
		free(l.rhs);
	}
}

int main(int argc, char **argv)
{
	int n = (int)argument(argc, argv, 1, 36);
	long times = argument(argc, argv, 2, 8);
	size_t m = (size_t)n, total = m * m * m;
	vec *u = array(total, sizeof(*u));
	double sum = 0;

	for (size_t i = 0; i < total * B; i++)
		u[i / B][i % B] = 1 + unit_at(i);
	for (long t = 0; t < times; t++) {
		sweep(u, n, m * m, m, 1);
		sweep(u, n, m * m, 1, m);
		sweep(u, n, m, 1, m * m);
	}
	for (size_t i = 0; i < total; i++)
		sum += u[i][i % B];
	checksum("bt", sum);
	return 0;
}
