/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: fn_calls: all ways to pass and return things: callbacks, variable arguments, structures, floating
 * point of all sizes, vectors, variable frames, nested functions (GCC only), many arguments.
 */
#include <complex.h>
#include <immintrin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

struct small { int a, b; };
struct mixed { double d; long l; };
struct big { long v[9]; };

OPAQUE int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

OPAQUE int variadic(const char *kinds, ...)
{
	va_list args;
	double sum = 0;

	va_start(args, kinds);
	for (; *kinds; kinds++)
		sum += *kinds == 'd' ? va_arg(args, double) : *kinds == 'l' ? (double)va_arg(args, long) : va_arg(args, int);
	va_end(args);
	return (int)sum;
}

OPAQUE struct small make_small(int a)
{
	return (struct small){ a, work(a) };
}

OPAQUE struct mixed make_mixed(int a)
{
	return (struct mixed){ a / 2.0, work(a) };
}

OPAQUE struct big make_big(int a)
{
	struct big b;

	for (int i = 0; i < 9; i++)
		b.v[i] = a * i;
	return b;
}

OPAQUE long take_big(struct big b, struct small s, struct mixed m)
{
	return b.v[3] + b.v[8] + s.b + (long)m.d;
}

OPAQUE long double extended(long double a, int n)
{
	return n ? extended(a / 3, n - 1) + n : a;
}

OPAQUE double _Complex complexes(double _Complex z, int n)
{
	while (n-- > 0)
		z = z * z * 0.5 + 0.1 * I;
	return z;
}

OPAQUE float singles(float a, float b, double c, float d, float e, float f, float g, float h, float i, int j)
{
	return a + b * (float)c - d + e * f + g * h - i + (float)j;
}

OPAQUE double sse(double x)
{
	return x * 2 + work((int)x);
}

__attribute__((target("avx2"))) OPAQUE __m256d vectors(__m256d a, __m256d b)
{
	return _mm256_add_pd(_mm256_mul_pd(a, b), a);
}

__attribute__((target("avx2"))) OPAQUE double with_vectors(double x)
{
	__m256d v = _mm256_set_pd(x, 2, 3, 4), w = vectors(v, v);
	double out[4];

	w = vectors(w, v);
	_mm256_storeu_pd(out, w);
	return out[0] + out[1] + out[2] + out[3];
}

OPAQUE long many(long a, long b, long c, long d, long e, long f, long g, long h, long i, char j, short k)
{
	return a - b + c - d + e - f + g - h + i - j + k + work((int)g);
}

OPAQUE int variable_frame(int n)
{
	char text[n + 1], *more = __builtin_alloca((size_t)n * 2 + 1);

	memset(text, 'a' + n % 26, (size_t)n);
	memset(more, 'b', (size_t)n * 2);
	text[n] = more[n * 2] = '\0';
	HIDE(n);
	return (int)(strlen(text) + strlen(more)) + work(n);
}

OPAQUE int calls_both(int (*f)(int), int i)
{
	return f(i) + f(i + 1);
}

#if defined(__GNUC__) && !defined(__clang__)
OPAQUE int nests(int n)
{
	int count = 0;

	OPAQUE int inner(int i)
	{
		count += i;
		return i ? inner(i - 1) + 1 : work(count);
	}
	return inner(n) + count;
}
#else
OPAQUE int nests(int n)
{
	return work(n);
}
#endif

__attribute__((noinline, noreturn)) static void finish(int status)
{
	fflush(stdout);
	exit(status);
}

/* Flags and several registers live over everything, for who gets them wrong. */
OPAQUE unsigned long carries(const unsigned long *v, int n)
{
	unsigned long lo = 0, hi = 0;

	for (int i = 0; i < n; i++) {
		unsigned long s;

		hi += __builtin_add_overflow(lo, v[i], &s);
		lo = s;
	}
	return lo ^ hi << 32;
}

int main(void)
{
	int v[] = { 5, 2, 8, 1, 9, 3 }, key = 8;
	unsigned long words[] = { ~0UL, 5, ~3UL, 77 };
	long sum = 0;

	qsort(v, 6, sizeof(*v), by_value);
	sum += *(int *)bsearch(&key, v, 6, sizeof(*v), by_value);
	sum = sum * 31 + variadic("iidlidd", 1, 2, 3.5, 4L, 5, 6.5, 7.0);
	sum = sum * 31 + variadic("dddddddddi", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10);
	sum = sum * 31 + take_big(make_big(3), make_small(4), make_mixed(5));
	sum = sum * 31 + (long)(extended(100, 5) * 1000);
	sum = sum * 31 + (long)(creal(complexes(0.3 + 0.2 * I, 4)) * 100000);
	sum = sum * 31 + (long)singles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
	sum = sum * 31 + (long)sse(3.5);
	if (__builtin_cpu_supports("avx2"))
		sum = sum * 31 + (long)with_vectors(1.5);
	sum = sum * 31 + many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	for (int i = 0; i < 5; i++)
		sum = sum * 31 + variable_frame(i * 100) + calls_both(i & 1 ? nests : variable_frame, i);
	sum ^= (long)carries(words, 4);
	printf("%lx\n", (unsigned long)sum);
	finish(sum & 63);
}
