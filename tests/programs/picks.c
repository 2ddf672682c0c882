/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: picks N: calls functions whose code is chosen at start-up (IFUNC): memcpy() and strlen() of
 * the C library, with sizes that nothing else uses, and its own pick().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

#define SIZE 7777

static char from[SIZE + 1], to[SIZE + 1];

OPAQUE int first_choice(int i)
{
	HIDE(i);
	return i + 1;
}

OPAQUE int second_choice(int i)
{
	HIDE(i);
	return i + 2;
}

#ifndef NO_OWN_IFUNC
static int (*choose(void))(int)
{
	return second_choice;
}

int pick(int i) __attribute__((ifunc("choose")));
#else
#define pick second_choice
#endif

int main(int argc, char **argv)
{
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;
	size_t (*volatile length)(const char *) = strlen;
	int n = atoi(argv[1]);
	long sum = 0;

	for (int i = 0; i < n; i++) {
		memset(from, 'a' + i % 26, SIZE);
		copy(to, from, SIZE);
		sum += (long)length(to) + to[SIZE / 2] + pick(i);
	}
	printf("%ld\n", sum);
	return 0;
}
