/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that compute and check their results, call deep, sleep a little, and are interrupted by a timer's
 * signal, whose handler calls functions, too; threads come and go. It ends when a line comes from standard input, and says
 * whether all was right.
 *
 *	busy [THREADS [SIGNALS]]	SIGNALS 0: no timer
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "opaque.h"

static volatile int over;
static unsigned long wrong, rounds;
static volatile unsigned long signals, handled;

OPAQUE unsigned long mix(unsigned long x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdul;
	return x ^ x >> 29;
}

OPAQUE unsigned long leaf(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 8; i++)
		sum += mix(n + i);
	return sum;
}

OPAQUE unsigned long deep(unsigned long n)
{
	return n ? deep(n - 1) + mix(n) : 1;
}

OPAQUE unsigned long choose(unsigned long n)
{
	switch (n % 7) {
	case 0: return leaf(n);
	case 1: return deep(5);
	case 2: return mix(n) + 1;
	case 3: return leaf(n) + deep(2);
	case 4: return n * 3;
	case 5: return deep(n % 13);
	default: return 7;
	}
}

static int compare(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

OPAQUE unsigned long sorted(unsigned long n)
{
	unsigned long v[32], sum = 0;

	for (int i = 0; i < 32; i++)
		v[i] = mix(n + (unsigned long)i) % 1000;
	qsort(v, 32, sizeof(*v), compare);
	for (int i = 0; i < 32; i++)
		sum = sum * 31 + v[i];
	return sum;
}

static __thread jmp_buf back;

OPAQUE void leave(unsigned long n)
{
	if (n > 3)
		longjmp(back, (int)n);
	leave(n + 1);
}

OPAQUE unsigned long jumps(void)
{
	int n = setjmp(back);

	if (!n)
		leave(0);
	return (unsigned long)n;
}

OPAQUE unsigned long one_round(void)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < 200; i++)
		sum += choose(i);
	return sum + sorted(3) + jumps();
}

static unsigned long right;
static void *const result_of_all = &right;

OPAQUE void on_timer(int sig)
{
	(void)sig;
	__atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
	if (leaf(5) == leaf(5))
		__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void *short_lived(void *arg)
{
	return (void *)(one_round() == right ? arg : NULL);
}

static void *run(void *arg)
{
	unsigned long me = (unsigned long)arg, n = 0, bad = 0;

	while (!over) {
		bad += one_round() != right;
		n++;
		if (n % 64 == me % 64) {
			pthread_t t;
			void *result = NULL;

			if (pthread_create(&t, NULL, short_lived, result_of_all) == 0)
				pthread_join(t, &result);
			bad += result != result_of_all;
		}
		if (n % 16 == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	__atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rounds, n, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4;
	struct sigaction act = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct itimerval every = { .it_interval.tv_usec = 2000, .it_value.tv_usec = 2000 };
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	char c;

	right = one_round();
	sigaction(SIGPROF, &act, NULL);
	if (argc <= 2 || atoi(argv[2]))
		setitimer(ITIMER_PROF, &every, NULL);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, (void *)(long)i);
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	if (read(STDIN_FILENO, &c, 1) != 1)
		puts("no line");
	over = 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	sigaction(SIGPROF, NULL, &act);
	printf("wrong %lu, signals missed %lu, handler %s, rounds %s\n", wrong, signals - handled,
	       act.sa_handler == on_timer ? "kept" : "changed", rounds ? "many" : "none");
	return 0;
}
