/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_recursion DEPTH: recursion of one, two and three functions, that deep; Ackermann's; a tree. */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

OPAQUE long self(long n)
{
	long r;

	if (n == 0)
		return 0;
	r = self(n - 1);
	HIDE(r);
	return r + n;
}

long b(long n);

OPAQUE long a(long n)
{
	long r;

	if (n == 0)
		return 1;
	r = b(n - 1);
	HIDE(r);
	return r + 1;
}

OPAQUE long b(long n)
{
	long r;

	if (n == 0)
		return 2;
	r = a(n - 1);
	HIDE(r);
	return r ^ n;
}

OPAQUE int ackermann(int m, int n)
{
	if (m == 0)
		return n + 1;
	if (n == 0)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}

/* A compiler may make a loop of the second call, and inline it into itself. */
__attribute__((noinline)) int tree(int n)
{
	return n < 2 ? work(n) : tree(n - 1) + tree(n - 2);
}

int main(int argc, char **argv)
{
	long depth = argc > 1 ? atol(argv[1]) : 100;

	printf("%ld %ld %d %d\n", self(depth), a(depth), ackermann(2, 3), tree(9));
	return 0;
}
