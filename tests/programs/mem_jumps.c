/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_jumps: loops that are left and entered by longjmp and swapcontext. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "work.h"

static jmp_buf home;
static int v[128];
static ucontext_t from, to[3];
static char stacks[3][32768];
static int given;

OPAQUE void deep(int n, int at)
{
	volatile int local[8];

	for (int i = 0; i < 8; i++)
		local[i] = v[i] + n;
	if (n == at)
		longjmp(home, n + 1);
	deep(n + 1, at);
	v[local[2] & 127]++;
}

OPAQUE int catches(int n)
{
	volatile int sum = 0;

	for (volatile int i = 0; i < n; i++) {
		int got = setjmp(home);
		for (int k = 0; k < 6; k++)
			v[k] += got;
		if (got == 0)
			deep(0, i);
		sum += v[got & 7];
	}
	return sum;
}

OPAQUE void generator(int which)
{
	for (int i = 0; i < 7; i++) {
		for (int k = 0; k < i; k++)
			v[64 + k] += which;
		given = v[64 + i] + i;
		swapcontext(&to[which], &from);
	}
	given = -1;
}

OPAQUE int coroutines(void)
{
	int sum = 0;

	for (int i = 0; i < 3; i++) {
		getcontext(&to[i]);
		to[i].uc_stack.ss_sp = stacks[i];
		to[i].uc_stack.ss_size = sizeof(stacks[i]);
		to[i].uc_link = &from;
		makecontext(&to[i], (void (*)(void))generator, 1, i);
	}
	for (int i = 0; i < 18; i++) {
		swapcontext(&from, &to[i % 3]);
		v[i] = given;
		sum = sum * 3 + given;
	}
	return sum;
}

OPAQUE int compare(const void *a, const void *b)
{
	if (*(const int *)a == 77)
		longjmp(home, 1);
	return *(const int *)a - *(const int *)b;
}

OPAQUE int out_of_libc(void)
{
	for (int i = 0; i < 40; i++)
		v[i] = i * 19 % 83;
	if (setjmp(home) == 0)
		qsort(v, 40, sizeof(*v), compare);
	return v[3] > 3;
}

int main(void)
{
	printf("%d\n", catches(9));
	printf("%d\n", coroutines());
	printf("%d\n", out_of_libc());
	return 0;
}
