/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_starts: constructors, destructors, functions for the exit, one that is chosen at the start. */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static int order;

OPAQUE int step(int i)
{
	order = order * 10 + i;
	return work(i);
}

__attribute__((constructor(101))) OPAQUE void first(void)
{
	step(1);
}

__attribute__((constructor)) OPAQUE void second(void)
{
	step(2);
}

__attribute__((destructor)) OPAQUE void last(void)
{
	step(3);
}

OPAQUE void at_exit(void)
{
	step(4);
	printf("%d\n", order);
}

OPAQUE int chosen_one(int i)
{
	return work(i) + 1;
}

OPAQUE int chosen_other(int i)
{
	return work(i) + 2;
}

int chosen(int i);
static int (*resolve(void))(int)
{
	return order == 0 ? chosen_one : chosen_other;
}
int chosen(int i) __attribute__((ifunc("resolve")));

__attribute__((weak)) OPAQUE int weak(int i)
{
	return chosen(i);
}

int main(void)
{
	atexit(at_exit);
	for (int i = 5; i < 8; i++)
		step(weak(i) % 10);
	return order % 50;
}
