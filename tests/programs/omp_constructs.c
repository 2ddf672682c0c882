// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Every construct of OpenMP that GCC makes a call of, with a known number of each: omp_constructs [THREADS [plain]], "plain" without detached tasks
 * and devices, which not every runtime has for GCC.  It prints sums, which
 * do not depend on the order of threads, and what it has counted itself.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1000

static long out[N], early[N];
static int threads = 3;
static long single, tasks;

static void loops(void)
{
	long sum = 0;
	unsigned long long usum = 0;

#pragma omp parallel for schedule(static) reduction(+ : sum)
	for (int i = 0; i < N; i++)
		sum += i;
#pragma omp parallel for schedule(dynamic, 7) /* combined: 143 chunks */
	for (int i = 0; i < N; i++)
		out[i] = i;
#pragma omp parallel for schedule(monotonic : dynamic, 7)
	for (int i = 0; i < N; i++)
		out[i] += i;
#pragma omp parallel for schedule(guided)
	for (int i = 0; i < N; i++)
		out[i] += i;
#pragma omp parallel for schedule(monotonic : guided)
	for (int i = 0; i < N; i++)
		out[i] += i;
#pragma omp parallel for schedule(runtime)
	for (int i = 0; i < N; i++)
		out[i] += i;
#pragma omp parallel for schedule(auto)
	for (int i = 0; i < N; i++)
		out[i] += i;
#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 10) nowait /* 100 chunks */
		for (int i = 0; i < N; i++)
			early[i] = i; /* others are in the next loop */
#pragma omp for schedule(guided, 5)
		for (int i = 0; i < N; i++)
			out[i] += i;
#pragma omp for schedule(monotonic : runtime)
		for (int i = 0; i < N; i++)
			out[i] += i;
#pragma omp for schedule(dynamic, 100) reduction(+ : usum) /* 10 chunks */
		for (unsigned long long i = 0; i < N; i++)
			usum += i;
#pragma omp for schedule(dynamic, 1) ordered /* 20 chunks */
		for (int i = 0; i < 20; i++) {
			long v = i;
#pragma omp ordered
			out[i] += v;
		}
#pragma omp for schedule(static, 4) ordered
		for (int i = 0; i < 20; i++) {
#pragma omp ordered
			out[i] += 1;
		}
	}
	for (int i = 0; i < N; i++)
		sum += out[i] + early[i];
	printf("loops %ld %llu\n", sum, usum);
}

static void doacross(void)
{
	static long a[20][20];

#pragma omp parallel for ordered(2) schedule(dynamic, 1)
	for (int i = 1; i < 20; i++)
		for (int j = 1; j < 20; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
			a[i][j] = a[i - 1][j] + a[i][j - 1] + 1;
#pragma omp ordered depend(source)
		}
	printf("doacross %ld\n", a[19][19]);
}

static void exclusive(void)
{
	long a = 0, b = 0, c = 0, n = 0;
	long double d = 0;
	omp_lock_t lock;
	omp_nest_lock_t nest;

	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel
	for (int i = 0; i < 50; i++) {
#pragma omp critical
		a++;
#pragma omp critical(named)
		b++;
#pragma omp atomic
		d += 1;
		omp_set_lock(&lock);
		c++;
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nest);
		omp_set_nest_lock(&nest);
		n++;
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
	}
	if (omp_test_lock(&lock))
		omp_unset_lock(&lock);
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nest);
	printf("exclusive %ld %ld %ld %ld %.0Lf\n", a, b, c, n, d);
}

static void teamwork(void)
{
	long s[3] = { 0 };
	int copied = 0, seen = 0;

#pragma omp parallel sections
	{
#pragma omp section
		s[0] = 1;
#pragma omp section
		s[1] = 2;
#pragma omp section
		s[2] = 3;
	}
#pragma omp parallel private(copied) reduction(+ : seen)
	{
#pragma omp sections
		{
#pragma omp section
			s[0]++;
#pragma omp section
			s[1]++;
		}
#pragma omp single
		single++;
#pragma omp single copyprivate(copied)
		copied = 5;
		seen += copied;
#pragma omp barrier
#pragma omp master
		s[2]++;
	}
	printf("teamwork %ld %ld %ld %d\n", s[0], s[1], s[2], seen / 5 == threads);
}

static __attribute__((noinline, noclone)) long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b) if (n > 5)
	b = fib(n - 2);
#pragma omp taskwait
#pragma omp atomic
	tasks += 2;
	return a + b;
}

struct big {
	_Alignas(64) char bytes[300];
};

static void tasking(void)
{
	long f = 0, sum = 0, order = 0, looped = 0, reduced = 0;
	struct big big;
	int dynamic = 10 + threads - threads;
#ifdef __clang__
	char vla[10];
#else
	char vla[dynamic];
#endif

	for (int i = 0; i < 300; i++)
		big.bytes[i] = (char)i;
	for (int i = 0; i < dynamic; i++)
		vla[i] = (char)i;
#pragma omp parallel
#pragma omp single
	{
		f = fib(10);
#pragma omp task firstprivate(big, vla) shared(sum) /* aligned, and of a size that is known late */
		{
			long s = (unsigned long)&big % 64 != 0;

			for (int i = 0; i < 300; i++)
				s += (unsigned char)big.bytes[i];
			for (int i = 0; i < dynamic; i++)
				s += vla[i];
#pragma omp atomic
			sum += s;
		}
#pragma omp task depend(out : order)
		order = 1;
#pragma omp task depend(inout : order)
		order = order * 10 + 2;
#pragma omp task depend(in : order) shared(sum)
#pragma omp atomic
		sum += order;
#pragma omp taskwait depend(in : order)
#pragma omp taskgroup
		{
			for (int i = 0; i < 10; i++) {
#pragma omp task shared(sum) untied
				{
#pragma omp taskyield
#pragma omp atomic
					sum += i;
				}
			}
		}
#pragma omp taskloop grainsize(10) shared(looped)
		for (int i = 0; i < 100; i++)
#pragma omp atomic
			looped += i;
#pragma omp taskloop num_tasks(7) shared(looped) nogroup
		for (unsigned long long i = 0; i < 100; i++)
#pragma omp atomic
			looped += i;
#pragma omp taskwait
#pragma omp taskloop reduction(+ : reduced)
		for (int i = 0; i < 100; i++)
			reduced += i;
#pragma omp task final(1)
		{
#pragma omp task
#pragma omp atomic
			sum++;
		}
	}
#pragma omp parallel reduction(task, + : reduced)
	{
#pragma omp task in_reduction(+ : reduced)
		reduced += 0;
	}
	printf("tasks %ld %ld %ld %ld %ld\n", f, sum, order, looped, reduced);
}

#if __GNUC__ >= 11 && !defined(__clang__)
static void detached(void)
{
	omp_event_handle_t event;
	int done = 0;

#pragma omp parallel
#pragma omp single
	{
#pragma omp task detach(event) shared(done)
		done = 1;
		omp_fulfill_event(event);
#pragma omp taskwait
		done++;
	}
	printf("detached %d\n", done);
}
#else
static void detached(void)
{
}
#endif

static void nested(void)
{
	long n = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp atomic
	n++;
	printf("nested %ld\n", n);
}

static void cancelled(void)
{
	int found = 0;

#pragma omp parallel
	{
#pragma omp for schedule(dynamic, 1)
		for (int i = 0; i < 100; i++) {
			if (i == 5) {
#pragma omp atomic write
				found = 1;
#pragma omp cancel for
			}
#pragma omp cancellation point for
		}
	}
	printf("cancelled %d\n", found);
}

static void devices(void)
{
	int n = 0, teams = 0;

#pragma omp target map(tofrom : n)
	n++;
#pragma omp target data map(tofrom : n)
	{
#pragma omp target update to(n)
	}
#pragma omp teams num_teams(2) reduction(+ : teams)
	teams++;
	printf("devices %d %d\n", n, teams >= 1);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		threads = atoi(argv[1]);
	omp_set_dynamic(0);
	omp_set_num_threads(threads);
	loops();
	doacross();
	exclusive();
	teamwork();
	tasking();
	if (argc < 3)
		detached();
	nested();
	cancelled();
	if (argc < 3)
		devices();
	printf("counted %ld %ld\n", single, tasks);
	return 0;
}
