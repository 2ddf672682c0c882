/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: recurse DEPTH N: down(DEPTH), which calls itself DEPTH times; ping(DEPTH) and pong(), which
 * call one another; fib(N). Prints how often each was called.
 */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static long downs, pings, pongs, fibs;

OPAQUE int down(int n)
{
	int r = 0;

	downs++;
	if (n > 0)
		r = down(n - 1) + 1;
	HIDE(r); /* no tail call, no loop */
	return r;
}

OPAQUE int pong(int n);

OPAQUE int ping(int n)
{
	int r = 0;

	pings++;
	if (n > 0)
		r = pong(n - 1) + 1;
	HIDE(r);
	return r;
}

OPAQUE int pong(int n)
{
	int r = 0;

	pongs++;
	if (n > 0)
		r = ping(n - 1) + 1;
	HIDE(r);
	return r;
}

OPAQUE int fib(int n)
{
	int r = n;

	fibs++;
	if (n > 1)
		r = fib(n - 1) + fib(n - 2);
	HIDE(r);
	return r;
}

int main(int argc, char **argv)
{
	int depth = atoi(argv[1]), n = atoi(argv[2]);

	printf("down %d ping %d fib %d\n", down(depth), ping(depth), fib(n));
	printf("calls: down %ld ping %ld pong %ld fib %ld\n", downs, pings, pongs, fibs);
	return 0;
}
