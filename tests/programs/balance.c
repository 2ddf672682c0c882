// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: balance REPEATS: two functions that take as long as each other, one of them by many calls of a short function.
 * Prints how long they took, in ns: the least of all repeats.  To be compiled with -O2.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

enum { STEPS = 10, CALLS = 20000 };

static volatile uint64_t sink;

/* As many instructions at a time as the processor can execute: nothing is hidden behind others. */
static inline uint64_t step(uint64_t x)
{
	uint64_t a = x + 1, b = x ^ 2, c = x + 3, d = x ^ 4;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	a = a << 1 ^ 5, b = b + (b >> 3), c = c << 2 ^ 7, d = d - (d >> 5);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return (a ^ b) + (c ^ d);
}

APART static uint64_t part(uint64_t x)
{
	uint64_t sum = 0;

	for (int i = 0; i < STEPS; i++)
		sum += step(x + (uint64_t)i);
	return sum;
}

APART static void in_parts(void)
{
	uint64_t x = sink;

	for (int i = 0; i < CALLS; i++)
		x += part((uint64_t)i);
	sink = x;
}

APART static void at_once(void)
{
	uint64_t x = sink;

	for (int i = 0; i < CALLS * STEPS; i++)
		x += step((uint64_t)i);
	sink = x;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t least(uint64_t least, uint64_t since)
{
	uint64_t ns = now() - since;

	return ns < least ? ns : least;
}

int main(int argc, char **argv)
{
	uint64_t parts = UINT64_MAX, once = UINT64_MAX;

	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
		uint64_t then = now();

		in_parts();
		parts = least(parts, then);
		then = now();
		at_once();
		once = least(once, then);
	}
	fprintf(stderr, "%llu %llu\n", (unsigned long long)parts, (unsigned long long)once);
	return 0;
}
