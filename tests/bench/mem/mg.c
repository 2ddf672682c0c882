// SPDX-License-Identifier: GPL-3.0-or-later
/* Multigrid V-cycles for Poisson's equation in a cube: residual, restriction, interpolation, Jacobi smoothing. */
#include "kernel.h"

#define MAX_LEVELS 10

/* n inner points along an edge, and a rim of zeros */
struct grid {
	int n;
	double *u, *f, *r;
};

#define AT(g, v, i, j, k) ((v)[((size_t)(i) * (size_t)((g)->n + 2) + (size_t)(j)) * (size_t)((g)->n + 2) + (size_t)(k)])

static struct grid make(int n)
{
	size_t total = (size_t)(n + 2) * (size_t)(n + 2) * (size_t)(n + 2);

	return (struct grid){ n, array(total, sizeof(double)), array(total, sizeof(double)), array(total, sizeof(double)) };
}

static void residual(const struct grid *g)
{
	const double *u = g->u, *f = g->f;
	double *r = g->r;

#pragma omp parallel for
	for (int i = 1; i <= g->n; i++)
		for (int j = 1; j <= g->n; j++)
			for (int k = 1; k <= g->n; k++)
				AT(g, r, i, j, k) = AT(g, f, i, j, k) - 6 * AT(g, u, i, j, k) +
						    AT(g, u, i - 1, j, k) + AT(g, u, i + 1, j, k) +
						    AT(g, u, i, j - 1, k) + AT(g, u, i, j + 1, k) +
						    AT(g, u, i, j, k - 1) + AT(g, u, i, j, k + 1);
}

static void smooth(const struct grid *g)
{
	residual(g);
#pragma omp parallel for
	for (int i = 1; i <= g->n; i++)
		for (int j = 1; j <= g->n; j++)
			for (int k = 1; k <= g->n; k++)
				AT(g, g->u, i, j, k) += AT(g, g->r, i, j, k) * (0.8 / 6);
}

/* Eight fine points are one coarse one; scaled so that the coarse system is that of piecewise constant corrections. */
static void restrict_to(const struct grid *fine, const struct grid *coarse)
{
	const double *r = fine->r;

#pragma omp parallel for
	for (int i = 1; i <= coarse->n; i++)
		for (int j = 1; j <= coarse->n; j++)
			for (int k = 1; k <= coarse->n; k++) {
				int x = 2 * i, y = 2 * j, z = 2 * k;

				AT(coarse, coarse->f, i, j, k) =
					0.25 * (AT(fine, r, x, y, z) + AT(fine, r, x, y, z - 1) +
					       AT(fine, r, x, y - 1, z) + AT(fine, r, x, y - 1, z - 1) +
					       AT(fine, r, x - 1, y, z) + AT(fine, r, x - 1, y, z - 1) +
					       AT(fine, r, x - 1, y - 1, z) + AT(fine, r, x - 1, y - 1, z - 1));
				AT(coarse, coarse->u, i, j, k) = 0;
			}
}

static void interpolate(const struct grid *coarse, const struct grid *fine)
{
#pragma omp parallel for
	for (int i = 1; i <= fine->n; i++)
		for (int j = 1; j <= fine->n; j++)
			for (int k = 1; k <= coarse->n; k++) {
				double v = AT(coarse, coarse->u, (i + 1) / 2, (j + 1) / 2, k);

				AT(fine, fine->u, i, j, 2 * k - 1) += v;
				AT(fine, fine->u, i, j, 2 * k) += v;
			}
}

static void cycle(const struct grid *g, int levels)
{
	smooth(g);
	smooth(g);
	if (levels > 1) {
		residual(g);
		restrict_to(g, g + 1);
		cycle(g + 1, levels - 1);
		interpolate(g + 1, g);
	}
	smooth(g);
	smooth(g);
}

int main(int argc, char **argv)
{
	long size = argument(argc, argv, 1, 96), times = argument(argc, argv, 2, 30);
	struct grid g[MAX_LEVELS];
	int levels = 0;
	double sum = 0;

	for (int n = (int)size + (int)size % 2; levels < MAX_LEVELS && n >= 2; n /= 2) {
		g[levels++] = make(n);
		if (n % 2)
			break;
	}
	for (int i = 0; i < 20; i++)
		AT(g, g->f, 1 + random_at((uint64_t)i) % (uint64_t)g->n, 1 + i % g->n, g->n / 2) = i % 2 ? 1 : -1;
	for (long t = 0; t < times; t++)
		cycle(g, levels);
	for (int i = 1; i <= g->n; i++)
		sum += AT(g, g->u, i, i, i) * i;
	checksum("mg", sum);
	return 0;
}
