// SPDX-License-Identifier: GPL-3.0-or-later
/* Fields of blocks of the heap, whose type nothing but pointers says; as var_c.c. */
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(name, n) printf("%s\t%d\n", name, n)

struct vector {
	volatile double x, y;
};

struct part {
	struct vector pos, vel;
	volatile int id;
	struct part *volatile next;
};

struct part *volatile all;

__attribute__((noinline)) static void step(struct part *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i].pos.y = i;
}

__attribute__((noinline)) static void walk(struct part *p)
{
	for (; p; p = p->next)
		p->vel.x = 1;
}

__attribute__((noinline)) static void raw(volatile char *p)
{
	p[100] = 1;
}

int main(void)
{
	volatile long *numbers;

	all = malloc(50 * sizeof(*all));
	numbers = malloc(200 * sizeof(*numbers));
	if (!all || !numbers)
		return 1;
	for (int i = 0; i < 50; i++) {
		all[i].id = i;
		all[i].next = i < 49 ? &all[i + 1] : NULL;
	}
	for (int i = 0; i < 200; i++)
		numbers[i] = i;
	step(all, 50);
	step(all, 20);
	walk(all);
	free(all);
	free((void *)numbers);
	all = malloc(1000);
	raw((volatile char *)all);
	EXPECT("malloc[].id in main", 50);
	EXPECT("malloc[].next in main", 100);
	EXPECT("malloc[].pos.y in main", 70);
	EXPECT("malloc[].vel.x in main", 50);
	EXPECT("malloc[] in main", 201);
	return 0;
}
