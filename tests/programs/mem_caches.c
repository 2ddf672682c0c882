/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops that use caches in different ways: a product of matrices, a vectorized stencil with unaligned vectors, a search
 * tree.  What each of these functions misses is known from a simulator.
 */
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

#define N 100
#define POINTS 30000
#define NODES 20000

static double a[N][N], b[N][N], c[N][N];
static float from[POINTS + 16], to[POINTS + 16];

struct node {
	struct node *left, *right;
	long key;
	char text[20];
};

OPAQUE void product(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double sum = 0;

			for (int k = 0; k < N; k++)
				sum += a[i][k] * b[k][j];
			c[i][j] = sum;
		}
}

/* Four numbers at once, most of them at addresses that are no multiples of 16. */
OPAQUE void stencil(int times)
{
	typedef float four __attribute__((vector_size(16), aligned(4)));

	for (int t = 0; t < times; t++)
		for (int i = 4; i < POINTS; i += 4) {
			four left = *(four *)&from[i - 1], right = *(four *)&from[i + 1];

			*(four *)&to[i + 2] = left + right;
		}
}

OPAQUE void insert(struct node **tree, struct node *new)
{
	while (*tree)
		tree = new->key < (*tree)->key ? &(*tree)->left : &(*tree)->right;
	*tree = new;
}

int main(void)
{
	struct node *all = calloc(NODES, sizeof(*all)), *tree = NULL;
	unsigned int v = 1;

	for (int i = 0; i < N * N; i++)
		a[i / N][i % N] = b[i / N][i % N] = i;
	product();
	stencil(10);
	for (int i = 0; all && i < NODES; i++) {
		v = v * 1664525 + 1013904223;
		all[i].key = v >> 3;
		insert(&tree, &all[i]);
	}
	printf("%g %g %d\n", c[3][4], (double)to[7], tree != NULL);
	return 0;
}
