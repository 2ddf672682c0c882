// SPDX-License-Identifier: MIT
/*
 * usage: advice KERNEL...: kernels of which is known what should be done about them, and others like them about which nothing should.  Prints a sum for each.
 *
 * columns     a matrix, by columns				exchange the loops
 * rows        the same, by rows				nothing
 * transpose   a matrix to another one				tiles
 * fields      one field of an array of structures		split the structure
 * whole       all of its fields				nothing
 * nodes       a list whose nodes are anywhere			no word of strides
 * aligned     16 bytes at a time, aligned			nothing
 * unaligned   8 bytes after that				align
 * stencil     neighbours of each number			nothing about alignment
 * kept        a sum that stays in memory, by a pointer		keep it in a local variable
 * scaled      pointers that do not overlap, one by one		vectorize
 * chained     each number from the one before			nothing
 * search      a loop that ends when it has found something	nothing
 * short       a loop of three, whose count is not known	make it constant
 * small       a small function, called often			inline
 * again       a block that is allocated and freed each time	allocate it once
 * tree        blocks that stay					nothing
 */
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opaque.h"

#define ROWS 520 /* no power of two, so that lines are in different sets */
#define TIMES 2
#define MANY 20000

static double matrix[ROWS][ROWS], other[ROWS][ROWS];

static struct particle {
	double x, y, z, mass;
	long kind[4];
} particles[MANY];

static struct node {
	struct node *next;
	long value;
	char rest[112];
} nodes[MANY];

static double numbers[MANY] __attribute__((aligned(64))), results[MANY] __attribute__((aligned(64)));
static volatile long three = 3;

/* ---- strides ---- */

OPAQUE static double columns(void)
{
	double sum = 0;

	for (int j = 0; j < ROWS; j++)
		for (int i = 0; i < ROWS; i++)
			sum += matrix[i][j];
	return sum;
}

OPAQUE static double rows(void)
{
	double sum = 0;

	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < ROWS; j++)
			sum += matrix[i][j];
	return sum;
}

OPAQUE static double transpose(void)
{
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < ROWS; j++)
			other[i][j] = matrix[j][i];
	return other[1][2];
}

OPAQUE static double fields(void)
{
	double sum = 0;

	for (int i = 0; i < MANY; i++)
		sum += particles[i].x;
	return sum;
}

OPAQUE static double whole(void)
{
	double sum = 0;

	for (int i = 0; i < MANY; i++) {
		const struct particle *p = &particles[i];

		sum += p->x + p->y + p->z + p->mass + (double)(p->kind[0] + p->kind[1] + p->kind[2] + p->kind[3]);
	}
	return sum;
}

OPAQUE static double walk_nodes(void)
{
	long sum = 0;

	for (const struct node *n = nodes; n; n = n->next)
		sum += n->value;
	return (double)sum;
}

/* ---- alignment ---- */

OPAQUE static double add_pairs(const double *v, long n)
{
	__m128d sum = _mm_setzero_pd();
	double both[2];

	for (long i = 0; i + 2 <= n; i += 2)
		sum = _mm_add_pd(sum, _mm_loadu_pd(v + i));
	_mm_storeu_pd(both, sum);
	return both[0] + both[1];
}

OPAQUE static double aligned(void)
{
	return add_pairs(numbers, MANY - 2);
}

OPAQUE static double add_pairs_off(const double *v, long n)
{
	__m128d sum = _mm_setzero_pd();
	double both[2];

	for (long i = 0; i + 2 <= n; i += 2)
		sum = _mm_sub_pd(sum, _mm_loadu_pd(v + i));
	_mm_storeu_pd(both, sum);
	return both[0] + both[1];
}

OPAQUE static double unaligned(void)
{
	return add_pairs_off(numbers + 1, MANY - 2);
}

OPAQUE static double stencil(void)
{
	for (long i = 2; i + 4 <= MANY; i += 2)
		_mm_store_pd(results + i, _mm_add_pd(_mm_loadu_pd(numbers + i - 1),
						     _mm_add_pd(_mm_load_pd(numbers + i), _mm_loadu_pd(numbers + i + 1))));
	return results[5];
}

/* ---- one number at a time ---- */

OPAQUE static void add_to(double *sum, const double *v, long n)
{
	for (long i = 0; i < n; i++)
		*sum += v[i];
}

OPAQUE static double kept(void)
{
	double *sum = results + 7;

	*sum = 0;
	add_to(sum, numbers, MANY);
	return *sum;
}

OPAQUE static void scale(double *to, const double *from, long n)
{
	for (long i = 0; i < n; i++)
		to[i] = 3 * from[i];
}

OPAQUE static double scaled(void)
{
	scale(results, numbers, MANY);
	return results[100];
}

OPAQUE static void chain(double *v, long n)
{
	for (long i = 1; i < n; i++)
		v[i] = v[i] - v[i - 1] / 2;
}

OPAQUE static double chained(void)
{
	chain(results, MANY);
	return results[100];
}

OPAQUE static long find(const double *v, double what)
{
	long i = 0;

	while (v[i] != what)
		i++;
	return i;
}

OPAQUE static double search(void)
{
	numbers[MANY - 1] = 1e9;
	return (double)find(numbers, 1e9);
}

/* ---- trips and calls ---- */

OPAQUE static double short_loops(void)
{
	const long n = three;
	double sum = 0;

	for (long i = 0; i < MANY; i++)
		for (long k = 0; k < n; k++)
			sum = sum * 0.5 + (double)k;
	return sum;
}

OPAQUE static uint32_t turn(uint32_t x)
{
	return (x << 7 | x >> 25) ^ 0x9e3779b9u;
}

OPAQUE static double small(void)
{
	uint32_t x = 1;

	for (int i = 0; i < 4 * MANY; i++)
		x = turn(x);
	return x;
}

/* ---- allocations ---- */

OPAQUE static double again(void)
{
	double sum = 0;

	for (int i = 0; i < MANY; i++) {
		double *v = malloc(64 * sizeof(*v));

		HIDE(v);
		v[i % 64] = i;
		sum += v[i % 64];
		free(v);
	}
	return sum;
}

OPAQUE static double tree(void)
{
	static void **kept_blocks[MANY / 4];
	double sum = 0;

	for (int i = 0; i < MANY / 4; i++) {
		kept_blocks[i] = malloc(64);
		*kept_blocks[i] = i ? (void *)kept_blocks[i / 2] : NULL;
	}
	for (int i = MANY / 4 - 1; i >= 0; i--) {
		sum += *kept_blocks[i] != NULL;
		free(kept_blocks[i]);
	}
	return sum;
}

/* ---- all ---- */

static const struct kernel {
	const char *name;
	double (*run)(void);
} kernels[] = {
	{ "columns", columns }, { "rows", rows }, { "transpose", transpose }, { "fields", fields }, { "whole", whole },
	{ "nodes", walk_nodes }, { "aligned", aligned }, { "unaligned", unaligned }, { "stencil", stencil }, { "kept", kept },
	{ "scaled", scaled }, { "chained", chained }, { "search", search }, { "short", short_loops }, { "small", small },
	{ "again", again }, { "tree", tree },
};

static void prepare(void)
{
	static int order[MANY];
	uint32_t dice = 1;

	for (int i = 0; i < MANY; i++)
		order[i] = i;
	for (int i = MANY - 1; i > 1; i--) { /* but for the first */
		int with = 1 + (int)((dice = dice * 1664525u + 1013904223u) >> 8) % i, was = order[i];

		order[i] = order[with];
		order[with] = was;
	}
	for (int i = 0; i < MANY; i++) {
		nodes[order[i]].value = i;
		nodes[order[i]].next = i < MANY - 1 ? &nodes[order[i + 1]] : NULL;
		particles[i].x = numbers[i] = i;
		particles[i].kind[i % 4] = 1;
	}
	for (int i = 0; i < ROWS; i++)
		matrix[i][i] = i;
}

int main(int argc, char **argv)
{
	prepare();
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
			double sum = 0;

			if (strcmp(argv[i], kernels[k].name) != 0)
				continue;
			for (int n = 0; n < TIMES; n++)
				sum += kernels[k].run();
			printf("%s %.3f\n", argv[i], sum);
		}
	return 0;
}
