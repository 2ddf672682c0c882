/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions by name: "MPI_Iallreduce_c" is "Allreduce", not blocking, with large counts. */
#include "launcher/mpi/mpi-private.h"

#include <string.h>

#define NAME_MAX_BYTES 64

static const struct {
	const char *name;
	enum mpi_call call;
} calls[] = {
	{ "Init", CALL_INIT },		  { "Init_thread", CALL_INIT },
	{ "Send", CALL_SEND },		  { "Bsend", CALL_SEND },
	{ "Ssend", CALL_SEND },		  { "Rsend", CALL_SEND },
	{ "Isend", CALL_ISEND },	  { "Ibsend", CALL_ISEND },
	{ "Issend", CALL_ISEND },	  { "Irsend", CALL_ISEND },
	{ "Send_init", CALL_SEND_INIT },  { "Bsend_init", CALL_SEND_INIT },
	{ "Ssend_init", CALL_SEND_INIT }, { "Rsend_init", CALL_SEND_INIT },
	{ "Psend_init", CALL_PSEND_INIT }, { "Precv_init", CALL_PRECV_INIT },
	{ "Recv", CALL_RECV },		  { "Irecv", CALL_IRECV },
	{ "Recv_init", CALL_RECV_INIT },  { "Sendrecv", CALL_SENDRECV },
	{ "Sendrecv_replace", CALL_SENDRECV }, { "Isendrecv", CALL_ISENDRECV },
	{ "Isendrecv_replace", CALL_ISENDRECV }, { "Mprobe", CALL_MPROBE },
	{ "Improbe", CALL_MPROBE },	  { "Mrecv", CALL_MRECV },
	{ "Imrecv", CALL_IMRECV },	  { "Wait", CALL_COMPLETE },
	{ "Test", CALL_COMPLETE },	  { "Waitall", CALL_COMPLETE_MANY },
	{ "Waitany", CALL_COMPLETE_MANY }, { "Waitsome", CALL_COMPLETE_MANY },
	{ "Testall", CALL_COMPLETE_MANY }, { "Testany", CALL_COMPLETE_MANY },
	{ "Testsome", CALL_COMPLETE_MANY }, { "Start", CALL_START },
	{ "Startall", CALL_COMPLETE_MANY }, { "Request_free", CALL_REQUEST_FREE },
	{ "Comm_idup", CALL_IDUP },	  { "Comm_idup_with_info", CALL_IDUP },
	{ "Comm_set_name", CALL_SET_NAME },
};

static const struct {
	const char *name;
	enum mpi_collective op;
} collectives[] = {
	{ "barrier", MPI_OP_BARRIER },
	{ "bcast", MPI_OP_BCAST },
	{ "gather", MPI_OP_GATHER },
	{ "gatherv", MPI_OP_GATHERV },
	{ "scatter", MPI_OP_SCATTER },
	{ "scatterv", MPI_OP_SCATTERV },
	{ "allgather", MPI_OP_ALLGATHER },
	{ "allgatherv", MPI_OP_ALLGATHERV },
	{ "alltoall", MPI_OP_ALLTOALL },
	{ "alltoallv", MPI_OP_ALLTOALLV },
	{ "alltoallw", MPI_OP_ALLTOALLW },
	{ "reduce", MPI_OP_REDUCE },
	{ "allreduce", MPI_OP_ALLREDUCE },
	{ "scan", MPI_OP_SCAN },
	{ "exscan", MPI_OP_EXSCAN },
	{ "reduce_scatter", MPI_OP_REDUCE_SCATTER },
	{ "reduce_scatter_block", MPI_OP_REDUCE_SCATTER_BLOCK },
	{ "neighbor_allgather", MPI_OP_NEIGHBORS },
	{ "neighbor_allgatherv", MPI_OP_NEIGHBORS },
	{ "neighbor_alltoall", MPI_OP_NEIGHBORS },
	{ "neighbor_alltoallv", MPI_OP_NEIGHBORS },
	{ "neighbor_alltoallw", MPI_OP_NEIGHBORS },
	{ "comm_dup", MPI_OP_COMM },
	{ "comm_dup_with_info", MPI_OP_COMM },
	{ "comm_create", MPI_OP_COMM },
	{ "comm_split", MPI_OP_COMM },
	{ "comm_split_type", MPI_OP_COMM },
	{ "cart_create", MPI_OP_COMM },
	{ "cart_sub", MPI_OP_COMM },
	{ "graph_create", MPI_OP_COMM },
	{ "dist_graph_create", MPI_OP_COMM },
	{ "dist_graph_create_adjacent", MPI_OP_COMM },
};

static enum mpi_collective collective(const char *lower)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++)
		if (strcmp(lower, collectives[i].name) == 0)
			return collectives[i].op;
	return MPI_NO_COLLECTIVE;
}

static struct mpi_function of_base(char *name)
{
	struct mpi_function f = { 0 };
	char initial = name[0];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(name, calls[i].name) == 0)
			return (struct mpi_function){ .call = (uint8_t)calls[i].call };
	name[0] = (char)(initial | 32);
	f.op = (uint8_t)collective(name);
	if (!f.op && initial == 'I') {
		f.op = (uint8_t)collective(name + 1);
		f.nonblocking = true;
	}
	f.call = f.op ? CALL_COLLECTIVE : CALL_NONE;
	return f;
}

struct mpi_function mpi_function(const char *name)
{
	char base[NAME_MAX_BYTES];
	size_t n = strlen(name);

	if (strcmp(name, "communicator") == 0)
		return (struct mpi_function){ .call = CALL_RANKS };
	if (strcmp(name, "requests") == 0)
		return (struct mpi_function){ .call = CALL_REQUESTS };
	if (strncmp(name, "MPI_", 4) != 0 || n >= sizeof(base) + 4)
		return (struct mpi_function){ .call = CALL_NONE };
	memcpy(base, name + 4, n - 4 + 1);
	n -= 4;
	if (n > 2 && strcmp(base + n - 2, "_c") == 0)
		base[n - 2] = 0;
	return of_base(base);
}
