/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: overflows: a thread's stack overflows many times, each time at another offset, and a handler on
 * another stack leaves it.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#include "work.h"

enum { TIMES = 100, STACK = 65536 };

static sigjmp_buf before;
static volatile long depth;

OPAQUE long down(long n)
{
	depth = n;
	return down(n + 1) + depth;
}

OPAQUE long from(int offset)
{
	volatile char *p = alloca(16 * offset + 16);

	p[0] = 1;
	return down(0) + p[0];
}

static void leave(int number)
{
	siglongjmp(before, number);
}

static void *overflow(void *arg)
{
	static char other[STACK];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	long *handled = arg;

	sigaltstack(&stack, NULL);
	for (int i = 0; i < TIMES; i++) {
		if (sigsetjmp(before, 1) == 0)
			from(i);
		*handled += depth > 100;
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_ONSTACK };
	pthread_attr_t attr;
	pthread_t thread;
	long handled = 0;

	sigaction(SIGSEGV, &action, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(&thread, &attr, overflow, &handled))
		return 1;
	pthread_join(thread, NULL);
	printf("%ld\n", handled);
	return handled == TIMES ? 0 : 1;
}
