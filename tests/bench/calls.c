// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: calls [CALLS [ROUNDS]]
 *
 * What a call of SUBJECT costs above a call of idle(), which nobody instruments, and what the floor
 * of a recorder costs: twice a time stamp and a store of 16 bytes.  All three take turns, so that a
 * machine that is busy with something else is so for all of them.  Prints nanoseconds of this
 * thread's CPU time, medians of the rounds: call idle floor.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_ROUNDS 101
#define BUFFER (1u << 20)

#ifndef SUBJECT
#define SUBJECT empty
#endif
int SUBJECT(int);
int idle(int);

static uint64_t buffer[BUFFER / 8] __attribute__((aligned(4096)));

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void call_subject(long n)
{
	for (long i = 0; i < n; i++)
		SUBJECT(-1);
}

static void call_idle(long n)
{
	for (long i = 0; i < n; i++)
		idle(-1);
}

static void store(long n)
{
	volatile uint64_t *p = buffer;

	for (long i = 0; i < n; i++) {
		for (int k = 0; k < 2; k++, p += 2) {
			p[0] = __builtin_ia32_rdtsc() << 20 | (uint64_t)k;
			p[1] = (uintptr_t)p;
		}
		if (p == buffer + BUFFER / 8)
			p = buffer;
	}
}

static double measure(void (*loop)(long), long n)
{
	double begin = cpu_ns();

	loop(n);
	return (cpu_ns() - begin) / (double)n;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static void (*const loops[3])(long) = { call_subject, call_idle, store };
	static double spent[3][MAX_ROUNDS];
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	int rounds = argc > 2 ? atoi(argv[2]) : 5;

	if (n < 1 || rounds < 1 || rounds > MAX_ROUNDS)
		return 2;
	for (int k = 0; k < 3; k++)
		loops[k](1);
	for (int r = 0; r < rounds; r++)
		for (int k = 0; k < 3; k++)
			spent[k][r] = measure(loops[k], n);
	for (int k = 0; k < 3; k++) {
		qsort(spent[k], (size_t)rounds, sizeof(double), compare);
		printf("%.2f%s", spent[k][rounds / 2], k < 2 ? " " : "\n");
	}
	return 0;
}
