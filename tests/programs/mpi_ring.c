// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A token goes round the processes, blocking, nonblocking and persistent.  Each process adds its
 * rank; process 0 checks the sums and prints.  usage: mpi_ring [ROUNDS]
 */
#include "mpi_start.h"
#include <limits.h>

#define WORDS 1000

static int next, last;
static long token[WORDS];

static void add(void)
{
	for (int i = 0; i < WORDS; i++)
		token[i] += rank + i;
}

static int is_whole(long rounds)
{
	long ranks = (long)size * (size - 1) / 2;

	for (int i = 0; i < WORDS; i++)
		if (token[i] != rounds * (ranks + (long)size * i))
			return 0;
	return 1;
}

static void blocking(void)
{
	MPI_Status status;
	int n;

	if (rank == 0) {
		add();
		MPI_Send(token, WORDS, MPI_LONG, next, 1, MPI_COMM_WORLD);
		MPI_Recv(token, WORDS, MPI_LONG, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		CHECK(status.MPI_SOURCE == last && status.MPI_TAG == 1);
		MPI_Get_count(&status, MPI_LONG, &n);
		CHECK(n == WORDS);
		return;
	}
	MPI_Recv(token, WORDS, MPI_LONG, last, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	add();
	MPI_Send(token, WORDS, MPI_LONG, next, 1, MPI_COMM_WORLD);
}

static void nonblocking(void)
{
	MPI_Request request;

	if (rank == 0)
		add();
	if (rank != 0) {
		MPI_Irecv(token, WORDS, MPI_LONG, last, 2, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		add();
	}
	MPI_Isend(token, WORDS, MPI_LONG, next, 2, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (rank == 0) {
		MPI_Irecv(token, WORDS, MPI_LONG, last, 2, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static void persistent(MPI_Request *send, MPI_Request *receive)
{
	if (rank == 0)
		add();
	if (rank != 0) {
		MPI_Start(receive);
		MPI_Wait(receive, MPI_STATUS_IGNORE);
		add();
	}
	MPI_Start(send);
	MPI_Wait(send, MPI_STATUS_IGNORE);
	if (rank == 0) {
		MPI_Start(receive);
		MPI_Wait(receive, MPI_STATUS_IGNORE);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	MPI_Request send, receive;

	MPI_Init(&argc, &argv);
	find_place(INT_MAX);
	next = (rank + 1) % size;
	last = (rank + size - 1) % size;
	MPI_Send_init(token, WORDS, MPI_LONG, next, 3, MPI_COMM_WORLD, &send);
	MPI_Recv_init(token, WORDS, MPI_LONG, last, 3, MPI_COMM_WORLD, &receive);
	for (int i = 0; i < rounds; i++) {
		blocking();
		nonblocking();
		persistent(&send, &receive);
	}
	MPI_Request_free(&send);
	MPI_Request_free(&receive);
	if (rank == 0) {
		CHECK(is_whole(3L * rounds));
		printf("ring: %d processes, %d rounds of %zu bytes, three ways\nok\n", size, rounds,
		       sizeof(token));
	}
	MPI_Finalize();
	return 0;
}
