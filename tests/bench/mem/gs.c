// SPDX-License-Identifier: GPL-3.0-or-later
/* Gauss-Seidel on a sparse matrix in CSR: the Laplacian of a square grid, red points first, then black ones. */
#include "kernel.h"

struct csr {
	int n, reds, *row, *col;
	double *val, *diag;
};

static int *number_points(int m, int *reds)
{
	int *number = array((size_t)m * (size_t)m, sizeof(int)), next = 0;

	for (int colour = 0; colour < 2; colour++) {
		for (int i = 0; i < m * m; i++)
			if ((i / m + i % m) % 2 == colour)
				number[i] = next++;
		if (colour == 0)
			*reds = next;
	}
	return number;
}

static void add_row(struct csr *a, const int *number, int m, int x, int y)
{
	static const int step[4][2] = { { -1, 0 }, { 0, -1 }, { 0, 1 }, { 1, 0 } };
	int i = number[x * m + y], k = a->row[i];

	for (int s = 0; s < 4; s++) {
		int u = x + step[s][0], v = y + step[s][1];

		if (u >= 0 && u < m && v >= 0 && v < m) {
			a->col[k] = number[u * m + v];
			a->val[k++] = -1;
		}
	}
	a->diag[i] = 4.05;
}

static int neighbours(int m, int x, int y)
{
	return (x > 0) + (y > 0) + (x < m - 1) + (y < m - 1);
}

static struct csr make(int m)
{
	int n = m * m, *number;
	struct csr a = { n, 0, array((size_t)n + 1, sizeof(int)), array(4 * (size_t)n, sizeof(int)),
			 array(4 * (size_t)n, sizeof(double)), array((size_t)n, sizeof(double)) };

	number = number_points(m, &a.reds);
	for (int i = 0; i < n; i++)
		a.row[number[i] + 1] = neighbours(m, i / m, i % m);
	for (int i = 0; i < n; i++)
		a.row[i + 1] += a.row[i];
	for (int i = 0; i < n; i++)
		add_row(&a, number, m, i / m, i % m);
	free(number);
	return a;
}

static void relax(const struct csr *a, const double *b, double *x, int from, int to)
{
#pragma omp parallel for
	for (int i = from; i < to; i++) {
		double sum = b[i];

		for (int k = a->row[i]; k < a->row[i + 1]; k++)
			sum -= a->val[k] * x[a->col[k]];
		x[i] = sum / a->diag[i];
	}
}

int main(int argc, char **argv)
{
	int m = (int)argument(argc, argv, 1, 500);
	long times = argument(argc, argv, 2, 250);
	struct csr a = make(m);
	double *b = array((size_t)a.n, sizeof(*b)), *x = array((size_t)a.n, sizeof(*x)), sum = 0;

	for (int i = 0; i < a.n; i++)
		b[i] = unit_at((uint64_t)i);
	for (long t = 0; t < times; t++) {
		relax(&a, b, x, 0, a.reds);
		relax(&a, b, x, a.reds, a.n);
	}
	for (int i = 0; i < a.n; i++)
		sum += x[i] * (i % 5);
	checksum("gs", sum);
	return 0;
}
