/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: switches N: four coroutines on stacks of their own; each enters outer(), which gives the
 * processor to the next N times, calling work() each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "work.h"

#define COROUTINES 4
#define STACK (128 * 1024)

static ucontext_t home, context[COROUTINES];
static int turns, done[COROUTINES];
static long sum;

OPAQUE int outer(int k)
{
	for (int i = 0; i < turns; i++) {
		sum += work(100 * k + i);
		swapcontext(&context[k], &context[(k + 1) % COROUTINES]);
	}
	done[k] = 1;
	HIDE(k);
	return k;
}

static void run(int k)
{
	outer(k);
	setcontext(k + 1 < COROUTINES ? &context[k + 1] : &home);
}

int main(int argc, char **argv)
{
	turns = atoi(argv[1]);
	for (int k = 0; k < COROUTINES; k++) {
		getcontext(&context[k]);
		context[k].uc_stack.ss_sp = malloc(STACK);
		context[k].uc_stack.ss_size = STACK;
		makecontext(&context[k], (void (*)(void))run, 1, k);
	}
	swapcontext(&home, &context[0]);
	printf("%ld, done %d %d %d %d\n", sum, done[0], done[1], done[2], done[3]);
	return 0;
}
