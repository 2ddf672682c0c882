// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Loops without calls, nested, short and long, that are left and come back to by other ways than their ends: by faults whose handlers
 * return, jump out, run the same loops, or fork; by tail calls; in several threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define SIDE 5
#define PAGE 4096

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
static volatile uint8_t *page;
static sigjmp_buf out;
static volatile sig_atomic_t faults;
static enum { OPEN, JUMP, AGAIN, FORK } how;

/* Many registers, short loops. */
APART static double multiply(int rounds)
{
	double sum = 0;

	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < SIDE; i++)
			for (int j = 0; j < SIDE; j++) {
				double s = r;

				for (int k = 0; k < SIDE; k++)
					s += a[i][k] * b[k][j];
				if (s > 100)
					continue;
				c[i][j] = s;
				sum += s;
			}
	return sum;
}

/* The page is closed: a fault at the first access to it, in the inner loop. */
APART static unsigned int walk(volatile uint8_t *bytes, unsigned int rows, unsigned int columns, unsigned int *seen)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < rows; i++)
		for (unsigned int k = 0; k < columns; k++) {
			if ((i ^ k) % 3 == 1)
				sum += 3;
			else
				sum += bytes[k];
			seen[k & 7]++;
		}
	return sum;
}

APART static unsigned int find(const unsigned int *v, unsigned int n, unsigned int what)
{
	unsigned int i = 0;

	while (i < n && v[i] != what)
		i++;
	return i;
}

/* A loop, then a jump to another function. */
APART static unsigned int tail(const unsigned int *v, unsigned int n)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < n; i++)
		if (v[i] > most)
			most = v[i];
	return find(v, n, most);
}

static void lock(int prot)
{
	if (mprotect((void *)page, PAGE, prot) != 0)
		_exit(2);
}

static void handle(int sig)
{
	unsigned int seen[8] = { 0 };
	pid_t child;

	(void)sig;
	faults++;
	if (how == JUMP)
		siglongjmp(out, 1);
	lock(PROT_READ | PROT_WRITE);
	if (how == AGAIN)
		faults += walk(page, 3, 7, seen) != 0;
	if (how != FORK)
		return;
	child = fork();
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void fault(void)
{
	unsigned int seen[8] = { 0 }, sum = 0;

	lock(PROT_NONE);
	if (sigsetjmp(out, 1) == 0)
		sum = walk(page, 4, 11, seen);
	lock(PROT_READ | PROT_WRITE);
	printf("%d: %u, %u at %u, %d faults\n", how, sum, tail(seen, 8), find(seen, 8, 4), (int)faults);
}

static void *work(void *arg)
{
	unsigned int seen[8] = { 0 };
	long n = (long)(intptr_t)arg;

	return (void *)(intptr_t)walk(page, (unsigned int)n, 9, seen);
}

int main(void)
{
	static const struct sigaction action = { .sa_handler = handle, .sa_flags = SA_NODEFER };
	unsigned long sum = 0;
	pthread_t t;
	void *result;
	pid_t main_pid = getpid();

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 2;
	for (int i = 0; i < SIDE * SIDE; i++) {
		a[i / SIDE][i % SIDE] = i % 7;
		b[i % SIDE][i / SIDE] = i % 3;
		page[i] = (uint8_t)i;
	}
	sigaction(SIGSEGV, &action, NULL);
	printf("%g\n", multiply(7));
	setvbuf(stdout, NULL, _IONBF, 0);
	for (how = OPEN; how <= FORK; how++) {
		fault();
		if (getpid() != main_pid)
			_exit(0);
	}
	for (long n = 0; n < 3; n++) {
		pthread_create(&t, NULL, work, (void *)(intptr_t)(n * n + 1));
		pthread_join(t, &result);
		sum += (unsigned long)(uintptr_t)result;
	}
	printf("%lu\n", sum);
	return 0;
}
