// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Single-steps itself by the trap flag: each instruction of a piece of work ends with SIGTRAP, whose handler counts it and adds up
 * where it was.  "STEPS SUM RESULT"; exit status 6.
 *
 *	traps [info]	a handler with SA_SIGINFO, or without
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100

int main(int argc, char **argv);

static volatile unsigned long steps, sum;

static void seen(uint64_t pc)
{
	steps++;
	sum = sum * 31 + (pc - (uint64_t)main);
}

static void on_info(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	seen((uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]);
}

static void on_trap(int sig)
{
	(void)sig;
	steps++;
}

#define FUNCTION __attribute__((noinline, noclone))

static volatile long kept;
static long table[64];

FUNCTION static long leaf(long a, long b)
{
	kept = a;
	return a * 3 + b + kept;
}

FUNCTION static long depth(long n)
{
	return n ? depth(n - 1) + leaf(n, 1) : 7;
}

FUNCTION static long chosen(long n)
{
	switch (n % 7) {
	case 0: return leaf(n, 2);
	case 1: return n * 5;
	case 2: return depth(n % 5);
	case 3: return table[n % 64];
	case 4: return leaf(n, 3) - 4;
	case 5: return -n;
	default: return 9;
	}
}

FUNCTION static long work(long n)
{
	long all = 0;

	for (long i = 0; i < n; i++) {
		table[i % 64] += i;
		all = all * 7 + chosen(i);
	}
	for (int i = 0; i < 64; i++)
		all ^= table[i];
	return all;
}

/* The flag is set by popf; the instruction after it is the first that traps. */
#define STEPPING(set)                                                                                       \
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushf\n\txorq %0, (%%rsp)\n\tpopf\n\tlea 128(%%rsp), %%rsp" \
			 :                                                                                      \
			 : "i"(set)                                                                             \
			 : "memory", "cc")

int main(int argc, char **argv)
{
	struct sigaction action;
	long result;

	memset(&action, 0, sizeof(action));
	if (argc > 1 && !strcmp(argv[1], "info")) {
		action.sa_sigaction = on_info;
		action.sa_flags = SA_SIGINFO;
	} else {
		action.sa_handler = on_trap;
	}
	sigaction(SIGTRAP, &action, NULL);
	STEPPING(TRAP_FLAG);
	result = work(300);
	STEPPING(TRAP_FLAG);
	printf("%lu %lu %ld\n", steps, sum, result);
	return 6;
}
