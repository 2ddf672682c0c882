/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: mem_skips: handlers that go on after what faulted, where that ends a block: calls and jumps through pointers that
 * cannot be read, and instructions that there are none of. All of them are two bytes long.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

#include "work.h"

static long *const nowhere = (long *)64;
static int v[65];

OPAQUE void on_fault(int sig, siginfo_t *info, void *context)
{
	gregset_t *regs = &((ucontext_t *)context)->uc_mcontext.gregs;

	(void)info;
	(*regs)[REG_RIP] += 2;
	(*regs)[REG_RAX] = sig;
}

/* What is after it adds rax to *at. */
#define SKIPPED(insn, at)                                                                                              \
	__asm__ volatile(insn "\n\tadd %%eax, (%%rdx)" : : "c"(nowhere), "d"(at) : "rax", "memory", "cc")

OPAQUE void calls(int n)
{
	for (int i = 0; i < n; i++) {
		v[i & 63] += i;
		SKIPPED("call *(%%rcx)", &v[i & 63]);
	}
}

OPAQUE void jumps(int n)
{
	for (int i = 0; i < n; i++) {
		v[i & 63] += i;
		SKIPPED("jmp *(%%rcx)", &v[i & 63]);
	}
}

OPAQUE void traps(int n)
{
	for (int i = 0; i < n; i++) {
		v[i & 63] += i;
		SKIPPED("ud2", &v[i & 63]);
	}
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	unsigned int sum = 0;

	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGILL, &a, NULL);
	calls(1000);
	jumps(1000);
	traps(1000);
	for (int i = 0; i < 64; i++)
		sum = sum * 31 + (unsigned int)v[i];
	printf("%u\n", sum);
	return 0;
}
