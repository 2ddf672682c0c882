/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_matrix: numeric kernels. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

enum { N = 11 };
static double a[N][N], b[N][N], c[N][N];
static float f[N * N], g[N * N];
static double complex z[64];

OPAQUE void multiply(int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			double s = 0;
			for (int k = 0; k < n; k++)
				s += a[i][k] * b[k][j];
			c[i][j] = s;
		}
}

OPAQUE void multiply_rows(int n, const double *restrict x, const double *restrict y, double *restrict to)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			for (int j = 0; j < n; j++)
				to[i * n + j] += x[i * n + k] * y[k * n + j];
}

OPAQUE void blocked(int n, int block)
{
	for (int ii = 0; ii < n; ii += block)
		for (int jj = 0; jj < n; jj += block)
			for (int i = ii; i < n && i < ii + block; i++)
				for (int j = jj; j < n && j < jj + block; j++)
					g[j * n + i] = f[i * n + j];
}

OPAQUE double eliminate(int n)
{
	double det = 1;

	for (int k = 0; k < n; k++) {
		int best = k;
		for (int i = k + 1; i < n; i++)
			if (fabs(a[i][k]) > fabs(a[best][k]))
				best = i;
		for (int j = 0; j < n && best != k; j++) {
			double x = a[k][j];
			a[k][j] = a[best][j];
			a[best][j] = x;
		}
		det *= a[k][k];
		for (int i = k + 1; i < n; i++) {
			double q = a[i][k] / a[k][k];
			for (int j = k; j < n; j++)
				a[i][j] -= q * a[k][j];
		}
	}
	return det;
}

OPAQUE float dot(const float *x, const float *y, int n)
{
	float s = 0;
	for (int i = 0; i < n; i++)
		s += x[i] * y[i];
	return s;
}

OPAQUE void axpy(float *y, const float *x, float by, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += by * x[i];
}

OPAQUE void fourier(double complex *v, int n)
{
	for (int i = 1, j = 0; i < n; i++) {
		int bit = n >> 1;
		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			double complex x = v[i];
			v[i] = v[j];
			v[j] = x;
		}
	}
	for (int len = 2; len <= n; len <<= 1)
		for (int i = 0; i < n; i += len)
			for (int k = 0; k < len / 2; k++) {
				double complex w = cexp(-2 * M_PI * I * k / len);
				double complex x = v[i + k], y = v[i + k + len / 2] * w;
				v[i + k] = x + y;
				v[i + k + len / 2] = x - y;
			}
}

OPAQUE void sparse(const int *row, const int *col, const double *v, const double *x, double *y, int n)
{
	for (int i = 0; i < n; i++) {
		y[i] = 0;
		for (int k = row[i]; k < row[i + 1]; k++)
			y[i] += v[k] * x[col[k]];
	}
}

int main(void)
{
	int row[N + 1], col[3 * N], n = 0;
	double v[3 * N], x[N], y[N];

	for (int i = 0; i < N; i++) {
		row[i] = n;
		x[i] = i;
		for (int j = 0; j < N; j++) {
			a[i][j] = (i * 7 + j * 3) % 11 + (i == j);
			b[i][j] = i - j;
			f[i * N + j] = (float)(i + j);
			if ((i + j) % 7 == 0) {
				v[n] = i + 1;
				col[n++] = j;
			}
		}
	}
	row[N] = n;
	multiply(N);
	multiply_rows(9, &a[0][0], &b[0][0], &c[0][0]);
	blocked(N, 8);
	printf("%g %g\n", c[3][4], eliminate(N));
	for (int i = 0; i < 12; i++)
		printf("%g ", (double)dot(f, g + i, i * 3));
	for (int i = 0; i < 5; i++)
		axpy(f + i, g, .5f, 100 + i);
	for (int i = 0; i < 64; i++)
		z[i] = i;
	fourier(z, 64);
	sparse(row, col, v, x, y, N);
	printf("%g %.6g %.6g\n", (double)f[20], creal(z[5]), y[7]);
	return 0;
}
