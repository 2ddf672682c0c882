// SPDX-License-Identifier: GPL-3.0-or-later
/* What MPI programs have in common: who they are among how many, and a check that ends all of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

#define CHECK(condition)                                                                       \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition); \
			MPI_Abort(MPI_COMM_WORLD, 1);                                          \
		}                                                                              \
	} while (0)

/* To be called when MPI is there. */
static void find_place(int most)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(size >= 2 && size <= most);
}
