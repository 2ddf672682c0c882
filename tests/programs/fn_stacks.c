/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_stacks: coroutines by swapcontext(), that call functions, and end. */
#include <stdio.h>
#include <ucontext.h>

#include "work.h"

static ucontext_t back, there[2];
static char stacks[2][65536];
static int at[2];

OPAQUE int yields(int k, int i)
{
	at[k] = work(i);
	swapcontext(&there[k], &back);
	return work(i + 1);
}

OPAQUE void routine(int k)
{
	int sum = 0;

	for (int i = 0; i < 4; i++)
		sum += yields(k, i);
	at[k] = sum;
}

OPAQUE int turn(int k)
{
	swapcontext(&back, &there[k]);
	return work(at[k]);
}

int main(void)
{
	long sum = 0;

	for (int k = 0; k < 2; k++) {
		getcontext(&there[k]);
		there[k].uc_stack.ss_sp = stacks[k];
		there[k].uc_stack.ss_size = sizeof(stacks[k]);
		there[k].uc_link = &back;
		makecontext(&there[k], (void (*)(void))routine, 1, k);
	}
	for (int i = 0; i < 10; i++)
		sum = sum * 31 + turn(i % 2);
	printf("%lx\n", (unsigned long)sum);
	return 0;
}
