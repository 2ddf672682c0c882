/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_loops: loops of every shape over arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

enum { N = 203 };
static int a[N + 64], b[N + 64], at[N];
static double d[N], e[N];
static char text[512];
static int square[40][41];

OPAQUE long up(const int *v, int n)
{
	long s = 0;
	for (int i = 0; i < n; i++)
		s += v[i];
	return s;
}

OPAQUE long down(const int *v, int n)
{
	long s = 0;
	for (int i = n - 1; i >= 0; i--)
		s = s * 3 + v[i];
	return s;
}

OPAQUE long down_unsigned(const int *v, unsigned n)
{
	long s = 0;
	while (n--)
		s ^= v[n];
	return s;
}

OPAQUE void strided(int *v, int n, int step)
{
	for (int i = 0; i < n; i += step)
		v[i] += i;
}

OPAQUE void not_equal(double *p, double *end, double x)
{
	for (; p != end; p++)
		*p = *p * x + 1;
}

OPAQUE long wraps(const int *v, unsigned from, unsigned to)
{
	long s = 0;
	for (unsigned i = from; i != to; i++) /* over 2^32 */
		s += v[i & 15];
	return s;
}

OPAQUE int until_zero(const char *p)
{
	int n = 0;
	while (*p++)
		n++;
	return n;
}

OPAQUE int chain(const int *next, int i)
{
	int n = 0;
	while ((i = next[i]) > 0 && n < 30)
		n++;
	return n;
}

OPAQUE long nested(int n, int m)
{
	long s = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
			s += square[i][j] = i * j;
	return s;
}

OPAQUE long triangle(int n)
{
	long s = 0;
	for (int i = 0; i < n; i++) {
		for (int j = i; j < n; j++)
			s += square[i][j] - square[j][i];
		for (int j = 0; j < i; j++)
			square[i][j] = square[j][i];
	}
	return s;
}

OPAQUE int first(const int *v, int n, int x, int y)
{
	for (int i = 0; i < n; i++) {
		if (v[i] == x)
			return i;
		if (v[n - 1 - i] == y)
			break;
		if (i > 50 && v[i] & 64)
			continue;
		if (v[i + 1] < 0)
			return -i;
	}
	return n;
}

OPAQUE int do_while(int *v)
{
	int i = 0;
	do {
		v[i] = v[i + 1];
		i += 2;
	} while (v[i] >= 0 && i < 90);
	return i;
}

OPAQUE void two_ends(int *v, int n)
{
	for (int i = 0, j = n - 1; i < j; i++, j--) {
		int x = v[i];
		v[i] = v[j];
		v[j] = x;
	}
}

OPAQUE long doubling(const int *v, int n)
{
	long s = 0;
	for (int i = 1; i < n; i *= 2)
		s += v[i];
	for (int i = n - 1; i > 0; i /= 3)
		s += v[i];
	for (int i = n - 1; i > 0; i >>= 1)
		s += v[i ^ 1];
	return s;
}

OPAQUE void scatters(int *v, const int *where, int n)
{
	for (int i = 0; i < n; i++)
		v[where[i]] += i;
}

OPAQUE void bound_in_memory(int *v, int *n)
{
	for (int i = 0; i < *n; i++) {
		v[i]++;
		if (i == 20)
			*n -= 7;
	}
}

OPAQUE long once(const int *v, int n)
{
	long s = 0;
	for (int i = 0; i < 10; i++)
		for (int j = 0; j < (i & n); j++)
			for (int k = j; k < 3; k++)
				s += v[i + j * k];
	return s;
}

OPAQUE void unrolled(int *to, const int *from, int n)
{
	switch (n % 8) {
	case 0:	do { *to++ = *from++;
	case 7:	     *to++ = *from++;
	case 6:	     *to++ = *from++;
	case 5:	     *to++ = *from++;
	case 4:	     *to++ = *from++;
	case 3:	     *to++ = *from++;
	case 2:	     *to++ = *from++;
	case 1:	     *to++ = *from++;
		} while ((n -= 8) > 0);
	}
}

OPAQUE double recurrence(double *v, int n)
{
	for (int i = 2; i < n; i++)
		v[i] = v[i - 1] * .5 + v[i - 2] * .25;
	return v[n - 1];
}

OPAQUE void stencil(double *to, const double *from, int n, int times)
{
	for (int t = 0; t < times; t++) {
		double *x = to;
		for (int i = 1; i < n - 1; i++)
			to[i] = from[i - 1] + from[i + 1] - 2 * from[i];
		to = (double *)from;
		from = x;
	}
}

int main(void)
{
	int n = 60;

	for (int i = 0; i < N; i++) {
		a[i] = i * 37 % 101;
		b[i] = i * 3;
		d[i] = i;
		at[i] = (i * 61 + 7) % N;
	}
	at[40] = 0;
	memset(text, 'x', 300);
	printf("%ld %ld %ld\n", up(a, N), down(a, N), down_unsigned((int *)a, N));
	for (int i = 0; i < 4; i++)
		printf("%ld %ld\n", up(a, i), down(a, i));
	strided(b, N, 7);
	strided(b, 3, 3);
	not_equal(d, d + 50, 1.5);
	not_equal(d, d, 1.5);
	printf("%ld %d %d\n", wraps(a, -20u, 20), until_zero(text), until_zero(""));
	printf("%d %ld %ld\n", chain(at, 1), nested(17, 23), triangle(30));
	printf("%d %d %d\n", first(a, N, 99, -1), first(a, N, -1, 3), first(b, N, -1, -1));
	printf("%d\n", do_while(b));
	two_ends(a, N);
	two_ends(a, 2);
	printf("%ld %ld\n", doubling(a, N), once(a, 7));
	scatters(b, at, N);
	bound_in_memory(b, &n);
	unrolled(a, b, 61);
	unrolled(a, b, 8);
	printf("%g\n", recurrence(d, N));
	stencil(e, d, N, 4);
	printf("%ld %g\n", up(b, N), e[N / 2]);
	return 0;
}
