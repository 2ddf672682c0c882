/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: jumps N: N times outer() calls middle() calls inner(), which calls work() and every second
 * time leaves all three by longjmp; after each, work() is called again from main().
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

static jmp_buf home;

OPAQUE int inner(int i)
{
	work(i);
	if (i % 2)
		longjmp(home, 1);
	return i + 1;
}

OPAQUE int middle(int i)
{
	int r = inner(i) + 1;

	HIDE(r);
	return r;
}

OPAQUE int outer(int i)
{
	int r = middle(i) + 1;

	HIDE(r);
	return r;
}

int main(int argc, char **argv)
{
	volatile int jumped = 0, returned = 0;
	int n = atoi(argv[1]);

	for (volatile int i = 0; i < n; i++) {
		if (setjmp(home) == 0) {
			returned += outer(i) == i + 3;
		} else {
			jumped++;
		}
		work(-i);
	}
	printf("%d returned, %d jumped\n", returned, jumped);
	return 0;
}
