// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * For configurations: functions, loops, branches and accesses whose numbers are known.  kernel() is called with 1 to 10: it goes round
 * its loop 55 times in all, each time with one load of table[].  bar(int, int) is called 5 times by the first thread, 3 times by the
 * second one.  edge() loads 8 bytes from 4 before the end of a line, 4 times.
 */
#include <cstdio>
#include <cstring>
#include <pthread.h>

#include "opaque.h"

#define LOADS 4

struct alignas(64) lines {
	long v[64];
};

static lines table, other;
alignas(64) char bytes[128];
thread_local long mine;

namespace num {

__attribute__((always_inline)) static inline long twice(long a)
{
	return 2 * a + other.v[a & 7]; /* TWICE */
}

OPAQUE long kernel(int n)
{
	long sum = 0;
	int i = n;

	do {
		sum += table.v[i]; /* LOAD */
		HIDE(sum);
		i--;
		HIDE(i);
	} while (i > 0); /* LOOP */
	return sum;
}

}

OPAQUE int bar(int a, int b)
{
	HIDE(a);
	return a - b;
}

OPAQUE double bar(const double *a)
{
	HIDE(a);
	return *a + 1;
}

OPAQUE long few(int n)
{
	long sum = n;

	for (int j = 0; j < 4; j++) /* UNROLLED */
		sum ^= other.v[j] + j;
	if (n > 7) { /* BRANCH */
		sum += num::twice(n); /* CALL */
		HIDE(sum);
	}
	return sum;
}

OPAQUE long edge(const char *from)
{
	long v;

	HIDE(from);
	memcpy(&v, from, sizeof(v));
	return v + (v > 1000);
}

static void *work(void *arg)
{
	for (int i = 0; i < 3; i++)
		bar(100 + i, i);
	mine = 1;
	return arg;
}

int main()
{
	lines *first = &table, *second = &other;
	pthread_t thread;
	double d = 1;
	long sum = 0;

	/* they may hold anything */
	HIDE(first);
	HIDE(second);
	for (int n = 1; n <= 10; n++)
		sum += num::kernel(n) + few(n);
	for (int i = 0; i < 5; i++)
		sum += bar(i, 1);
	for (int i = 0; i < 2; i++)
		sum += (long)bar(&d);
	for (int i = 0; i < LOADS; i++)
		sum += edge(bytes + 60);
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	printf("%ld\n", sum + mine);
	return 7;
}
