/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: mem_signals: handlers that interrupt loops at fixed places: raised in them, by faults that are put right in
 * the middle of loops, of string instructions and gathers, by traps; on both stacks, in each other; left by siglongjmp;
 * that go on after what faulted.
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "work.h"

enum { PAGE = 4096 };
static void *const nowhere = (void *)64;
static char *page, *open_to; /* six pages, of which those from open_to on are closed */
static volatile int seen;
static int v[256], total;
static sigjmp_buf home;

OPAQUE long adds(int n)
{
	long s = 0;

	for (int i = 0; i < n; i++)
		s += v[i & 255] += i;
	return s;
}

OPAQUE void on_usr1(int sig)
{
	seen++;
	for (int i = 0; i < 5; i++)
		v[100 + i] += sig;
	if (seen % 3 == 0)
		raise(SIGUSR2);
	adds(3);
}

OPAQUE void on_usr2(int sig, siginfo_t *info, void *context)
{
	total += info->si_signo + (int)(adds(7) & 1) + (context == NULL) + sig;
}

OPAQUE void on_fault(int sig, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	seen++;
	if (at >= page && at < page + 6 * PAGE) {
		mprotect(open_to, PAGE, PROT_READ | PROT_WRITE);
		open_to += PAGE;
		adds(5);
	} else if (at == nowhere) {
		gregset_t *regs = &((ucontext_t *)context)->uc_mcontext.gregs;

		(*regs)[REG_RIP] += 2;
		(*regs)[REG_EFL] |= 64; /* ZF */
	} else if (((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] != 77) {
		siglongjmp(home, sig);
	}
}

OPAQUE void on_trap(int sig)
{
	total += sig + (int)adds(2);
}

OPAQUE void on_fpe(int sig, siginfo_t *info, void *context)
{
	total += sig + info->si_signo;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RCX] = 3; /* the divisor */
}

OPAQUE void closes(void)
{
	mprotect(page, 6 * PAGE, PROT_NONE);
	open_to = page;
}

OPAQUE int raises(int n)
{
	int s = 0;

	for (int i = 0; i < n; i++) {
		v[i] = s;
		if (i % 4 == 1)
			kill(getpid(), SIGUSR1);
		s += v[i + 1] * 3;
	}
	return s;
}

OPAQUE long in_loop(int n, int step)
{
	long s = 0;

	for (int i = 0; i < n; i += step)
		s += page[i]++ + v[i & 255];
	return s;
}

OPAQUE void down_loop(long *p, int n)
{
	while (n-- > 0)
		p[n] = n;
}

OPAQUE long walks(void **p)
{
	long n = 0;

	for (; *p; p = *p)
		n++;
	return n;
}

OPAQUE void strings(char *to, const char *from, long n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

OPAQUE void fills(char *to, long n)
{
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(5) : "memory");
}

OPAQUE long scans(char *to, long n)
{
	__asm__ volatile("repne scasb" : "+D"(to), "+c"(n) : "a"(9) : "memory", "cc");
	return n;
}

__attribute__((target("avx2"))) OPAQUE int gathers(int n)
{
	__m256i s = _mm256_setzero_si256(), at = _mm256_set_epi32(0, 3000, 1, 2000, 2, 1000, 3, 5000);
	int out[8];

	for (int i = 0; i < n; i++)
		s = _mm256_add_epi32(s, _mm256_i32gather_epi32((int *)page + i, at, 4));
	_mm256_storeu_si256((__m256i *)out, s);
	return out[3];
}

OPAQUE void pushes(int n)
{
	__asm__ volatile("1: pushq %1\n\tpop %1\n\tint3\n\tmov %0, (%1)\n\tdec %0\n\tjnz 1b" : "+r"(n) : "r"(v) : "memory");
}

OPAQUE int divides(int a, int b)
{
	int s = 0;

	for (int i = 0; i < 4; i++) {
		int q, r;
		__asm__ volatile("mov %3, %%ecx\n\tcltd\n\tidiv %%ecx" : "=a"(q), "=&d"(r) : "a"(a + i), "r"(b) : "ecx", "cc");
		v[i] += q;
		s += v[q & 63] + r;
	}
	return s;
}

OPAQUE int leaves(volatile int *at)
{
	for (int i = 0; i < 9; i++) {
		v[i]++;
		if (i == 6)
			at = (int *)8;
		total += *at;
	}
	return 1;
}

/* The handler leaves out comparisons, two bytes long. */
OPAQUE int skips(int n)
{
	for (int i = 0; i < n; i++) {
		v[i] += 3;
		__asm__ volatile("cmp %%eax, (%%rcx)\n\tjne 1f\n\tincl (%%rdx)\n1:"
				 : : "a"(i), "c"(nowhere), "d"(v + i + 1) : "memory", "cc");
		v[i + 2] ^= v[i];
	}
	return v[n / 2];
}

int main(void)
{
	static char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction a = { .sa_handler = on_usr1 };

	page = mmap(NULL, 6 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_handler = on_trap;
	a.sa_flags = SA_NODEFER; /* a single step's must not find it blocked */
	sigaction(SIGTRAP, &a, NULL);
	a.sa_flags = SA_SIGINFO | SA_ONSTACK;
	a.sa_sigaction = on_usr2;
	sigaction(SIGUSR2, &a, NULL);
	a.sa_sigaction = on_fpe;
	sigaction(SIGFPE, &a, NULL);
	a.sa_flags = SA_SIGINFO | SA_NODEFER;
	a.sa_sigaction = on_fault;
	sigaction(SIGSEGV, &a, NULL);
	printf("%d %d\n", raises(40), seen);
	closes();
	printf("%ld %d\n", in_loop(4 * PAGE, 128), seen);
	closes();
	down_loop((long *)page, 700);
	closes();
	strings(page + 10, (char *)v, 900);
	strings(page + 4000, page + 100, 300);
	closes();
	fills(page, 600);
	closes();
	memset(v, 1, 256);
	printf("%ld\n", scans(page, 4200) & 0xff);
	closes();
	if (__builtin_cpu_supports("avx2"))
		printf("%d\n", gathers(9));
	closes();
	for (int i = 5; i > 0; i--)
		*(void **)(page + 3000 * i % (5 * PAGE)) = i == 5 ? NULL : page + 3000 * (i + 1) % (5 * PAGE);
	printf("%ld\n", walks((void **)(page + 3000)));
	pushes(5);
	printf("%d\n", divides(100, 0));
	printf("%d\n", skips(20));
	for (volatile int i = 0; i < 3; i++)
		if (sigsetjmp(home, 1) == 0)
			leaves(v + 3);
		else
			v[i]--;
	printf("%d %d %ld\n", seen, total, adds(256));
	return 0;
}
