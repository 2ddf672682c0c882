// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Collective operations, one-sided communication and a shared file; every process checks what it
 * gets, process 0 prints.
 */
#include "mpi_start.h"

#define MOST 64 /* processes */

static void say(const char *what)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		puts(what);
}

static void alltoall(void)
{
	int out[MOST], in[MOST];

	for (int i = 0; i < size; i++)
		out[i] = 100 * rank + i;
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		CHECK(in[i] == 100 * i + rank);
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		CHECK(in[i] == out[i]);
	say("alltoall 2");
}

/* Process i sends j + 1 elements to process j. */
static void alltoallv(void)
{
	int out[MOST * MOST], in[MOST * MOST], outs[MOST], ins[MOST], out_at[MOST], in_at[MOST];
	int at = 0;

	for (int j = 0; j < size; j++) {
		outs[j] = j + 1;
		out_at[j] = at;
		ins[j] = rank + 1;
		in_at[j] = j * (rank + 1);
		for (int k = 0; k <= j; k++)
			out[at++] = 10000 * rank + 100 * j + k;
	}
	MPI_Alltoallv(out, outs, out_at, MPI_INT, in, ins, in_at, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		for (int k = 0; k <= rank; k++)
			CHECK(in[in_at[i] + k] == 10000 * i + 100 * rank + k);
	say("alltoallv 1");
}

static void rooted(void)
{
	int mine = rank + 1, all[MOST], sum = 0, word = rank == 0 ? 42 : 0;

	MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
	CHECK(word == 42);
	MPI_Gather(&mine, 1, MPI_INT, all, 1, rank == 1 ? MPI_INT : MPI_DATATYPE_NULL, 1,
		   MPI_COMM_WORLD);
	for (int i = 0; rank == 1 && i < size; i++)
		CHECK(all[i] == i + 1);
	MPI_Scatter(all, 1, MPI_INT, &word, 1, MPI_INT, 1, MPI_COMM_WORLD);
	CHECK(word == rank + 1);
	MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	CHECK(rank != 0 || sum == size * (size + 1) / 2);
	MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(mine == size * (size + 1) / 2);
	say("bcast 1 gather 1 scatter 1 reduce 1 allreduce 1");
}

static void nonblocking(void)
{
	MPI_Request r[2];
	MPI_Status status[2];
	int word = rank, all[MOST];

	MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &r[0]);
	MPI_Iallreduce(MPI_IN_PLACE, &word, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, status);
	for (int i = 0; i < size; i++)
		CHECK(all[i] == i);
	CHECK(word == size - 1);
	say("iallgather 1 iallreduce 1");
}

static void groups(void)
{
	MPI_Comm half;
	int n, sum = 1;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Comm_size(half, &n);
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, half);
	CHECK(sum == n && n == (size + 1 - rank % 2) / 2);
	MPI_Comm_free(&half);
	say("comm_split 1");
}

static void one_sided(void)
{
	int window[MOST], word = rank * rank;
	MPI_Win win;

	for (int i = 0; i < MOST; i++)
		window[i] = -1;
	MPI_Win_create(window, sizeof(window), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < size; i++)
		MPI_Put(&word, 1, MPI_INT, i, rank, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < size; i++)
		CHECK(window[i] == i * i);
	MPI_Win_free(&win);
	if (rank == 0)
		puts("put");
}

static void shared_file(void)
{
	double out = rank + 0.5, in = 0;
	MPI_Status status;
	MPI_File file;
	int n;

	CHECK(MPI_File_open(MPI_COMM_WORLD, "mpi_alltoall.tmp",
			    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
			    MPI_INFO_NULL, &file) == MPI_SUCCESS);
	MPI_File_write_at_all(file, 8 * rank, &out, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at(file, 8 * ((rank + 1) % size), &in, 1, MPI_DOUBLE, &status);
	MPI_Get_count(&status, MPI_DOUBLE, &n);
	CHECK(n == 1 && in == (rank + 1) % size + 0.5);
	MPI_File_close(&file);
	say("file");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	find_place(MOST);
	alltoall();
	alltoallv();
	rooted();
	nonblocking();
	groups();
	one_sided();
	shared_file();
	if (rank == 0)
		puts("ok");
	MPI_Finalize();
	return 0;
}
