/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: tally FILE THREADS CALLS [wait]: each thread calls work() CALLS times, 0: until the program is killed, in bursts
 * between which it sleeps. FILE becomes shared memory, in which a thread says how many calls it has begun and how
 * many are over: that outlives the program. Each call stores once, to an element of an array. Prints the sum of the calls.
 * With "wait", the first thread goes on after its first call when a line comes from standard input.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WORK_IS_ELSEWHERE
#include "work.h"

#define MOST 64 /* threads */
#define CELLS 512

struct count {
	volatile long tid, begun, over;
};

static struct count *counts;
static long calls;
static bool waits;
static volatile int cells[CELLS];

OPAQUE int work(int i)
{
	cells[i % CELLS] = i;
	HIDE(i);
	return 3 * i + 1;
}

static void *run(void *arg)
{
	long k = (long)arg;
	unsigned state = (unsigned)k + 1;
	struct count *c = &counts[k];

	c->tid = syscall(SYS_gettid);
	for (long i = 0, left = 0; !calls || i < calls; i++) {
		c->begun = i + 1;
		work((int)i);
		c->over = i + 1;
		if (waits && k == 0 && i == 0)
			getchar();
		if (left-- > 0)
			continue;
		state = state * 1103515245 + 12345;
		left = state >> 16 & 2047;
		nanosleep(&(struct timespec){ .tv_nsec = state >> 12 & 0xfffff }, NULL);
	}
	return (void *)c->over;
}

int main(int argc, char **argv)
{
	bool right = argc == 4 || (argc == 5 && !strcmp(argv[4], "wait"));
	int fd = right ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	int n = right ? atoi(argv[2]) : 0;
	pthread_t threads[MOST];
	long sum = 0;
	void *one;

	if (fd < 0 || n < 1 || n > MOST || ftruncate(fd, MOST * sizeof(*counts)) < 0)
		return 2;
	counts = mmap(NULL, MOST * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		return 2;
	calls = atol(argv[3]);
	waits = argc == 5;
	for (long k = 1; k < n; k++)
		if (pthread_create(&threads[k], NULL, run, (void *)k) != 0)
			return 1;
	sum = (long)run(NULL);
	for (int k = 1; k < n; k++) {
		pthread_join(threads[k], &one);
		sum += (long)one;
	}
	printf("%ld calls\n", sum);
	return 3;
}
