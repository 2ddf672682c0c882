// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Allocations whose stacks are known, in frames of several kinds.  Prints for each its size, and the functions, the innermost first, down to main() or the
 * thread's first one; each block is written to.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noclone, noipa))

typedef double vector __attribute__((vector_size(32)));

/* Not a tail call, and nothing that a compiler would leave out. */
static volatile int after;

KEEP void *leaf(size_t n)
{
	volatile char *p = malloc(n);

	p[n - 1] = 1;
	after++;
	return (void *)p;
}

KEEP void plain(size_t n)
{
	free(leaf(n));
	after++;
}

/* Its frame is of a size that only the base pointer knows. */
KEEP void variable(size_t n)
{
	volatile char here[n];

	here[n - 1] = 1;
	plain(n);
	after += here[n - 1];
}

KEEP void fill(vector *v)
{
	for (int i = 0; i < 4; i++)
		v[i] = (vector){ i, i, i, i };
}

/* Its frame is aligned. */
KEEP void aligned(size_t n)
{
	vector v[4] __attribute__((aligned(64)));

	fill(v);
	variable(n);
	after += (int)v[3][0];
}

KEEP void large(size_t n)
{
	volatile char here[100000];

	here[n] = 1;
	aligned(n);
	after += here[n];
}

KEEP void deep(size_t n, int calls)
{
	if (calls > 0)
		deep(n, calls - 1);
	else
		plain(n);
	after++;
}

/* The C library is between. */
KEEP int compare(const void *a, const void *b)
{
	plain(405);
	after++;
	return *(const int *)a - *(const int *)b;
}

KEEP void *thread(void *arg)
{
	plain(406);
	after++;
	return arg;
}

static void on_signal(int sig)
{
	(void)sig;
	plain(407);
	after++;
}

KEEP void sorts(void)
{
	int v[] = { 2, 1 };

	qsort(v, 2, sizeof(v[0]), compare);
	after += v[0];
}

KEEP void raises(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	after++;
}

int main(void)
{
	pthread_t t;

	plain(401);
	variable(402);
	large(403);
	deep(404, 2);
	sorts();
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	raises();
	puts("401 plain main\n"
	     "402 plain variable main\n"
	     "403 plain variable aligned large main\n"
	     "404 plain deep deep deep main\n"
	     "405 plain compare ... sorts main\n"
	     "406 plain thread\n"
	     "407 plain on_signal ... [not known]");
	return 0;
}
