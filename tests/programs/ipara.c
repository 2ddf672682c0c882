/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of which the compiler knows which registers they leave alone, because it has compiled
 * them just before: the callers keep what they need in registers that any function may change.
 * (GCC: -fipa-ra, part of -O2.)
 */
#include <stdio.h>
#include <stdlib.h>

static volatile int sink;
static volatile long long_sink;

static __attribute__((noinline)) void tick(int i)
{
	sink = i;
}

static __attribute__((noinline)) int twice(int i)
{
	sink++;
	return 2 * i;
}

static __attribute__((noinline)) double half(double x)
{
	sink++;
	return x / 2;
}

static __attribute__((noinline)) void two(long a, long b)
{
	long_sink = a - b;
}

/* counts in a register of the caller's own choice, over calls in a loop */
static __attribute__((noinline)) long count_ticks(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++) {
		tick(i);
		sum += i ^ 5;
	}
	return sum;
}

static __attribute__((noinline)) long count_twice(int n, int a, int b, int c)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += twice(i + a) * 3 + b - (sum & c);
	return sum;
}

static __attribute__((noinline)) double count_half(int n, double y)
{
	double sum = 1, z = y * 3;

	for (int i = 0; i < n; i++) {
		sum += half(i) * y;
		z = z * 0.5 + sum;
	}
	return sum + z;
}

static __attribute__((noinline)) long count_two(long n)
{
	long a = 1, b = 2, c = 3, d = 4;

	for (long i = 0; i < n; i++) {
		two(a, b);
		a += b ^ i;
		b += c;
		c = d - a;
		d += 1;
	}
	return a + b + c + d;
}

/* a leaf called by a leaf's caller: what a call of middle() changes is known as well */
static __attribute__((noinline)) void middle(int i)
{
	tick(i);
	tick(i + 1);
}

static __attribute__((noinline)) long count_middle(int n, long step)
{
	long sum = 7;

	for (int i = 0; i < n; i++, sum += step)
		middle(i);
	return sum;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;

	printf("%ld\n", count_ticks(n));
	printf("%ld\n", count_twice(n, 3, 4, 5));
	printf("%.17g\n", count_half(n, 0.75));
	printf("%ld\n", count_two(n));
	printf("%ld %d\n", count_middle(n, 3), sink);
	return 0;
}
