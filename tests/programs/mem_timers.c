/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: mem_timers MICROSECONDS [N]: the same accesses again and again, with a signal so often in between, anywhere; 0:
 * none.  What handlers do is in functions whose names begin with tick.  With N fibonacci(N) in place of fibonacci(13).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "work.h"

struct node { struct node *next; int x; };
static struct node nodes[256];
static int v[1024];
static char text[2048], copy[2048];
static volatile int ticks;
static int ticked[64];

OPAQUE void tick_more(int sig)
{
	for (int i = 0; i < 7; i++)
		ticked[(ticks + i) & 63] += sig;
}

OPAQUE void tick(int sig)
{
	ticks++;
	tick_more(sig);
}

OPAQUE long follows(int n)
{
	struct node *p = nodes;
	long s = 0;

	for (int i = 0; i < n; i++, p = p->next) {
		if (p->x & 1)
			s += v[p->x]++;
		else
			s ^= p->x;
	}
	return s;
}

OPAQUE long counted(int n)
{
	long s = 0;

	for (int i = 0; i < n; i++)
		s += v[i & 1023] + nodes[i & 255].x;
	return s;
}

OPAQUE long strings(void)
{
	char *to = copy, *from = text;
	long n = sizeof(text), left;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	to = copy, left = sizeof(copy);
	__asm__ volatile("repne scasb" : "+D"(to), "+c"(left) : "a"('z') : "memory", "cc");
	to = copy, n = 100;
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(left) : "memory");
	return left;
}

OPAQUE long fibonacci(int n)
{
	return n < 2 ? v[n] & 1 : fibonacci(n - 1) + fibonacci(n - 2);
}

OPAQUE int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
	struct itimerval t = { { 0, 0 }, { 0, 0 } };
	struct sigaction a = { .sa_handler = tick, .sa_flags = SA_RESTART };
	int n = argc > 2 ? atoi(argv[2]) : 13;
	long s = 0;

	t.it_value.tv_usec = t.it_interval.tv_usec = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < 256; i++)
		nodes[i] = (struct node){ &nodes[(i * 37 + 1) & 255], i * 7919 % 1001 };
	memset(text, 'a', sizeof(text));
	text[1900] = 'z';
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	for (int i = 0; i < 25; i++) {
		s += follows(5000) + counted(9000) + strings() + fibonacci(n);
		qsort(v, 200, sizeof(*v), compare);
	}
	memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
	printf("%ld\n", s);
	fprintf(stderr, "%d signals\n", ticks);
	return 0;
}
