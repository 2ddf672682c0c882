// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Variables of all kinds, accessed so often as it says: each line of its output is a field's name as Sonde has it, a tabulator, and how
 * many accesses it had.  They are volatile, so the compiler leaves all of them as they are.
 */
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(name, n) printf("%s\t%d\n", name, n)

struct vector {
	volatile double x, y;
};

struct particle {
	volatile char tag;
	struct vector pos, vel[2];
	union {
		volatile int i;
		volatile double d;
	} u;
	struct {
		volatile short inner;
	};
	volatile int cells[3][4];
};

struct particle particles[50];
volatile long numbers[64];
static volatile int hidden;
static __thread volatile int per_thread[4];
__thread volatile long shared_name;

static void globals(void)
{
	for (int i = 0; i < 50; i++) {
		particles[i].tag = 1;
		particles[i].pos.y = 2;
		particles[i].vel[i % 2].x = 3;
		particles[i].u.d = 4;
		particles[i].inner = 5;
		particles[i].cells[i % 3][i % 4] = 6;
	}
	for (int i = 0; i < 64; i++)
		numbers[i] = i;
	for (int i = 0; i < 10; i++)
		hidden = i;
	EXPECT("particles[].tag", 50);
	EXPECT("particles[].pos.y", 50);
	EXPECT("particles[].vel[].x", 50);
	EXPECT("particles[].u.d", 0); /* 8 bytes: only one member has them all, but others have some */
	EXPECT("particles[].u.{i,d}", 50);
	EXPECT("particles[].inner", 50);
	EXPECT("particles[].cells[][]", 50);
	EXPECT("numbers[]", 64);
	EXPECT("hidden", 10);
}

__attribute__((noinline)) static void set(volatile struct vector *v)
{
	v->x = 1;
}

static void local_statics(void)
{
	static volatile int calls;
	static volatile struct vector last;

	calls = 1;
	set(&last);
}

static void more_statics(void)
{
	static volatile int calls;

	calls = 2;
}

/* Another function's array, by a pointer. */
__attribute__((noinline)) static void fill(volatile int *to, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = i;
}

__attribute__((noinline)) static int recurse(int depth)
{
	volatile int here[8];

	fill(here, 8);
	if (depth)
		recurse(depth - 1);
	here[1] = depth; /* so that it is no tail call */
	return depth;
}

__attribute__((noinline)) static void frames(int n)
{
	volatile struct vector outer;
	volatile int array[16];

	outer.y = 1;
	fill(array, 16);
	recurse(9);
	fill(array, 16);
	{
		volatile long block[3];

		block[n % 3] = n;
	}
	EXPECT("outer.y in frames", 1);
	EXPECT("array[] in frames", 32);
	EXPECT("here[] in recurse", 90);
	EXPECT("block[] in frames", 1);
}

/* Their memory is of no variable that has a place of its own. */
__attribute__((noinline)) static void variable_length(int n)
{
	volatile int vla[n];
	volatile int *by_alloca = alloca((size_t)n * sizeof(int));

	fill(vla, n);
	fill(by_alloca, n);
}

static void *thread(void *arg)
{
	volatile int mine[6];

	(void)arg;
	fill(mine, 6);
	for (int i = 0; i < 20; i++)
		per_thread[i % 4] = i;
	shared_name = 1;
	return NULL;
}

static void threads(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	thread(NULL);
	EXPECT("per_thread[]", 80);
	EXPECT("shared_name", 4);
	EXPECT("mine[] in thread", 24);
}

int main(void)
{
	globals();
	local_statics();
	more_statics();
	EXPECT("last.x in local_statics", 1);
	frames(5);
	variable_length(7);
	threads();
	return 0;
}
