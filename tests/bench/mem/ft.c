// SPDX-License-Identifier: GPL-3.0-or-later
/* 3-D fast Fourier transforms of complex numbers: forth, a step of the heat equation, and back. */
#include <complex.h>

#include "kernel.h"

typedef double complex cplx;

static int n;
static cplx *root;	/* n-th roots of one */

static void make_roots(void)
{
	root = array((size_t)n, sizeof(*root));
	for (int i = 0; i < n; i++)
		root[i] = cexp(-2 * M_PI * I * i / n);
}

/* Stockham: in place of reversed bits, two arrays in turns. */
static cplx *fft(cplx *restrict x, cplx *restrict y)
{
	for (int half = n / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
		cplx *t;

		for (int p = 0; p < half; p++) {
			double wr = creal(root[p * stride]), wi = cimag(root[p * stride]);

			for (int q = 0; q < stride; q++) {
				cplx a = x[q + stride * p], b = x[q + stride * (p + half)], d = a - b;

				y[q + stride * 2 * p] = a + b;
				y[q + stride * (2 * p + 1)] = CMPLX(creal(d) * wr - cimag(d) * wi,
								    creal(d) * wi + cimag(d) * wr);
			}
		}
		t = x;
		x = y;
		y = t;
	}
	return x;
}

/* All lines along one axis: those that begin at i * a + j * b, elements `step` from each other. */
static void lines(cplx *u, size_t a, size_t b, size_t step)
{
#pragma omp parallel
	{
		cplx *x = array((size_t)n, sizeof(*x)), *y = array((size_t)n, sizeof(*y));

#pragma omp for collapse(2)
		for (int i = 0; i < n; i++) {
			for (int j = 0; j < n; j++) {
				cplx *line = u + (size_t)i * a + (size_t)j * b, *z;

				for (int k = 0; k < n; k++)
					x[k] = line[(size_t)k * step];
				z = fft(x, y);
				for (int k = 0; k < n; k++)
					line[(size_t)k * step] = z[k];
			}
		}
		free(x);
		free(y);
	}
}

static void transform(cplx *u)
{
	size_t m = (size_t)n;

	lines(u, m * m, m, 1);
	lines(u, m * m, 1, m);
	lines(u, m, 1, m * m);
}

static double frequency(int i)
{
	return i < n / 2 ? i : i - n;
}

/* Conjugated, so that the next transform is the way back. */
static void evolve(cplx *u)
{
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int k = 0; k < n; k++) {
				double f = frequency(i), g = frequency(j), h = frequency(k);
				cplx *p = &u[((size_t)i * (size_t)n + (size_t)j) * (size_t)n + (size_t)k];

				*p = conj(*p) / (1 + 1e-3 * (f * f + g * g + h * h)) / ((double)n * n * n);
			}
}

int main(int argc, char **argv)
{
	long steps = argument(argc, argv, 2, 6);
	size_t total;
	double sum = 0;
	cplx *u;

	for (n = 2; n < argument(argc, argv, 1, 64); n *= 2)
		;
	total = (size_t)n * (size_t)n * (size_t)n;
	make_roots();
	u = array(total, sizeof(*u));
	for (size_t i = 0; i < total; i++)
		u[i] = CMPLX(unit_at(2 * i), unit_at(2 * i + 1));
	for (long s = 0; s < steps; s++) {
		transform(u);
		evolve(u);
		transform(u);
	}
	for (size_t i = 0; i < total; i += 97)
		sum += cabs(u[i]);
	checksum("ft", sum);
	return 0;
}
