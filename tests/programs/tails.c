// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: tails: work that is done in tail calls, of each kind, and returns in between.  To be compiled with -O2.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static volatile unsigned long sink;
static jmp_buf back;

APART static void heavy(int n)
{
	for (int i = 0; i < n * 1000; i++)
		sink += (unsigned long)i;
}

APART static void phase_a(int n)
{
	sink++;
	heavy(n);
}

APART static void phase_b(int n)
{
	sink--;
	heavy(3 * n);
}

/* ---- by pointers ---- */

typedef void work_fn(int);
static work_fn *volatile table[] = { heavy, phase_a };
static struct object {
	work_fn *work;
} object = { phase_b };
static struct object *volatile where = &object;

APART static void by_table(int n)
{
	sink++;
	table[n & 1](n);
}

APART static void by_object(int n)
{
	sink++;
	where->work(n);
}

/* ---- to what is not recorded: it has returned when its caller goes on ---- */

APART static void says(const char *text)
{
	sink++;
	puts(text);
}

/* ---- to what a module may wrap ---- */

APART int work(int n)
{
	sink++;
	return n + 1;
}

APART static int has_work(int n)
{
	sink++;
	return work(2 * n);
}

/* ---- a loop, longer than a chain may be ---- */

APART static void pong(int n);

APART static void ping(int n)
{
	sink++;
	if (n > 0)
		pong(n - 1);
}

APART static void pong(int n)
{
	sink--;
	if (n > 0)
		ping(n - 1);
}

/* ---- left by longjmp ---- */

APART static void jumps(int n)
{
	sink++;
	longjmp(back, n);
}

APART static void leads_to_jump(int n)
{
	sink++;
	jumps(n);
}

int main(void)
{
	phase_a(2000);
	phase_b(2000);
	by_table(2);
	by_table(3);
	by_object(10);
	for (int i = 0; i < 3; i++)
		says("hello");
	for (int i = 0; i < 3; i++)
		sink += (unsigned long)has_work(i);
	ping(1000);
	if (setjmp(back) == 0)
		leads_to_jump(1);
	phase_a(1);
	return 0;
}
