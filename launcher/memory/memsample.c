/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/memsample.h"

#include <math.h>

/* What is in fewer of them may be so by chance, and as well be in none, or come often elsewhere. */
#define LEAST_GROUPS 4

/* Of all accesses, and of the misses. */
#define MOST_OF_ALL 0.01
#define MOST_OF_MISSES 0.25

/* By degrees of freedom from 1 on. */
static const double student[MEMPROFILE_GROUPS - 1] = {
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
};

double memsample_student(size_t degrees)
{
	return student[(degrees < MEMPROFILE_GROUPS - 1 ? degrees : MEMPROFILE_GROUPS - 1) - 1];
}

static double sum_of(const double v[static MEMPROFILE_GROUPS])
{
	double sum = 0;

	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++)
		sum += v[i];
	return sum;
}

static unsigned int groups_with(const double v[static MEMPROFILE_GROUPS])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++)
		n += v[i] > 0;
	return n;
}

double memsample_error(const double v[static MEMPROFILE_GROUPS], const double bursts[static MEMPROFILE_GROUPS],
		       const double occurs[static MEMPROFILE_GROUPS])
{
	unsigned int n = groups_with(bursts);
	double mean, squares = 0;

	if (!n)
		return 0;
	if (groups_with(occurs) < LEAST_GROUPS)
		return INFINITY;
	mean = sum_of(v) / sum_of(bursts);
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++) {
		double rest = v[i] - mean * bursts[i];

		squares += rest * rest;
	}
	return memsample_student(n - 1) * sqrt(squares * n / (n - 1));
}

bool memsample_known(double misses, double unknown, double all)
{
	double half = unknown / 2;

	return half <= MOST_OF_ALL * all || half <= MOST_OF_MISSES * (misses + half);
}
