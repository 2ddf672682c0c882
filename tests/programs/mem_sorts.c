/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_sorts: control flow that depends on data; callbacks from libc; functions in tables. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

enum { N = 50 };
static int v[N], w[N];

OPAQUE void fill(unsigned seed)
{
	for (int i = 0; i < N; i++)
		v[i] = (int)((seed = seed * 1103515245 + 12345) >> 16 & 1023);
}

OPAQUE void quick(int *lo, int *hi)
{
	while (lo < hi) {
		int *i = lo, *j = hi, pivot = lo[(hi - lo) / 2];
		while (i <= j) {
			while (*i < pivot)
				i++;
			while (*j > pivot)
				j--;
			if (i <= j) {
				int x = *i;
				*i++ = *j;
				*j-- = x;
			}
		}
		quick(lo, j);
		lo = i;
	}
}

OPAQUE void heap(int n)
{
	for (int start = n / 2, end = n; end > 1;) {
		int root, child, x;
		if (start > 0) {
			start--;
		} else {
			end--;
			x = v[end];
			v[end] = v[0];
			v[0] = x;
		}
		for (root = start; (child = 2 * root + 1) < end; root = child) {
			if (child + 1 < end && v[child] < v[child + 1])
				child++;
			if (v[root] >= v[child])
				break;
			x = v[root];
			v[root] = v[child];
			v[child] = x;
		}
	}
}

OPAQUE void merge(int *from, int *to, int n)
{
	int half = n / 2, i = 0, j = half;

	if (n < 2)
		return;
	merge(from, to, half);
	merge(from + half, to + half, n - half);
	for (int k = 0; k < n; k++)
		to[k] = j >= n || (i < half && from[i] <= from[j]) ? from[i++] : from[j++];
	memcpy(from, to, (size_t)n * sizeof(*to));
}

OPAQUE void bubble(int n)
{
	for (int swapped = 1; swapped; n--) {
		swapped = 0;
		for (int i = 1; i < n; i++)
			if (v[i - 1] > v[i]) {
				int x = v[i];
				v[i] = v[i - 1];
				v[i - 1] = x;
				swapped = 1;
			}
	}
}

OPAQUE int search(const int *at, int n, int x)
{
	int lo = 0, hi = n;

	while (lo < hi) {
		int middle = lo + (hi - lo) / 2;
		if (at[middle] < x)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

OPAQUE int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

OPAQUE int sieve(char *composite, int n)
{
	int primes = 0;

	memset(composite, 0, (size_t)n);
	for (int i = 2; i < n; i++) {
		if (composite[i])
			continue;
		primes++;
		for (int j = i * i; j < n; j += i)
			composite[j] = 1;
	}
	return primes;
}

OPAQUE long sum(int n, ...)
{
	long s = 0;
	va_list args;

	va_start(args, n);
	while (n--)
		s += va_arg(args, int);
	va_end(args);
	return s;
}

OPAQUE int twice(int x) { return v[x & 63] * 2; }
OPAQUE int plus(int x) { return v[x & 31]++ + 1; }
OPAQUE int other(int x) { return x & 1 ? twice(x) : plus(x); }

OPAQUE long through_table(int n)
{
	static int (*const fns[])(int) = { twice, plus, other, abs };
	long s = 0;

	for (int i = 0; i < n; i++)
		s += fns[i % 4](i);
	return s;
}

int main(void)
{
	char composite[400];

	fill(1);
	quick(v, v + N - 1);
	printf("%d %d\n", v[5], search(v, N, 500));
	fill(2);
	heap(N);
	fill(3);
	merge(v, w, N);
	fill(4);
	bubble(40);
	printf("%d %d\n", v[5], w[7]);
	fill(5);
	qsort(v, N, sizeof(*v), compare);
	printf("%p\n", bsearch(&v[3], v, N, sizeof(*v), compare) ? (void *)1 : NULL);
	printf("%d %ld %ld\n", sieve(composite, 400), sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9), through_table(40));
	return 0;
}
