/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernels share.  Each takes its size and its number of repetitions as arguments, and prints a checksum that
 * is the same however it is run, and the CPU time that the process took, in ms.
 */
#ifndef SONDE_TESTS_BENCH_KERNEL_H
#define SONDE_TESTS_BENCH_KERNEL_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static inline long argument(int argc, char **argv, int i, long otherwise)
{
	long value = argc > i ? strtol(argv[i], NULL, 0) : otherwise;

	if (value < 1) {
		fprintf(stderr, "usage: %s [SIZE [TIMES]]\n", argv[0]);
		exit(2);
	}
	return value;
}

static inline void *array(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		perror("calloc");
		exit(1);
	}
	return p;
}

/* Steele, Lea and Flood's SplitMix64: the i-th number, so that threads can draw theirs. */
static inline uint64_t random_at(uint64_t i)
{
	uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline double unit_at(uint64_t i)
{
	return (double)(random_at(i) >> 11) * 0x1p-53;
}

static inline double milliseconds(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

static inline void checksum(const char *name, double value)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%s %.9e %.3f\n", name, value, milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime));
}

#endif
