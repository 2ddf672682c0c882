/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program to look at with sonde: two threads sum parts of the sieve of Eratosthenes, in functions
 * that are called very often, sometimes and once. It prints the same line every time.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 2000000
#define PARTS 2

static unsigned char composite[LIMIT];

struct part {
	pthread_t thread;
	int from, to;
	long count, sum;
};

static __attribute__((noinline)) void strike_out(int prime)
{
	for (long i = (long)prime * prime; i < LIMIT; i += prime)
		composite[i] = 1;
}

static __attribute__((noinline)) void sieve(void)
{
	for (int i = 2; (long)i * i < LIMIT; i++) {
		if (!composite[i])
			strike_out(i);
	}
}

static __attribute__((noinline)) int is_prime(int n)
{
	return n >= 2 && !composite[n];
}

static __attribute__((noinline)) void count_part(struct part *part)
{
	for (int i = part->from; i < part->to; i++) {
		if (is_prime(i)) {
			part->count++;
			part->sum += i;
		}
	}
}

static void *worker(void *arg)
{
	count_part(arg);
	return NULL;
}

int main(void)
{
	struct part parts[PARTS];
	long count = 0, sum = 0;

	memset(parts, 0, sizeof(parts));
	sieve();
	for (int i = 0; i < PARTS; i++) {
		parts[i].from = LIMIT / PARTS * i;
		parts[i].to = LIMIT / PARTS * (i + 1);
		if (pthread_create(&parts[i].thread, NULL, worker, &parts[i]) != 0)
			return EXIT_FAILURE;
	}
	for (int i = 0; i < PARTS; i++) {
		pthread_join(parts[i].thread, NULL);
		count += parts[i].count;
		sum += parts[i].sum;
	}
	printf("%ld primes below %d, their sum is %ld\n", count, LIMIT, sum);
	return EXIT_SUCCESS;
}
