// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Processes of several threads: heat in a bar that is cut into pieces.  In each step the threads of a process compute its piece,
 * and its first thread exchanges the ends with the neighbours; now and then all say how much there is.  Process 0 prints
 *
 *	heat STEP TOTAL
 *
 * which does not depend on how many processes and threads there are.  usage: mpi_openmp [STEPS]
 */
#include "mpi_start.h"
#include <string.h>

#define CELLS 5040 /* of the whole bar: any number of processes up to 10 has equal pieces */

static long here[CELLS + 2], there[CELLS + 2]; /* a cell of each neighbour's at the ends */

static void exchange(int n, int left, int right)
{
	MPI_Request r[4];
	MPI_Status status[4];

	MPI_Irecv(&here[0], 1, MPI_LONG, left, 1, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(&here[n + 1], 1, MPI_LONG, right, 2, MPI_COMM_WORLD, &r[1]);
	MPI_Isend(&here[n], 1, MPI_LONG, right, 1, MPI_COMM_WORLD, &r[2]);
	MPI_Isend(&here[1], 1, MPI_LONG, left, 2, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, status);
}

/* Integers: what one cell loses another one gets, whoever computes it. */
static void compute(int n)
{
#pragma omp parallel for schedule(dynamic, 100)
	for (int i = 1; i <= n; i++)
		there[i] = here[i] - 2 * (here[i] / 4) + here[i - 1] / 4 + here[i + 1] / 4;
	memcpy(&here[1], &there[1], sizeof(here[0]) * n);
}

static void say(int step, int n)
{
	long mine = 0, total;

#pragma omp parallel
	{
		long part = 0;

#pragma omp for schedule(static)
		for (int i = 1; i <= n; i++)
			part += here[i];
#pragma omp critical
		mine += part;
	}
	MPI_Reduce(&mine, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("heat %d %ld\n", step, total);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20, provided, n;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	find_place(10);
	CHECK(provided >= MPI_THREAD_FUNNELED && CELLS % size == 0);
	n = CELLS / size;
	for (int i = 1; i <= n; i++)
		here[i] = (rank * n + i) % 1000 * 1000;
	for (int step = 0; step < steps; step++) {
		exchange(n, (rank + size - 1) % size, (rank + 1) % size);
		compute(n);
		if (step % 10 == 0)
			say(step, n);
	}
	MPI_Finalize();
	return 0;
}
