/* SPDX-License-Identifier: MIT */
/* The program of doc/recipes.md: smooths a grid until it changes little; cells that are walls stay as they are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 64

struct cell {
	char wall;
	double heat;
} __attribute__((packed));

static double grid[SIDE][SIDE], next[SIDE][SIDE];
static struct cell cells[SIDE];

static inline double mean(int i, int j)
{
	return 0.25 * (grid[i - 1][j] + grid[i + 1][j] + grid[i][j - 1] + grid[i][j + 1]);
}

__attribute__((noinline)) double sweep(int from, int to)
{
	double most = 0;

	for (int j = 1; j < SIDE - 1; j++)
		for (int i = from; i < to; i++) {
			double change;

			if (cells[i].wall)
				continue;
			next[i][j] = mean(i, j);
			change = fabs(next[i][j] - grid[i][j]);
			if (change > most)
				most = change;
		}
	return most;
}

__attribute__((noinline)) double warm(int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += cells[i].heat += 0.5;
	return sum;
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) : 0.1, change = 1, heat = 0;
	int rounds = 0;

	for (int i = 0; i < SIDE; i++) {
		grid[0][i] = 1;
		cells[i].wall = i % 8 == 3;
	}
	for (; change > limit; rounds++) {
		change = sweep(1, SIDE - 1);
		for (int i = 1; i < SIDE - 1; i++)
			for (int j = 1; j < SIDE - 1; j++)
				grid[i][j] = next[i][j];
		heat = warm(SIDE);
	}
	printf("%d rounds, %g\n", rounds, heat);
	return 0;
}
