/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: fn_signals: handlers that call functions, on both stacks, one in the other; left by siglongjmp; by a
 * timer that is waited for; for a fault, a trap and a division that are put right.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "work.h"

static volatile sig_atomic_t seen, timers;
static volatile int total;
static sigjmp_buf home;
static char *page;

OPAQUE int note(int i)
{
	total += i;
	return work(i);
}

OPAQUE void on_usr1(int sig)
{
	seen++;
	note(sig);
	if (seen % 4 == 0)
		raise(SIGUSR2);
}

OPAQUE void on_usr2(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	note(sig * 2);
}

OPAQUE void on_alarm(int sig)
{
	timers++;
	note(sig);
}

OPAQUE void on_segv(int sig, siginfo_t *info, void *context)
{
	(void)context;
	note(sig);
	if ((char *)info->si_addr >= page && (char *)info->si_addr < page + 4096)
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
	else
		siglongjmp(home, 1);
}

OPAQUE void on_fpe(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)sig;
	note(5);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RCX] = 2; /* the divisor */
}

OPAQUE void on_trap(int sig)
{
	note(sig);
}

OPAQUE int touches(volatile char *p)
{
	*p = 7;
	return *p + work(1);
}

OPAQUE int divides(int a, int b)
{
	int r;

	__asm__ volatile("cltd\n\tidivl %%ecx" : "=a"(r) : "a"(a), "c"(b) : "rdx", "cc");
	return r;
}

OPAQUE int traps(int i)
{
	__asm__ volatile("int3");
	return i + work(i);
}

OPAQUE int raises(int i)
{
	raise(SIGUSR1);
	return work(i) + 1;
}

OPAQUE int crashes(void)
{
	if (sigsetjmp(home, 1))
		return note(9);
	return touches((volatile char *)(1L << 46));
}

OPAQUE int waits(void)
{
	struct itimerval t = { .it_value.tv_usec = 2000 };
	sigset_t none, alarm;

	sigemptyset(&none);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	while (!timers)
		sigsuspend(&none);
	return timers;
}

static void on(int sig, void (*handler)(int), void (*action)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	if (action)
		sa.sa_sigaction = action;
	else
		sa.sa_handler = handler;
	sa.sa_flags = flags | (action ? SA_SIGINFO : 0);
	sigaction(sig, &sa, NULL);
}

int main(void)
{
	static char alternative[65536];
	stack_t st = { .ss_sp = alternative, .ss_size = sizeof(alternative) };
	long sum = 0;

	sigaltstack(&st, NULL);
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	on(SIGUSR1, on_usr1, NULL, SA_NODEFER);
	on(SIGUSR2, NULL, on_usr2, SA_ONSTACK);
	on(SIGALRM, on_alarm, NULL, 0);
	on(SIGSEGV, NULL, on_segv, SA_ONSTACK);
	on(SIGFPE, NULL, on_fpe, 0);
	on(SIGTRAP, on_trap, NULL, 0);
	for (int i = 0; i < 10; i++)
		sum = sum * 31 + raises(i);
	sum += touches(page + 100);
	sum += crashes();
	sum += divides(100, 0);
	sum += traps(3);
	sum += waits();
	printf("%ld %d %d\n", sum % 1000003, (int)seen, total);
	return 0;
}
