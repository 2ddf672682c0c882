/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: hot WAY N: calls tiny() N times, by
 *	loop	outer(), 10 times; then rare() calls it a few times, between calls of busy()
 *	threads	4 threads, each of them N times
 *	forks	3 children, each of them N times
 *	signals	a loop, which a timer of 1 kHz interrupts; the handler, on a stack of its own, calls note(), and that tiny()
 *	jumps	jumper(), which calls itself 20 deep, and is left by longjmp every second time
 * Prints how often tiny() was called, and note(), or jumper().
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opaque.h"

enum { THREADS = 4, CHILDREN = 3, PARTS = 10, RARE = 50, DEEP = 20 };

static long calls, others;
static long number;
static jmp_buf home;
static char altstack[256 * 1024];

OPAQUE long tiny(long i)
{
	HIDE(i);
	return i + 1;
}

OPAQUE long busy(long n)
{
	for (long i = 0; i < n; i++)
		HIDE(i);
	return n;
}

OPAQUE long outer(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += tiny(i);
	HIDE(sum);
	return sum + 1;
}

OPAQUE long rare(long n)
{
	long r = tiny(n) + busy(1000000);

	HIDE(r);
	return r + 1;
}

static void loop(void)
{
	for (int i = 0; i < PARTS; i++)
		outer(number / PARTS);
	for (int i = 0; i < RARE; i++)
		rare(i);
	calls = number / PARTS * PARTS + RARE;
	others = RARE;
}

static void *thread(void *arg)
{
	outer(number);
	return arg;
}

static void threads(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	calls = THREADS * number;
}

static void forks(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			outer(number);
			_exit(0);
		}
	}
	for (int i = 0; i < CHILDREN; i++)
		wait(NULL);
	calls = CHILDREN * number;
}

OPAQUE long note(long i)
{
	others++;
	return tiny(i) + 1;
}

static void on_alarm(int sig)
{
	note(sig);
}

static void signals(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	stack_t stack = { .ss_sp = altstack, .ss_size = sizeof(altstack) };
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = on_alarm;
	act.sa_flags = SA_ONSTACK;
	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	outer(number);
	setitimer(ITIMER_REAL, &never, NULL);
	calls = number + others;
}

OPAQUE long jumper(long n)
{
	long r;

	others++;
	calls++;
	r = tiny(n);
	if (n % DEEP)
		r += jumper(n + 1);
	else if (n / DEEP % 2)
		longjmp(home, 1);
	HIDE(r);
	return r + 1;
}

static void jumps(void)
{
	for (volatile long i = 0; i < number / DEEP; i++)
		if (!setjmp(home))
			jumper(i * DEEP + 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = { { "loop", loop }, { "threads", threads }, { "forks", forks }, { "signals", signals }, { "jumps", jumps } };

	number = argc > 2 ? atol(argv[2]) : 1000;
	for (unsigned int i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].run();
	printf("%ld %ld\n", calls, others);
	return 0;
}
