/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: sigs STACK WAY SIGNALS FILE: a timer of 10 kHz interrupts a loop of step(); the handler calls
 * note() and, every third time, step(). STACK is "normal" or "alt", or "above": a thread's whose stack lies below that of its
 * handlers. WAY is "return"; "jump": every fifth handler leaves by siglongjmp; or "leap": every 20th, before it calls anything.
 * FILE gets how often note() and step() began, and how often the handler jumped.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "work.h"

static volatile long notes, jumps, ticks;
static int leaps;
static long steps;
static volatile sig_atomic_t may_jump;
static sigjmp_buf home;
/* The lower half is for a thread. */
static char stacks[2][256 * 1024] __attribute__((aligned(4096)));

/* Counts itself, in one instruction: a jump out of the call cannot come between. */
OPAQUE int step(int i)
{
	__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
	HIDE(i);
	return i + 1;
}

OPAQUE int note(int i)
{
	HIDE(i);
	notes++;
	return i + 1;
}

static void on_alarm(int sig)
{
	(void)sig;
	if (leaps && may_jump && ++ticks % 20 == 0) {
		may_jump = 0;
		jumps++;
		siglongjmp(home, 1);
	}
	note((int)notes);
	if (notes % 3 == 0)
		step(-1);
	if (!leaps && may_jump && notes % 5 == 0) {
		may_jump = 0;
		jumps++;
		siglongjmp(home, 1);
	}
}

static void set_up(const char *stack)
{
	struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 100 }, { 0, 100 } };
	stack_t ss = { .ss_sp = stacks[1], .ss_size = sizeof(stacks[1]) };

	if (strcmp(stack, "normal") != 0) {
		sigaltstack(&ss, NULL);
		act.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* A microsecond or so, lest most of what is recorded be the loop. */
static void rest(void)
{
	for (int i = 0; i < 3000; i++)
		HIDE(i);
}

static void *run(void *arg)
{
	char **argv = arg;
	long wanted = atol(argv[3]);
	int jump = strcmp(argv[2], "return") != 0;
	struct itimerval off = { { 0, 0 }, { 0, 0 } };
	volatile int i = 0;
	FILE *f;

	leaps = strcmp(argv[2], "leap") == 0;
	set_up(argv[1]);
	while (notes < wanted) {
		sigsetjmp(home, 1);
		may_jump = jump;
		for (int k = 0; k < 100; k++) {
			i = step(i) & 1023;
			rest();
		}
		may_jump = 0;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	f = fopen(argv[4], "w");
	fprintf(f, "%ld %ld %ld\n", notes, steps, jumps);
	fclose(f);
	puts(!jump || jumps > wanted / (leaps ? 40 : 10) ? "enough" : "too few jumps");
	return NULL;
}

static int run_above(char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t set;

	if (pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stacks[0], sizeof(stacks[0])) ||
	    pthread_create(&thread, &attr, run, argv))
		return 1;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return pthread_join(thread, NULL) != 0;
}

int main(int argc, char **argv)
{
	(void)argc;
	if (strcmp(argv[1], "above") == 0)
		return run_above(argv);
	run(argv);
	return 0;
}
