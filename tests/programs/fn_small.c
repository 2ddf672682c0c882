/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: fn_small: functions of few bytes, functions that begin with a loop, cold parts, returns in several
 * places, functions that do not return.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

OPAQUE void nothing(void)
{
}

OPAQUE int zero(void)
{
	return 0;
}

OPAQUE int same(int i)
{
	return i;
}

OPAQUE int *address(void)
{
	static int there;

	return &there;
}

OPAQUE int load(const int *p)
{
	return *p;
}

OPAQUE void store(int *p, int v)
{
	*p = v;
}

/* Its loop may begin with its first instruction. */
OPAQUE const char *skip(const char *s)
{
	while (*s == ' ')
		s++;
	return s;
}

OPAQUE unsigned int collatz(unsigned int n)
{
	do
		n = n & 1 ? n * 3 + 1 : n / 2;
	while (n > 100);
	return n;
}

OPAQUE void spin(volatile int *p)
{
	while (--*p > 0)
		;
}

OPAQUE int wanders(int n, volatile int *p)
{
	for (;;) {
		*p += n;
		if (*p > 50)
			return *p;
		if (*p & 1)
			nothing();
	}
}

OPAQUE int early(int a, int b)
{
	if (a < 0)
		return -1;
	if (b < 0)
		return -2;
	if (a > b)
		return work(a);
	if (a == b)
		return 0;
	return zero() + a * b;
}

__attribute__((noinline, cold)) void complain(int i)
{
	work(i + 1000);
}

/* GCC splits what it believes cold into rarely.cold. */
OPAQUE int rarely(int i, int *p)
{
	int r = i * 3;

	if (__builtin_expect(i % 5 == 4, 0)) {
		complain(i);
		r += load(p);
		complain(r);
		if (r & 1)
			return -r;
		store(p, r);
	}
	for (int k = 0; k < i % 4; k++)
		r += same(k);
	return r;
}

OPAQUE int checked(int i)
{
	if (i > 1000)
		abort();
	if (i > 900)
		__builtin_trap();
	return work(i);
}

OPAQUE int strings(char *to, const char *from, size_t n)
{
	__builtin_memcpy(to, from, n);
	__builtin_memset(to + n, 0, 40);
	return (int)strlen(to);
}

OPAQUE double average(const double *v, int n)
{
	double s = 0;

	for (int i = 0; i < n; i++)
		s += v[i] * v[i] + i;
	return n ? s / n : 0;
}

/* Cold enough to be made part of by -O2 (partial inlining). */
static int __attribute__((noinline)) partly(int i)
{
	if (i < 3)
		return i;
	for (int k = 0; k < 3; k++)
		i = work(i);
	return i;
}

int main(void)
{
	double v[37];
	char text[128];
	int p, there = 3;
	long sum = 0;

	for (int i = 0; i < 37; i++)
		v[i] = i / 3.0;
	for (int i = 0; i < 10; i++) {
		nothing();
		store(address(), i);
		p = i;
		spin(&p);
		sum = sum * 31 + zero() + same(i) + load(address()) + p;
		sum = sum * 31 + *skip("   x" + i % 4) + collatz((unsigned int)i * 1000 + 27);
		p = 1;
		sum = sum * 31 + wanders(i + 3, &p) + early(i - 2, 4) + early(i, -1);
		sum = sum * 31 + rarely(i, &there) + checked(i) + partly(i);
		sum = sum * 31 + strings(text, "some text that is copied about", (size_t)i * 3);
		sum = sum * 31 + (long)average(v, i * 4);
	}
	printf("%lx\n", (unsigned long)sum);
	return 0;
}
