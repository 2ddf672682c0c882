// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * mpi's wrappers around the functions of a real MPI library, in three processes.  Built with each
 * MPI; MPI_MODULE and MPI_LAUNCHER name the module and the program that starts the processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <mpi.h>
#include "tests/unit/modules/harness.h"

#define PROCESSES 3
#define HANDLE(h) ((void *)(sizeof(h) == 4 ? (uintptr_t)(h) & 0xffffffff : (uintptr_t)(h)))
#define WORLD HANDLE(MPI_COMM_WORLD)

static int rank;

static int setup(void **state)
{
	(void)state;
	harness_load(harness_built("modules/" MPI_MODULE ".so"), harness_libc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	harness_unload();
	return 0;
}

/* Both records of a call that has given back MPI_SUCCESS and nothing else. */
#define EXPECT(function, ...)                                                                  \
	do {                                                                                   \
		harness_expect("enter " #function " " __VA_ARGS__);                            \
		harness_expect("leave " #function " result=0");                                \
	} while (0)

static void expect_ranks(MPI_Comm comm, int remote, const char *world)
{
	harness_expect("point communicator.ranks comm=%p first=0 remote=%d world=\"%s\"", HANDLE(comm), remote, world);
}

/* What its status says means something where it was a receive. */
static void expect_request(const char *what, const void *handle)
{
	char text[80];

	snprintf(text, sizeof(text), "point requests.%s request=%p ", what, handle);
	assert_int_equal(strncmp(harness_next(), text, strlen(text)), 0);
}

static void identity(void **state)
{
	int n;

	(void)state;
	assert_int_equal(WRAPPER(MPI_Comm_rank)(MPI_COMM_WORLD, &n), MPI_SUCCESS);
	assert_int_equal(n, rank);
	harness_expect("enter MPI_Comm_rank comm=%p", WORLD);
	harness_expect("leave MPI_Comm_rank rank=%d", rank);
	assert_int_equal(WRAPPER(MPI_Comm_size)(MPI_COMM_WORLD, &n), MPI_SUCCESS);
	harness_expect("enter MPI_Comm_size comm=%p", WORLD);
	harness_expect("leave MPI_Comm_size size=%d", PROCESSES);
	harness_expect_end();
}

static void send_and_receive(void **state)
{
	int next = (rank + 1) % PROCESSES, last = (rank + PROCESSES - 1) % PROCESSES;
	double out[4] = { rank }, in[8];
	MPI_Status status;

	(void)state;
	WRAPPER(MPI_Send)(out, 4, MPI_DOUBLE, next, 5, MPI_COMM_WORLD);
	EXPECT(MPI_Send, "bytes=32 peer=%d tag=5 comm=%p wait:point to point", next, WORLD);
	WRAPPER(MPI_Recv)(in, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			  MPI_STATUS_IGNORE);
	assert_true(in[0] == last);
	harness_expect("enter MPI_Recv posted=64 peer=%d tag=%d comm=%p wait:point to point", MPI_ANY_SOURCE,
		       MPI_ANY_TAG, WORLD);
	harness_expect("leave MPI_Recv bytes=32 peer=%d tag=5 result=0", last);
	WRAPPER(MPI_Sendrecv)(out, 3, MPI_DOUBLE, next, 6, in, 8, MPI_DOUBLE, last, 6,
			      MPI_COMM_WORLD, &status);
	assert_int_equal(status.MPI_SOURCE, last);
	harness_expect("enter MPI_Sendrecv sent=24 dest=%d sendtag=6 peer=%d tag=6 comm=%p "
		       "wait:point to point", next, last, WORLD);
	harness_expect("leave MPI_Sendrecv received=24 peer=%d tag=6 result=0", last);
	WRAPPER(MPI_Send)(out, 4, MPI_DOUBLE, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
	EXPECT(MPI_Send, "bytes=0 peer=%d tag=5 comm=%p wait:point to point", MPI_PROC_NULL, WORLD);
	harness_expect_end();
}

static void requests(void **state)
{
	int next = (rank + 1) % PROCESSES, last = (rank + PROCESSES - 1) % PROCESSES;
	MPI_Status *volatile none = MPI_STATUSES_IGNORE; /* volatile: the compiler would warn */
	MPI_Request r[2];
	void *handle;
	char out[10] = "", in[20];
	int flag = 0;

	(void)state;
	WRAPPER(MPI_Irecv)(in, 20, MPI_CHAR, last, 1, MPI_COMM_WORLD, &r[0]);
	handle = HANDLE(r[0]);
	harness_expect("enter MPI_Irecv bytes=20 peer=%d tag=1 comm=%p", last, WORLD);
	harness_expect("leave MPI_Irecv request=%p result=0", handle);
	WRAPPER(MPI_Isend)(out, 10, MPI_CHAR, next, 1, MPI_COMM_WORLD, &r[1]);
	harness_expect("enter MPI_Isend bytes=10 peer=%d tag=1 comm=%p", next, WORLD);
	harness_expect("leave MPI_Isend request=%p result=0", HANDLE(r[1]));
	WRAPPER(MPI_Wait)(&r[0], MPI_STATUS_IGNORE);
	harness_expect("enter MPI_Wait request=%p wait:completion", handle);
	harness_expect("leave MPI_Wait length=10 peer=%d tag=1 cancelled=0 result=0", last);
	handle = HANDLE(r[1]);
	WRAPPER(MPI_Waitall)(2, r, none);
	harness_expect("enter MPI_Waitall requests=2 wait:completion");
	expect_request("completed", handle); /* the other one is null already */
	harness_expect("leave MPI_Waitall result=0");
	WRAPPER(MPI_Iprobe)(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	assert_int_equal(flag, 0);
	harness_expect("enter MPI_Iprobe peer=%d tag=77 comm=%p apart:polling", MPI_ANY_SOURCE, WORLD);
	harness_expect("leave MPI_Iprobe flag=0 length=0 peer=%d tag=%d result=0", MPI_PROC_NULL,
		       MPI_ANY_TAG);
	harness_expect_end();
}

/* More than there is room for on the stack, and fewer; in the order of the array. */
static void many_requests(void **state)
{
	MPI_Status *volatile none = MPI_STATUSES_IGNORE;
	MPI_Request r[200];
	void *handle[200];
	int out = 1, in[200];

	(void)state;
	for (int n = 64; n <= 200; n += 136) {
		for (int i = 0; i < n; i++) {
			MPI_Irecv(&in[i], 1, MPI_INT, rank, 100 + i, MPI_COMM_WORLD, &r[i]);
			handle[i] = HANDLE(r[i]);
		}
		for (int i = 0; i < n; i++)
			MPI_Send(&out, 1, MPI_INT, rank, 100 + i, MPI_COMM_WORLD);
		WRAPPER(MPI_Waitall)(n, r, none);
		harness_expect("enter MPI_Waitall requests=%d wait:completion", n);
		for (int i = 0; i < n; i++)
			harness_expect("point requests.completed request=%p length=4 peer=%d tag=%d cancelled=0", handle[i],
				       rank, 100 + i);
		harness_expect("leave MPI_Waitall result=0");
	}
	harness_expect_end();
}

static void cancelled(void **state)
{
	MPI_Request r;
	const char *text;
	int in;

	(void)state;
	MPI_Irecv(&in, 1, MPI_INT, rank, 300, MPI_COMM_WORLD, &r);
	MPI_Cancel(&r);
	WRAPPER(MPI_Wait)(&r, MPI_STATUS_IGNORE);
	assert_non_null(strstr(harness_next(), "enter MPI_Wait "));
	text = harness_next();
	assert_non_null(strstr(text, "leave MPI_Wait "));
	assert_non_null(strstr(text, " cancelled=1 result=0"));
	harness_expect_end();
}

static void persistent(void **state)
{
	MPI_Request r;
	int n = 0;

	(void)state;
	WRAPPER(MPI_Send_init)(&n, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &r);
	harness_expect("enter MPI_Send_init bytes=0 peer=%d tag=2 comm=%p", MPI_PROC_NULL, WORLD);
	harness_expect("leave MPI_Send_init request=%p result=0", HANDLE(r));
	WRAPPER(MPI_Start)(&r);
	EXPECT(MPI_Start, "request=%p", HANDLE(r));
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	WRAPPER(MPI_Startall)(1, &r);
	harness_expect("enter MPI_Startall requests=1");
	harness_expect("point requests.started request=%p", HANDLE(r));
	harness_expect("leave MPI_Startall result=0");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Request_free(&r);
	harness_expect_end();
}

static void from_and_to_root(void **state)
{
	const MPI_Datatype none = MPI_DATATYPE_NULL; /* where it must not be looked at */
	bool root = rank == 1;
	int one[2] = { rank, rank }, all[2 * PROCESSES] = { 0 };

	(void)state;
	WRAPPER(MPI_Bcast)(one, 2, MPI_INT, 1, MPI_COMM_WORLD);
	EXPECT(MPI_Bcast, "sent=%d received=%d root=1 comm=%p wait:collectives", root ? 8 : 0, root ? 0 : 8, WORLD);
	WRAPPER(MPI_Gather)(root ? MPI_IN_PLACE : one, root ? -1 : 2, root ? none : MPI_INT, all,
			    root ? 2 : -1, root ? MPI_INT : none, 1, MPI_COMM_WORLD);
	EXPECT(MPI_Gather, "sent=8 received=%d root=1 comm=%p wait:collectives", root ? 24 : 0, WORLD);
	WRAPPER(MPI_Scatter)(all, root ? 2 : -1, root ? MPI_INT : none, one, 2, MPI_INT, 1,
			     MPI_COMM_WORLD);
	EXPECT(MPI_Scatter, "sent=%d received=8 root=1 comm=%p wait:collectives", root ? 24 : 0, WORLD);
	WRAPPER(MPI_Reduce)(one, all, 2, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
	EXPECT(MPI_Reduce, "sent=8 received=%d root=1 comm=%p wait:collectives", root ? 8 : 0, WORLD);
	harness_expect_end();
}

static void vectors(void **state)
{
	int n[PROCESSES], at[PROCESSES], all[6], from[6] = { 0 }, total = 0;
	MPI_Datatype types[PROCESSES];

	(void)state;
	for (int i = 0; i < PROCESSES; i++) { /* 1, 2, 3 elements */
		n[i] = i + 1;
		at[i] = total;
		total += n[i];
		types[i] = MPI_INT;
	}
	memset(all, 0, sizeof(all));
	/* Only the root has counts to look at. */
	WRAPPER(MPI_Gatherv)(from, rank + 1, MPI_INT, all, rank == 0 ? n : NULL, at, MPI_INT, 0,
			     MPI_COMM_WORLD);
	EXPECT(MPI_Gatherv, "sent=%d received=%d root=0 comm=%p wait:collectives", 4 * (rank + 1),
	       rank == 0 ? 24 : 0, WORLD);
	WRAPPER(MPI_Allgatherv)(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, n, at, MPI_INT,
				MPI_COMM_WORLD);
	EXPECT(MPI_Allgatherv, "sent=%d received=24 comm=%p wait:collectives", 4 * (rank + 1), WORLD);
	int rn[PROCESSES];
	for (int i = 0; i < PROCESSES; i++)
		rn[i] = 1;
	int sat[PROCESSES] = { 0, 1, 2 };
	WRAPPER(MPI_Alltoallv)(all, rn, sat, MPI_INT, from, rn, sat, MPI_INT, MPI_COMM_WORLD);
	EXPECT(MPI_Alltoallv, "sent=12 received=12 comm=%p wait:collectives", WORLD);
	int bat[PROCESSES] = { 0, 4, 8 };
	WRAPPER(MPI_Alltoallw)(all, rn, bat, types, from, rn, bat, types, MPI_COMM_WORLD);
	EXPECT(MPI_Alltoallw, "sent=12 received=12 comm=%p wait:collectives", WORLD);
	WRAPPER(MPI_Reduce_scatter)(all, from, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	EXPECT(MPI_Reduce_scatter, "sent=24 received=%d comm=%p wait:collectives", 4 * (rank + 1), WORLD);
	harness_expect_end();
}

static void all_to_all(void **state)
{
	short one[2] = { 1, 2 }, all[2 * PROCESSES] = { 0 };
	MPI_Request r;

	(void)state;
	WRAPPER(MPI_Allgather)(one, 2, MPI_SHORT, all, 2, MPI_SHORT, MPI_COMM_WORLD);
	EXPECT(MPI_Allgather, "sent=4 received=12 comm=%p wait:collectives", WORLD);
	WRAPPER(MPI_Alltoall)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 2, MPI_SHORT,
			      MPI_COMM_WORLD);
	EXPECT(MPI_Alltoall, "sent=12 received=12 comm=%p wait:collectives", WORLD);
	WRAPPER(MPI_Allreduce)(MPI_IN_PLACE, one, 2, MPI_SHORT, MPI_MAX, MPI_COMM_WORLD);
	EXPECT(MPI_Allreduce, "sent=4 received=4 comm=%p wait:collectives", WORLD);
	WRAPPER(MPI_Barrier)(MPI_COMM_WORLD);
	EXPECT(MPI_Barrier, "comm=%p wait:collectives", WORLD);
	WRAPPER(MPI_Iallreduce)(one, all, 2, MPI_SHORT, MPI_MAX, MPI_COMM_WORLD, &r);
	harness_expect("enter MPI_Iallreduce sent=4 received=4 comm=%p", WORLD);
	harness_expect("leave MPI_Iallreduce request=%p result=0", HANDLE(r));
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	harness_expect_end();
}

/* Process 0 on one side, 1 and 2 on the other. */
static void between_groups(void **state)
{
	MPI_Comm part, both;
	int one[1] = { rank }, two[2];
	bool alone = rank == 0;

	(void)state;
	WRAPPER(MPI_Comm_split)(MPI_COMM_WORLD, alone, rank, &part);
	harness_expect("enter MPI_Comm_split comm=%p color=%d key=%d wait:collectives", WORLD, alone, rank);
	expect_ranks(part, 0, alone ? "0" : "1-2");
	harness_expect("leave MPI_Comm_split newcomm=%p result=0", HANDLE(part));
	WRAPPER(MPI_Intercomm_create)(part, 0, MPI_COMM_WORLD, alone, 9, &both);
	harness_expect("enter MPI_Intercomm_create comm=%p tag=9 wait:collectives", HANDLE(part));
	expect_ranks(both, 0, alone ? "0" : "1-2");
	expect_ranks(both, 1, alone ? "1-2" : "0");
	harness_expect("leave MPI_Intercomm_create newcomm=%p result=0", HANDLE(both));
	WRAPPER(MPI_Gather)(one, 1, MPI_INT, two, 1, MPI_INT, alone ? MPI_ROOT : 0, both);
	EXPECT(MPI_Gather, "sent=%d received=%d root=%d comm=%p wait:collectives", alone ? 0 : 4, alone ? 8 : 0,
	       alone ? MPI_ROOT : 0, HANDLE(both));
	WRAPPER(MPI_Bcast)(two, 2, MPI_INT, alone ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL,
			   both);
	EXPECT(MPI_Bcast, "sent=%d received=%d root=%d comm=%p wait:collectives", rank == 1 ? 8 : 0, alone ? 8 : 0,
	       alone ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL, HANDLE(both));
	WRAPPER(MPI_Allgather)(one, 1, MPI_INT, two, 1, MPI_INT, both);
	EXPECT(MPI_Allgather, "sent=4 received=%d comm=%p wait:collectives", alone ? 8 : 4, HANDLE(both));
	MPI_Comm_free(&both);
	MPI_Comm_free(&part);
	harness_expect_end();
}

/* Which processes a communicator is made of. */
static void communicators(void **state)
{
	MPI_Comm c;
	int colour = rank == 1;

	(void)state;
	WRAPPER(MPI_Comm_split)(MPI_COMM_WORLD, 0, -rank, &c);
	harness_expect("enter MPI_Comm_split comm=%p color=0 key=%d wait:collectives", WORLD, -rank);
	expect_ranks(c, 0, "2,1,0");
	harness_expect("leave MPI_Comm_split newcomm=%p result=0", HANDLE(c));
	WRAPPER(MPI_Comm_set_name)(c, "turned");
	EXPECT(MPI_Comm_set_name, "comm=%p name=\"turned\"", HANDLE(c));
	MPI_Comm_free(&c);
	WRAPPER(MPI_Comm_split)(MPI_COMM_WORLD, colour, rank, &c);
	harness_expect("enter MPI_Comm_split comm=%p color=%d key=%d wait:collectives", WORLD, colour, rank);
	expect_ranks(c, 0, colour ? "1" : "0-2:2");
	harness_expect("leave MPI_Comm_split newcomm=%p result=0", HANDLE(c));
	MPI_Comm_free(&c);
	WRAPPER(MPI_Comm_split)(MPI_COMM_WORLD, colour ? 0 : MPI_UNDEFINED, rank, &c);
	if (colour) {
		MPI_Comm_free(&c);
		harness_empty();
		return;
	}
	harness_expect("enter MPI_Comm_split comm=%p color=%d key=%d wait:collectives", WORLD, MPI_UNDEFINED, rank);
	harness_expect("leave MPI_Comm_split newcomm=%p result=0", HANDLE(MPI_COMM_NULL));
	harness_expect_end();
}

static void neighbors(void **state)
{
	const int dims[1] = { PROCESSES }, periods[1] = { 1 };
	int one = rank, two[2];
	MPI_Comm ring;

	(void)state;
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
	WRAPPER(MPI_Neighbor_allgather)(&one, 1, MPI_INT, two, 1, MPI_INT, ring);
	EXPECT(MPI_Neighbor_allgather, "sent=8 received=8 comm=%p wait:collectives", HANDLE(ring));
	MPI_Comm_free(&ring);
	harness_expect_end();
}

static void derived_types(void **state)
{
	double matrix[4][4] = { { 0 } };
	MPI_Datatype column;

	(void)state;
	MPI_Type_vector(4, 1, 4, MPI_DOUBLE, &column);
	MPI_Type_commit(&column);
	WRAPPER(MPI_Bcast)(matrix, 2, column, 0, MPI_COMM_SELF);
	EXPECT(MPI_Bcast, "sent=64 received=0 root=0 comm=%p wait:collectives", HANDLE(MPI_COMM_SELF));
	MPI_Type_free(&column);
	harness_expect_end();
}

static void one_sided(void **state)
{
	int window[4] = { 0 }, value = 7;
	MPI_Win win;

	(void)state;
	WRAPPER(MPI_Win_create)(window, sizeof(window), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	harness_expect("enter MPI_Win_create size=16 comm=%p wait:one-sided", WORLD);
	harness_expect("leave MPI_Win_create win=%p result=0", HANDLE(win));
	WRAPPER(MPI_Win_fence)(0, win);
	EXPECT(MPI_Win_fence, "win=%p wait:one-sided", HANDLE(win));
	WRAPPER(MPI_Put)(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
	EXPECT(MPI_Put, "bytes=4 peer=0 displacement=%d win=%p", rank, HANDLE(win));
	WRAPPER(MPI_Win_fence)(0, win);
	harness_empty();
	assert_int_equal(window[rank], rank == 0 ? 7 : 0);
	MPI_Win_free(&win);
}

static void files(void **state)
{
	MPI_File file;
	MPI_Status status;
	char text[8] = "1234567";

	(void)state;
	assert_int_equal(WRAPPER(MPI_File_open)(MPI_COMM_WORLD, "mpi.tmp",
						MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
						&file), MPI_SUCCESS);
	harness_expect("enter MPI_File_open path=\"mpi.tmp\" mode=%d comm=%p wait:files",
		       MPI_MODE_CREATE | MPI_MODE_RDWR, WORLD);
	harness_expect("leave MPI_File_open file=%p result=0", HANDLE(file));
	WRAPPER(MPI_File_write_at_all)(file, 8 * rank, text, 8, MPI_CHAR, MPI_STATUS_IGNORE);
	harness_expect("enter MPI_File_write_at_all file=%p offset=%d requested=8 wait:files", HANDLE(file),
		       8 * rank);
	harness_expect("leave MPI_File_write_at_all bytes=8 result=0");
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD); /* now another process's writing is done too */
	WRAPPER(MPI_File_read_at)(file, 8 * rank, text, 4, MPI_CHAR, &status);
	harness_expect("enter MPI_File_read_at file=%p offset=%d requested=4 wait:files", HANDLE(file),
		       8 * rank);
	harness_expect("leave MPI_File_read_at bytes=4 result=0");
	MPI_File_close(&file);
	harness_expect_end();
}

static void initialized(void **state)
{
	(void)state;
	WRAPPER(MPI_Init)(NULL, NULL);
	harness_expect("enter MPI_Init apart:Init and Finalize");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	expect_ranks(MPI_COMM_WORLD, 0, "0-2");
	expect_ranks(MPI_COMM_SELF, 0, rank == 0 ? "0" : rank == 1 ? "1" : "2");
	harness_expect("leave MPI_Init rank=%d size=%d", rank, PROCESSES);
	harness_expect_end();
}

static void finalized(void **state)
{
	(void)state;
	WRAPPER(MPI_Finalize)();
	EXPECT(MPI_Finalize, "apart:Init and Finalize");
	harness_expect_end();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(initialized, setup, teardown),
		cmocka_unit_test_setup_teardown(identity, setup, teardown),
		cmocka_unit_test_setup_teardown(send_and_receive, setup, teardown),
		cmocka_unit_test_setup_teardown(requests, setup, teardown),
		cmocka_unit_test_setup_teardown(many_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(cancelled, setup, teardown),
		cmocka_unit_test_setup_teardown(persistent, setup, teardown),
		cmocka_unit_test_setup_teardown(from_and_to_root, setup, teardown),
		cmocka_unit_test_setup_teardown(vectors, setup, teardown),
		cmocka_unit_test_setup_teardown(all_to_all, setup, teardown),
		cmocka_unit_test_setup_teardown(between_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(communicators, setup, teardown),
		cmocka_unit_test_setup_teardown(neighbors, setup, teardown),
		cmocka_unit_test_setup_teardown(derived_types, setup, teardown),
		cmocka_unit_test_setup_teardown(one_sided, setup, teardown),
		cmocka_unit_test_setup_teardown(files, setup, teardown),
		cmocka_unit_test_setup_teardown(finalized, setup, teardown),
	};

	if (argc == 1) {
		setenv("CMOCKA_TEST_ABORT", "1", 1); /* the others would wait for a failed one */
		execlp(MPI_LAUNCHER, MPI_LAUNCHER, "-n", "3", argv[0], "rank", (char *)NULL);
		return 77;
	}
	return cmocka_run_group_tests_name(MPI_MODULE, tests, NULL, NULL);
}
