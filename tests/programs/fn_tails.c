/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_tails: calls in tail position: mutual, through pointers, conditional, to libraries, in loops. */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

typedef long step(long, long);

long even(long n, long acc);

OPAQUE long odd(long n, long acc)
{
	if (n == 0)
		return -acc;
	return even(n - 1, acc + n);
}

OPAQUE long even(long n, long acc)
{
	if (n == 0)
		return acc;
	return odd(n - 1, acc ^ n);
}

OPAQUE long add(long a, long b)
{
	return a + b;
}

OPAQUE long sub(long a, long b)
{
	return a - b;
}

step *table[4];

OPAQUE long by_pointer(step *f, long a, long b)
{
	return f(a, b);
}

OPAQUE long by_table(int i, long a, long b)
{
	return table[i & 3](a, b);
}

OPAQUE long conditional(long a, long b)
{
	if (a > b)
		return add(a, b);
	return sub(a, b);
}

OPAQUE long often_itself(long n, long acc)
{
	while (n > 0) {
		acc += n;
		n -= 2;
	}
	return n == 0 ? acc : work((int)acc);
}

/* Jumps to its own start (with -O2), which is no entry. */
OPAQUE long myself(long n, long acc)
{
	if (n <= 0)
		return acc;
	return myself(n - 1, acc * 3 + n);
}

OPAQUE int to_library(const char *s)
{
	return atoi(s);
}

/* More registers are saved around a call, and put back before the jump. */
OPAQUE long after_calls(long a, long b, long c)
{
	long x = add(a, b), y = sub(b, c), z = add(x, c);

	if (z & 1)
		return conditional(x + y, z);
	return by_pointer(sub, x * y, z);
}

int main(void)
{
	long sum = 0;

	table[0] = add;
	table[1] = sub;
	table[2] = conditional;
	table[3] = even;
	sum += even(40, 0) + odd(41, 1);
	for (int i = 0; i < 12; i++) {
		sum = sum * 31 + by_pointer(i & 1 ? add : sub, i, 3);
		sum = sum * 31 + by_table(i, i, 5);
		sum = sum * 31 + conditional(i, 5);
		sum = sum * 31 + often_itself(i, i);
		sum = sum * 31 + myself(i, 1);
		sum = sum * 31 + after_calls(i, i * 2, i * 3);
	}
	sum += to_library("17") + to_library("-4");
	printf("%lx\n", (unsigned long)sum);
	return 0;
}
