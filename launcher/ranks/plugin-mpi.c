// SPDX-License-Identifier: GPL-3.0-or-later
/* Compiled once for each MPI: handles differ. */
#include "launcher/ranks/plugin.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#define TAG 1
#define AT_ONCE ((size_t)1 << 30) /* bytes: counts of MPI are ints */

static bool begin(int *rank, int *size)
{
	int provided;

	return MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS &&
	       MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS && MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

/* How much it is, then that in pieces. */
static void send(const void *data, size_t n)
{
	const char *at = data;
	uint64_t all = n;

	MPI_Send(&all, 1, MPI_UINT64_T, 0, TAG, MPI_COMM_WORLD);
	while (n) {
		size_t part = n < AT_ONCE ? n : AT_ONCE;

		MPI_Send(at, (int)part, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
		at += part;
		n -= part;
	}
}

static void *receive(int from, size_t *n)
{
	uint64_t all = 0;
	char *data, *at;

	MPI_Recv(&all, 1, MPI_UINT64_T, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	data = at = malloc(all ? all : 1);
	*n = all;
	while (data && all) {
		size_t part = all < AT_ONCE ? all : AT_ONCE;

		MPI_Recv(at, (int)part, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		at += part;
		all -= part;
	}
	return data;
}

static void end(void)
{
	MPI_Finalize();
}

__attribute__((visibility("default"))) const struct ranks_plugin sonde_ranks_plugin;
const struct ranks_plugin sonde_ranks_plugin = { RANKS_PLUGIN_VERSION, begin, send, receive, end };
