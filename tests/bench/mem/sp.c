// SPDX-License-Identifier: GPL-3.0-or-later
/* Scalar pentadiagonal systems along the lines of a cube in each of three directions, five unknowns a point. */
#include "kernel.h"

#define V 5

/* The five diagonals of a line's matrix. */
typedef double row[5];

static void fill(row *d, const double *speed, size_t step, int n)
{
	for (int i = 0; i < n; i++) {
		double s = 0.1 * speed[(size_t)i * step];

		d[i][0] = i > 1 ? 0.05 : 0;
		d[i][1] = i > 0 ? -0.4 - s : 0;
		d[i][2] = 2;
		d[i][3] = i < n - 1 ? -0.4 + s : 0;
		d[i][4] = i < n - 2 ? 0.05 : 0;
	}
}

/* Elimination forwards; right sides of all unknowns at once. */
static void forward(row *d, double *u, size_t step, int n)
{
	for (int i = 0; i < n; i++) {
		double *x = u + (size_t)i * step, inv = 1 / d[i][2];

		d[i][3] *= inv;
		d[i][4] *= inv;
		for (int v = 0; v < V; v++)
			x[v] *= inv;
		if (i + 1 < n) {
			double f = d[i + 1][1];

			d[i + 1][2] -= f * d[i][3];
			d[i + 1][3] -= f * d[i][4];
			for (int v = 0; v < V; v++)
				x[step + (size_t)v] -= f * x[v];
		}
		if (i + 2 < n) {
			double f = d[i + 2][0];

			d[i + 2][1] -= f * d[i][3];
			d[i + 2][2] -= f * d[i][4];
			for (int v = 0; v < V; v++)
				x[2 * step + (size_t)v] -= f * x[v];
		}
	}
}

static void backward(row *d, double *u, size_t step, int n)
{
	for (int i = n - 2; i >= 0; i--) {
		double *x = u + (size_t)i * step;

		for (int v = 0; v < V; v++)
			x[v] -= d[i][3] * x[step + (size_t)v];
		if (i + 2 < n)
			for (int v = 0; v < V; v++)
				x[v] -= d[i][4] * x[2 * step + (size_t)v];
	}
}

/* Lines begin at i * a + j * b points. */
static void sweep(double *u, const double *speed, int n, size_t a, size_t b, size_t step)
{
#pragma omp parallel
	{
		row *d = array((size_t)n, sizeof(*d));

#pragma omp for collapse(2)
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++) {
				size_t at = (size_t)i * a + (size_t)j * b;

				fill(d, speed + at, step, n);
				forward(d, u + V * at, V * step, n);
				backward(d, u + V * at, V * step, n);
			}
		free(d);
	}
}

/* Fourth differences along the first axis keep it from dying down at once. */
static void right_side(double *u, const double *old, int n)
{
	size_t plane = V * (size_t)n * (size_t)n;

#pragma omp parallel for
	for (int i = 2; i < n - 2; i++)
		for (size_t k = 0; k < plane; k++) {
			size_t at = (size_t)i * plane + k;

			u[at] = 1.2 * old[at] - 0.02 * (old[at - 2 * plane] - 4 * old[at - plane] + 6 * old[at] -
							4 * old[at + plane] + old[at + 2 * plane]);
		}
}

int main(int argc, char **argv)
{
	int n = (int)argument(argc, argv, 1, 64);
	long times = argument(argc, argv, 2, 20);
	size_t m = (size_t)n, total = m * m * m;
	double *u = array(V * total, sizeof(*u)), *old = array(V * total, sizeof(*old)), *speed = array(total, sizeof(*u));
	double sum = 0;

	for (size_t i = 0; i < V * total; i++)
		u[i] = 1 + unit_at(i);
	for (size_t i = 0; i < total; i++)
		speed[i] = unit_at(i + 1);
	for (long t = 0; t < times; t++) {
		memcpy(old, u, V * total * sizeof(*u));
		right_side(u, old, n);
		sweep(u, speed, n, m * m, m, 1);
		sweep(u, speed, n, m * m, 1, m);
		sweep(u, speed, n, m, 1, m * m);
	}
	for (size_t i = 0; i < V * total; i++)
		sum += u[i] * (double)(i % 3);
	checksum("sp", sum);
	return 0;
}
