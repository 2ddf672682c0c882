// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Two processes that wait for each other: in each step one of them is late, and the other blocks in one
 * call, or a few.  Each measures its own calls by MPI_Wtime and prints what it found:
 *
 *	RANK CLASS|apart:CLASS FUNCTION SECONDS
 *
 * usage: mpi_waits MILLISECONDS FILE
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LARGE (4 << 20) /* bytes: no message of that size is sent before it is asked for */
#define MAX_CALLS 64

static int rank, delay_ms;
static char *large;
static struct call {
	const char *class, *name;
	double seconds;
} calls[MAX_CALLS];
static int ncalls;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void note(const char *class, const char *text, double seconds)
{
	size_t length = strcspn(text, "(");
	int i = 0;

	while (i < ncalls && (strncmp(calls[i].name, text, length) || calls[i].name[length] != '(' ||
			      strcmp(calls[i].class, class)))
		i++;
	if (i == MAX_CALLS)
		abort();
	ncalls += i == ncalls;
	calls[i].class = class;
	calls[i].name = text;
	calls[i].seconds += seconds;
}

#define TIMED(class, call)                                                                     \
	do {                                                                                   \
		double began = MPI_Wtime();                                                    \
		call;                                                                          \
		note(class, #call, MPI_Wtime() - began);                                       \
	} while (0)
/* Where MPI_Wtime cannot be asked. */
#define TIMED_OUTSIDE(class, call)                                                             \
	do {                                                                                   \
		double began = now();                                                          \
		call;                                                                          \
		note(class, #call, now() - began);                                             \
	} while (0)

static void late(int who)
{
	if (rank == who)
		usleep(delay_ms * 1000);
}

#define W MPI_COMM_WORLD
#define P2P "point to point"
#define COLLECTIVES "collectives"
#define ONE_SIDED "one-sided"

static void point_to_point(void)
{
	int out = rank, in, other = !rank;

	late(1);
	if (rank == 0) /* rendezvous */
		TIMED(P2P, MPI_Send(large, LARGE, MPI_CHAR, 1, 1, W));
	else
		TIMED(P2P, MPI_Recv(large, LARGE, MPI_CHAR, 0, 1, W, MPI_STATUS_IGNORE));
	late(0);
	if (rank == 1)
		TIMED(P2P, MPI_Ssend(&out, 1, MPI_INT, 0, 2, W));
	else
		TIMED(P2P, MPI_Recv(&in, 1, MPI_INT, 1, 2, W, MPI_STATUS_IGNORE));
	late(1);
	if (rank == 1)
		TIMED(P2P, MPI_Send(&out, 1, MPI_INT, 0, 3, W));
	else
		TIMED(P2P, MPI_Recv(&in, 1, MPI_INT, 1, 3, W, MPI_STATUS_IGNORE));
	late(0);
	TIMED(P2P, MPI_Sendrecv(&out, 1, MPI_INT, other, 4, &in, 1, MPI_INT, other, 4, W,
				MPI_STATUS_IGNORE));
	late(1);
	TIMED(P2P, MPI_Sendrecv_replace(&out, 1, MPI_INT, other, 4, other, 4, W,
					MPI_STATUS_IGNORE));
#if MPI_VERSION >= 4
	late(0);
	if (rank == 1)
		TIMED(P2P, MPI_Send_c(large, LARGE, MPI_CHAR, 0, 5, W));
	else
		TIMED(P2P, MPI_Recv_c(large, LARGE, MPI_CHAR, 1, 5, W, MPI_STATUS_IGNORE));
#endif
}

static void completion(void)
{
	MPI_Request r[2];
	int in[2], out[2] = { 0 }, other = !rank, index, done, indices[2];
	MPI_Status statuses[2];

	for (int i = 0; i < 4; i++) {
		MPI_Irecv(in, 1, MPI_INT, other, 1, W, &r[0]);
		late(i & 1);
		MPI_Isend(out, 1, MPI_INT, other, 1, W, &r[1]);
		switch (i) {
		case 0:
			TIMED("completion", MPI_Wait(&r[0], MPI_STATUS_IGNORE));
			TIMED("completion", MPI_Wait(&r[1], MPI_STATUS_IGNORE));
			break;
		case 1:
			TIMED("completion", MPI_Waitall(2, r, statuses));
			break;
		case 2:
			TIMED("completion", MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE));
			TIMED("completion", MPI_Waitany(2, r, &index, MPI_STATUS_IGNORE));
			break;
		case 3:
			for (int n = 0; n < 2; n += done)
				TIMED("completion", MPI_Waitsome(2, r, &done, indices, statuses));
			break;
		}
	}
	MPI_Recv_init(in, 1, MPI_INT, other, 2, W, &r[0]);
	MPI_Send_init(out, 1, MPI_INT, other, 2, W, &r[1]);
	MPI_Start(&r[0]);
	late(1);
	MPI_Start(&r[1]);
	TIMED("completion", MPI_Waitall(2, r, statuses));
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
	late(0);
	MPI_Ibarrier(W, &r[0]);
	TIMED("completion", MPI_Wait(&r[0], MPI_STATUS_IGNORE));
}

static void probes(void)
{
	MPI_Message message;
	int value = 1, flag = 0;

	late(0);
	if (rank == 0) {
		TIMED(P2P, MPI_Send(&value, 1, MPI_INT, 1, 1, W));
	} else {
		TIMED("probes", MPI_Probe(0, 1, W, MPI_STATUS_IGNORE));
		TIMED(P2P, MPI_Recv(&value, 1, MPI_INT, 0, 1, W, MPI_STATUS_IGNORE));
	}
	late(1);
	if (rank == 1) {
		TIMED(P2P, MPI_Send(&value, 1, MPI_INT, 0, 2, W));
	} else {
		TIMED("probes", MPI_Mprobe(1, 2, W, &message, MPI_STATUS_IGNORE));
		TIMED(P2P, MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
	}
	/* That is waiting of its own making, not MPI's. */
	late(0);
	if (rank == 0)
		TIMED(P2P, MPI_Send(&value, 1, MPI_INT, 1, 3, W));
	while (rank == 1 && !flag) {
		TIMED("apart:polling", MPI_Iprobe(0, 3, W, &flag, MPI_STATUS_IGNORE));
		usleep(1000);
	}
	if (rank == 1)
		TIMED(P2P, MPI_Recv(&value, 1, MPI_INT, 0, 3, W, MPI_STATUS_IGNORE));
}

static void collectives(void)
{
	int dims = 2, periodic = 1, one = rank, all[4] = { 0 }, counts[2] = { 1, 1 }, at[2] = { 0, 1 };
	MPI_Comm ring, copy, part, both;

	late(0);
	TIMED(COLLECTIVES, MPI_Barrier(W));
	late(1);
	TIMED(COLLECTIVES, MPI_Bcast(&one, 1, MPI_INT, 1, W));
	late(0);
	TIMED(COLLECTIVES, MPI_Allreduce(&rank, &one, 1, MPI_INT, MPI_SUM, W));
	late(1);
	TIMED(COLLECTIVES, MPI_Reduce(&rank, &one, 1, MPI_INT, MPI_SUM, 0, W));
	late(0);
	TIMED(COLLECTIVES, MPI_Alltoall(all, 1, MPI_INT, &all[2], 1, MPI_INT, W));
	late(1);
	TIMED(COLLECTIVES, MPI_Gatherv(&one, 1, MPI_INT, all, counts, at, MPI_INT, 0, W));
	late(0);
	TIMED(COLLECTIVES, MPI_Comm_dup(W, &copy));
	late(1);
	TIMED(COLLECTIVES, MPI_Comm_split(W, 0, rank, &part));
	TIMED(COLLECTIVES, MPI_Cart_create(W, 1, &dims, &periodic, 0, &ring));
	late(0);
	TIMED(COLLECTIVES, MPI_Neighbor_allgather(&one, 1, MPI_INT, all, 1, MPI_INT, ring));
	late(0);
	TIMED(COLLECTIVES, MPI_Scan(&rank, &one, 1, MPI_INT, MPI_SUM, W));
	late(1); /* nothing of it is for process 0 */
	TIMED(COLLECTIVES, MPI_Exscan(&rank, &one, 1, MPI_INT, MPI_SUM, W));
	TIMED(COLLECTIVES, MPI_Intercomm_create(MPI_COMM_SELF, 0, W, !rank, 1, &both));
	late(1);
	TIMED(COLLECTIVES, MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, both));
	TIMED(COLLECTIVES, MPI_Comm_free(&both));
#if MPI_VERSION >= 4
	late(1);
	TIMED(COLLECTIVES, MPI_Allreduce_c(&rank, &one, 1, MPI_INT, MPI_SUM, W));
#endif
	TIMED(COLLECTIVES, MPI_Comm_free(&ring));
	TIMED(COLLECTIVES, MPI_Comm_free(&part));
	TIMED(COLLECTIVES, MPI_Comm_free(&copy));
}

/* Where in an epoch a library waits is its business: at the start, the end, or at a flush. */
static void one_sided(void)
{
	int window[2] = { 0 }, value = 7, other = !rank;
	MPI_Group world, them;
	MPI_Win win;

	MPI_Comm_group(W, &world);
	MPI_Group_incl(world, 1, &other, &them);
	late(0);
	TIMED(ONE_SIDED, MPI_Win_create(window, sizeof(window), 4, MPI_INFO_NULL, W, &win));
	late(1);
	TIMED(ONE_SIDED, MPI_Win_fence(0, win));
	MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, win);
	late(0);
	TIMED(ONE_SIDED, MPI_Win_fence(0, win));
	late(1);
	if (rank == 0) {
		TIMED(ONE_SIDED, MPI_Win_start(them, 0, win));
		MPI_Put(&value, 1, MPI_INT, other, 1, 1, MPI_INT, win);
		usleep(delay_ms * 1000);
		TIMED(ONE_SIDED, MPI_Win_complete(win));
	} else {
		MPI_Win_post(them, 0, win);
		TIMED(ONE_SIDED, MPI_Win_wait(win));
	}
	TIMED(COLLECTIVES, MPI_Barrier(W));
	if (rank == 0) {
		TIMED(ONE_SIDED, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
		TIMED(COLLECTIVES, MPI_Barrier(W));
		usleep(delay_ms * 1000);
		TIMED(ONE_SIDED, MPI_Win_unlock(0, win));
	} else {
		TIMED(COLLECTIVES, MPI_Barrier(W));
		TIMED(ONE_SIDED, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
		MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
		TIMED(ONE_SIDED, MPI_Win_flush(0, win));
		TIMED(ONE_SIDED, MPI_Win_unlock(0, win));
	}
	late(1);
	TIMED(ONE_SIDED, MPI_Win_free(&win));
	MPI_Group_free(&them);
	MPI_Group_free(&world);
}

static void files(const char *path)
{
	char text[64] = "waits";
	MPI_File file;

	late(0);
	TIMED("files", MPI_File_open(W, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
	late(1);
	TIMED("files", MPI_File_write_at_all(file, 64 * rank, text, 64, MPI_CHAR,
					     MPI_STATUS_IGNORE));
	TIMED("files", MPI_File_read_at(file, 64 * rank, text, 64, MPI_CHAR, MPI_STATUS_IGNORE));
	late(0);
	TIMED("files", MPI_File_close(&file));
}

int main(int argc, char **argv)
{
	const char *place = getenv("OMPI_COMM_WORLD_RANK");

	if (!place)
		place = getenv("PMI_RANK");
	rank = place ? atoi(place) : 0;
	delay_ms = argc > 1 ? atoi(argv[1]) : 300;
	large = calloc(1, LARGE);
	late(1);
	TIMED_OUTSIDE("apart:Init and Finalize", MPI_Init(&argc, &argv));
	MPI_Comm_rank(W, &rank);
	point_to_point();
	completion();
	probes();
	collectives();
	one_sided();
	files(argc > 2 ? argv[2] : "mpi_waits.tmp");
	late(0);
	TIMED_OUTSIDE("apart:Init and Finalize", MPI_Finalize());
	for (int i = 0; i < ncalls; i++)
		printf("%d %s %.*s %.9f\n", rank, calls[i].class, (int)strcspn(calls[i].name, "("),
		       calls[i].name, calls[i].seconds);
	return 0;
}
