/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: random COUNT: calls noise() with values that no compressor makes smaller; prints how often
 * it was called. COUNT 0: until a signal ends it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

OPAQUE uint64_t noise(uint64_t a, uint64_t b, uint64_t c)
{
	HIDE(a);
	return a ^ b ^ c;
}

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	uint64_t state = 42, sum = 0, a, b, c;

	for (long i = 0; n == 0 || i < n; i++) {
		a = next(&state);
		b = next(&state);
		c = next(&state);
		sum += noise(a, b, c);
	}
	printf("%ld %lx\n", n, (unsigned long)sum);
	return 5;
}
