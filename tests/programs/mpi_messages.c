// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Messages of all kinds between all processes.  Each process counts what it has sent by itself and prints it:
 *
 *	sent FROM TO MESSAGES BYTES
 *
 * usage: mpi_messages [ROUNDS]
 */
#include "mpi_start.h"
#include <string.h>

#define LARGE (1 << 18) /* no message of that size is sent before it is asked for */
#define MOST 64

static long messages[MOST], bytes[MOST];
static char *out, *in;
static MPI_Status *volatile none = MPI_STATUSES_IGNORE; /* volatile: the compiler would warn */

/* @to: in MPI_COMM_WORLD. */
static void note(int to, int n)
{
	messages[to]++;
	bytes[to] += n;
}

static void around(int n)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	MPI_Request r;

	note(next, n);
	MPI_Sendrecv(out, n, MPI_CHAR, next, 1, in, LARGE, MPI_CHAR, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	note(next, n);
	MPI_Irecv(in, LARGE, MPI_CHAR, last, 2, MPI_COMM_WORLD, &r);
	MPI_Ssend(out, n, MPI_CHAR, next, 2, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	/* nobody */
	MPI_Send(out, n, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
	MPI_Recv(in, n, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Many requests at once, more than a wrapper keeps on its stack; without statuses. */
static void many(void)
{
	MPI_Request r[200];
	int next = (rank + 1) % size, last = (rank + size - 1) % size, flag = 0, index, done, indices[200];

	for (int i = 0; i < 100; i++) {
		MPI_Irecv(in + i, 1, MPI_CHAR, last, 4, MPI_COMM_WORLD, &r[i]);
		note(next, 1);
		MPI_Isend(out, 1, MPI_CHAR, next, 4, MPI_COMM_WORLD, &r[100 + i]);
	}
	MPI_Waitany(200, r, &index, MPI_STATUS_IGNORE);
	MPI_Waitsome(200, r, &done, indices, none);
	while (!flag)
		MPI_Testall(200, r, &flag, none);
}

/* From whoever comes: rank 0 gets one of each. */
static void any(void)
{
	MPI_Status status;
	MPI_Message message;

	if (rank) {
		for (int i = 0; i < 2; i++) {
			note(0, rank);
			MPI_Send(out, rank, MPI_CHAR, 0, 10 + rank, MPI_COMM_WORLD);
		}
		return;
	}
	for (int i = 1; i < size; i++) {
		MPI_Recv(in, LARGE, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		CHECK(status.MPI_TAG == 10 + status.MPI_SOURCE);
	}
	for (int i = 1; i < size; i++) {
		MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
		MPI_Mrecv(in, LARGE, MPI_CHAR, &message, MPI_STATUS_IGNORE);
	}
}

/* In other communicators ranks mean other processes. */
static void elsewhere(void)
{
	MPI_Comm turned, half, other;
	MPI_Request r[2];
	int me, n;

	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
	MPI_Comm_set_name(turned, "turned");
	MPI_Comm_rank(turned, &me);
	CHECK(me == size - 1 - rank);
	if (me == 0) {
		note(size - 2, 5);
		MPI_Send(out, 5, MPI_CHAR, 1, 1, turned);
	} else if (me == 1) {
		MPI_Recv(in, 5, MPI_CHAR, 0, 1, turned, MPI_STATUS_IGNORE);
	}
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Comm_size(half, &n);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &other);
	MPI_Comm_rank(half, &me);
	if (me == 0) {
		note(1 - rank % 2, 7);
		MPI_Isend(out, 7, MPI_CHAR, 0, 1, other, &r[0]);
		MPI_Irecv(in, 7, MPI_CHAR, 0, 1, other, &r[1]);
		MPI_Waitall(2, r, none);
	}
	MPI_Comm_free(&other);
	MPI_Comm_free(&half);
	MPI_Comm_free(&turned);
}

/* A receive that is cancelled takes no message. */
static void cancelled(void)
{
	MPI_Request r;
	MPI_Status status;
	int flag, next = (rank + 1) % size, last = (rank + size - 1) % size;

	MPI_Irecv(in, 1, MPI_CHAR, last, 6, MPI_COMM_WORLD, &r);
	MPI_Cancel(&r);
	MPI_Wait(&r, &status);
	MPI_Test_cancelled(&status, &flag);
	CHECK(flag);
	MPI_Barrier(MPI_COMM_WORLD);
	note(next, 3);
	MPI_Sendrecv(out, 3, MPI_CHAR, next, 6, in, 3, MPI_CHAR, last, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
	MPI_Request r[2];
	int next = (rank + 1) % size, last = (rank + size - 1) % size;

	MPI_Recv_init(in, LARGE, MPI_CHAR, last, 7, MPI_COMM_WORLD, &r[0]);
	MPI_Send_init(out, 11, MPI_CHAR, next, 7, MPI_COMM_WORLD, &r[1]);
	for (int i = 0; i < 3; i++) {
		note(next, 11);
		MPI_Startall(2, r);
		MPI_Waitall(2, r, none);
	}
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
}

/* MPICH 4.0 moves them within one node. */
static void partitioned(void)
{
#if MPI_VERSION >= 4
	MPI_Request r[2];
	int next = (rank + 1) % size, last = (rank + size - 1) % size;

	MPI_Precv_init(in, 4, 10, MPI_CHAR, last, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
	MPI_Psend_init(out, 4, 10, MPI_CHAR, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
	for (int i = 0; i < 2; i++) {
		note(next, 40);
		MPI_Startall(2, r);
		MPI_Pready(3, r[1]);
		MPI_Pready_range(0, 2, r[1]);
		MPI_Waitall(2, r, none);
	}
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
#endif
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3;

	MPI_Init(&argc, &argv);
	find_place(MOST);
	out = calloc(2, LARGE);
	in = out + LARGE;
	CHECK(out);
	for (int i = 0; i < rounds; i++) {
		around(i % 2 ? LARGE : 8 * i);
		many();
		any();
		elsewhere();
		cancelled();
		persistent();
		partitioned();
	}
	for (int i = 0; i < size; i++)
		if (messages[i])
			printf("sent %d %d %ld %ld\n", rank, i, messages[i], bytes[i]);
	MPI_Finalize();
	return 0;
}
