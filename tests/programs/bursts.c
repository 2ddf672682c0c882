/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: bursts [THREADS [ROUNDS [signals]]]: runs for long with few accesses to memory, always the same ones in a thread,
 * in loops of many kinds; prints a sum.  THREADS (1) at the same time, each with data of its own.
 * "signals": a timer of their own time interrupts them, and its handler accesses memory, too.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "work.h"

#define N 64
#define THREADS 8

struct item {
	struct item *next;
	unsigned int value;
};

struct data {
	struct item items[N];
	double x[N], y[N];
	unsigned int keys[N];
	char text[256], copy[256];
	unsigned long sum;
	pthread_t thread;
};

static struct data all[THREADS];
static int rounds = 40;
static volatile unsigned long ticks[4];

/* Takes its time, in registers. */
static inline __attribute__((always_inline)) unsigned int churn(unsigned int v, unsigned int n)
{
	for (unsigned int i = 0; i < 40 * n; i++) {
		v = v * 1664525 + 1013904223;
		HIDE(v);
	}
	return v;
}

OPAQUE unsigned int list(struct data *d, unsigned int v)
{
	for (int k = 0; k < N; k++) {
		d->items[k].next = k + 1 < N ? &d->items[(k * 37 + 11) % N] : NULL;
		d->items[k].value = v + (unsigned int)k;
	}
	for (struct item *i = d->items; i; i = i->next)
		v = churn(v ^ i->value, 300);
	return v;
}

OPAQUE unsigned int stream(struct data *d, unsigned int v)
{
	for (int k = 0; k < N; k++)
		d->x[k] = d->y[k] = k;
	for (int n = 0; n < 20; n++)
		for (int k = 0; k < N; k++) {
			d->y[k] += 0.5 * d->x[k];
			v = churn(v, 10);
		}
	return v + (unsigned int)d->y[7];
}

OPAQUE unsigned int sort(struct data *d, unsigned int v)
{
	for (int k = 0; k < N; k++)
		d->keys[k] = v = churn(v, 5);
	for (int k = 1; k < N; k++) {
		unsigned int key = d->keys[k];
		int at = k;

		for (; at > 0 && d->keys[at - 1] > key; at--) {
			d->keys[at] = d->keys[at - 1];
			v = churn(v, 8);
		}
		d->keys[at] = key;
	}
	return v ^ d->keys[3];
}

OPAQUE unsigned int switches(struct data *d, unsigned int v)
{
	for (int k = 0; k < 300; k++) {
		v = churn(v, 40);
		switch (v >> 16 & 7) {
		case 0: d->keys[v % N]++; break;
		case 1: v += d->keys[v % N]; break;
		case 2: d->y[v % N] = 1; break;
		case 3: v ^= d->keys[3]; break;
		case 4: d->text[v % 256] = (char)v; break;
		case 5: v += (unsigned char)d->text[5]; break;
		case 6: v = churn(v, 20); break;
		default: d->copy[v % 256] = 1;
		}
	}
	return v;
}

OPAQUE unsigned int recursion(struct data *d, unsigned int depth, unsigned int v)
{
	if (!depth)
		return v;
	d->keys[depth % N] += v;
	v = recursion(d, depth - 1, churn(v, 60));
	return v + recursion(d, depth / 2, v) + d->keys[v % N];
}

OPAQUE unsigned int strings(struct data *d, unsigned int v)
{
	for (int k = 0; k < 60; k++) {
		char *to = d->copy + v % 64, *from = d->text + v / 64 % 64;
		unsigned long n = v % 100;

		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
		v = churn(v + (unsigned char)d->copy[17], 100);
	}
	return v;
}

static void *run(void *arg)
{
	struct data *d = arg;
	unsigned int v = (unsigned int)(d - all) + 1;

	for (int i = 0; i < rounds; i++) {
		v = list(d, v);
		v = stream(d, v);
		v = sort(d, v);
		v = switches(d, v);
		v = recursion(d, 24, v);
		v = strings(d, v);
		d->sum += v;
	}
	return NULL;
}

OPAQUE void on_timer(int sig)
{
	ticks[(unsigned int)sig % 4]++;
	ticks[1] += ticks[2];
}

static void start_timer(void)
{
	struct itimerval each = { { 0, 500 }, { 0, 500 } };
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART };

	sigaction(SIGVTALRM, &sa, NULL);
	setitimer(ITIMER_VIRTUAL, &each, NULL);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	unsigned long sum = 0;

	if (n < 1 || n > THREADS)
		return 2;
	if (argc > 2)
		rounds = atoi(argv[2]);
	if (argc > 3 && strcmp(argv[3], "signals") == 0)
		start_timer();
	for (int i = 1; i < n; i++)
		if (pthread_create(&all[i].thread, NULL, run, &all[i]) != 0)
			return 2;
	run(&all[0]);
	for (int i = 1; i < n; i++)
		pthread_join(all[i].thread, NULL);
	for (int i = 0; i < n; i++)
		sum += all[i].sum;
	printf("%lu\n", sum);
	return 5;
}
