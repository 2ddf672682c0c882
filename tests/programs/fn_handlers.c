/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: fn_handlers: signal handlers that look at the place they interrupt: profilers, by its address and by its
 * backtrace; those that put a fault right by going on elsewhere, as a table says.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "work.h"

#define SAMPLES 200
#define FRAMES 64

static volatile sig_atomic_t samples, here, whole, faults;
extern const char __executable_start, etext;
int main(void);

static int is_ours(const void *pc)
{
	return (const char *)pc >= &__executable_start && (const char *)pc < &etext;
}

/* main() is small, and comes last. */
static int holds_main(void *const *v, int n)
{
	for (int i = 0; i < n; i++)
		if ((char *)v[i] > (char *)main && (char *)v[i] < (char *)main + 2048)
			return 1;
	return 0;
}

static void *place(const void *context)
{
	return (void *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

OPAQUE void on_prof(int sig, siginfo_t *info, void *context)
{
	void *v[FRAMES];

	(void)sig;
	(void)info;
	samples++;
	here += is_ours(place(context));
	whole += holds_main(v, backtrace(v, FRAMES));
}

/*
 * Faults at starts, in middles and at ends of functions of several sizes, all of them in one instruction of two
 * bytes that reads from the second argument. A handler knows the places, and goes on behind, or elsewhere.
 */
#define FAULTS(X) X(at_start) X(at_end) X(between) X(branched) X(twice) X(behind) X(apart)
#define DECLARE(name) int name(int i, const int *p);
#define CALL(name) +name(i, NULL)
FAULTS(DECLARE)
extern const char fault_table[], fault_table_end[];

asm(".pushsection .fault_table,\"a\"\n .globl fault_table\n fault_table:\n .popsection\n"
    ".pushsection .text\n"
    ".macro begin name\n .globl \\name\n .type \\name, @function\n .balign 16\n \\name:\n .endm\n"
    ".macro end name\n .size \\name, . - \\name\n .endm\n"
    /* to: where to go on */
    ".macro fault to=2b\n 1: mov (%rsi), %eax\n 2:\n .pushsection .fault_table\n .quad 1b - ., \\to - .\n"
    " .popsection\n .endm\n"
    "begin at_start\n fault\n lea 1(%rdi), %eax\n ret\n end at_start\n"
    "begin at_end\n lea 2(%rdi), %eax\n fault\n ret\n end at_end\n"
    "begin between\n lea 3(%rdi), %eax\n test %edi, %edi\n je 3f\n inc %eax\n fault\n dec %eax\n"
    " 3: nop\n ret\n end between\n"
    "begin branched\n xor %eax, %eax\n test $1, %edi\n je 3f\n fault 4f\n inc %eax\n"
    " 3: lea 4(%rax,%rdi), %eax\n 4: ret\n end branched\n"
    "begin twice\n fault\n fault\n mov %edi, %eax\n fault\n fault\n ret\n end twice\n"
    "begin behind\n push %rsi\n call at_end\n pop %rsi\n fault\n inc %eax\n fault 3f\n inc %eax\n 3: ret\n end behind\n"
    "begin apart\n mov %edi, %eax\n cmp $50, %edi\n jl 3f\n fault 3f\n ret\n"
    " 3: inc %eax\n ret\n end apart\n"
    ".popsection\n"
    ".pushsection .fault_table\n .globl fault_table_end\n fault_table_end:\n .popsection\n");

OPAQUE void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	faults++;
	for (const char *at = fault_table; at < fault_table_end; at += 2 * sizeof(long)) {
		const long *entry = (const void *)at;

		if (*rip == (long)at + entry[0]) {
			*rip = (long)(at + sizeof(long)) + entry[1];
			return;
		}
	}
	_Exit(3);
}

OPAQUE int leaf(int i)
{
	return i * 3 + 1;
}

OPAQUE int some(int i)
{
	int sum = 0;

	for (int k = 0; k < 10; k++)
		sum += leaf(i + k);
	return sum;
}

OPAQUE int deep(int n)
{
	return n ? deep(n - 1) + some(n) : 0;
}

static void on(int sig, void (*action)(int, siginfo_t *, void *))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = action;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(sig, &sa, NULL);
}

static void profile(void)
{
	struct itimerval t = { { 0, 1000 }, { 0, 1000 } };
	volatile long sum = 0;

	on(SIGPROF, on_prof);
	setitimer(ITIMER_PROF, &t, NULL);
	while (samples < SAMPLES)
		sum += deep(20);
	memset(&t, 0, sizeof(t));
	setitimer(ITIMER_PROF, &t, NULL);
}

int main(void)
{
	void *v[FRAMES];
	unsigned long sum = 0;

	holds_main(v, backtrace(v, FRAMES)); /* loads what it needs */
	on(SIGSEGV, on_fault);
	for (int i = 0; i < 100; i++)
		sum = sum * 31 FAULTS(CALL);
	profile();
	printf("%lu, %d faults\n", sum, (int)faults);
	/* a few arrive while the profiled functions do not run */
	printf("places %s, backtraces %s\n", here >= SAMPLES * 8 / 10 ? "known" : "unknown",
	       whole >= SAMPLES * 8 / 10 ? "whole" : "broken");
	return 0;
}
