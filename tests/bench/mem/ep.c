// SPDX-License-Identifier: GPL-3.0-or-later
/* Pairs of Gaussian deviates by the polar method, counted by square rings: arithmetic, logarithms and square roots. */
#include "kernel.h"

#define RINGS 10

int main(int argc, char **argv)
{
	long n = argument(argc, argv, 1, 24000000), q[RINGS] = { 0 };
	double sx = 0, sy = 0, sum = 0;

#pragma omp parallel for reduction(+ : sx, sy, q[:RINGS])
	for (long i = 0; i < n; i++) {
		double x = 2 * unit_at(2 * (uint64_t)i) - 1, y = 2 * unit_at(2 * (uint64_t)i + 1) - 1;
		double t = x * x + y * y;

		if (t <= 1 && t > 0) {
			double f = sqrt(-2 * log(t) / t), gx = fabs(x * f), gy = fabs(y * f);

			q[(int)fmin(fmax(gx, gy), RINGS - 1)]++;
			sx += x * f;
			sy += y * f;
		}
	}
	for (int i = 0; i < RINGS; i++)
		sum += (double)q[i] * (i + 1);
	checksum("ep", sum + round(sx) + round(sy));
	return 0;
}
