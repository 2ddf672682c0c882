/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the calls that the module mpi has recorded mean together: communicators with the processes that they are made of, requests
 * with what they were started for, and messages, from the send to the receive.
 *
 *	mpi-names	which function is what
 *	mpi-table	numbers to pointers
 *	mpi-comms	communicators: equal in all their processes
 *	mpi-messages	sends and receives to messages
 *	mpi-read	events to facts
 *
 * Events come by time, those of all processes merged.  Memory is needed for communicators, and for what is on its way: requests that
 * are open, messages that were sent and not yet received.
 *
 * Which receive a send belongs to: messages of one communicator, source, destination and tag do not overtake each other (MPI 4.0,
 * section 3.5), so the n-th send is for the n-th receive, in the order in which receives were posted.  One from any source, or with
 * any tag, takes part when it has completed, for then its status says both.
 *
 * Communicators: those of the same processes in the same order are created in the same order by each of them, so the n-th of one is
 * the n-th of the others.
 */
#ifndef SONDE_LAUNCHER_MPI_MPI_H
#define SONDE_LAUNCHER_MPI_MPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/trace.h"

/* Processes by their ranks in MPI_COMM_WORLD; -1: not known (started by MPI_Comm_spawn, or otherwise connected). */
struct mpi_group {
	int run; /* of the trace's programs: struct sonde_trace_rank */
	uint32_t index;
	uint32_t n, remote; /* in world[]; a communicator between two groups has the second one as well */
	const int32_t *world;
};

struct mpi_comm {
	uint32_t index; /* dense, by the time when they are first seen */
	const struct mpi_group *group;
	const char *name; /* as MPI_Comm_set_name gave it, or MPI_COMM_WORLD, MPI_COMM_SELF; else "" */
};

enum mpi_collective {
	MPI_NO_COLLECTIVE,
	MPI_OP_BARRIER,
	MPI_OP_BCAST,
	MPI_OP_GATHER,
	MPI_OP_GATHERV,
	MPI_OP_SCATTER,
	MPI_OP_SCATTERV,
	MPI_OP_ALLGATHER,
	MPI_OP_ALLGATHERV,
	MPI_OP_ALLTOALL,
	MPI_OP_ALLTOALLV,
	MPI_OP_ALLTOALLW,
	MPI_OP_REDUCE,
	MPI_OP_ALLREDUCE,
	MPI_OP_SCAN,
	MPI_OP_EXSCAN,
	MPI_OP_REDUCE_SCATTER,
	MPI_OP_REDUCE_SCATTER_BLOCK,
	MPI_OP_NEIGHBORS, /* with those of the process topology alone */
	MPI_OP_COMM,	  /* that makes or frees a communicator */
};

enum mpi_fact_kind {
	MPI_SENT,	    /* at the entry of a blocking send */
	MPI_ISENT,	    /* a send is started */
	MPI_ISEND_DONE,	    /* request */
	MPI_RECV_STARTED,   /* request; peer, tag may be negative: any */
	MPI_RECEIVED,	    /* at the return of a blocking receive */
	MPI_IRECEIVED,	    /* by request */
	MPI_CANCELLED,	    /* request */
	MPI_COLLECTIVE,	    /* at the entry; blocking or not */
	MPI_COLLECTIVE_END, /* at the return */
};

struct mpi_fact {
	enum mpi_fact_kind kind;
	const struct sonde_trace_function *call;
	const struct mpi_comm *comm; /* NULL: not known, for example made before recording began */
	int peer;		     /* rank in it; never MPI_PROC_NULL */
	int world;		     /* the peer's rank in MPI_COMM_WORLD, -1: not known */
	int tag;
	uint64_t bytes;
	uint64_t request; /* a number of this request's alone; 0: blocking */
	uint64_t message; /* MPI_SENT, MPI_ISENT: its number; 0: it will not be matched */
	/* of collective operations: */
	enum mpi_collective op;
	bool blocking;
	int root; /* -1: none, or it is of another group and this process has no part */
	uint64_t sent, received;
	uint64_t nth; /* of its communicator's: 0, ...; equal in all processes */
};

/* Times are ns since the start of the trace. */
struct mpi_message {
	const struct mpi_comm *comm;
	int from, to; /* in MPI_COMM_WORLD */
	int tag;
	uint64_t bytes, number; /* number: from 1, of all sends */
	const struct sonde_trace_thread *sender, *receiver;
	const struct sonde_trace_function *send_call, *receive_call; /* in which it was waited for */
	uint64_t sent;			   /* entry of the function that sends, or starts to */
	uint64_t send_waited, send_done;   /* entry of the function in which the send was completed, and when that was; 0: not known */
	uint64_t posted;		   /* entry of the function that receives, or starts to */
	uint64_t receive_waited, received; /* entry of the function in which it was completed, and when that was */
};

struct mpi_sink {
	void (*fact)(void *arg, const struct sonde_trace_event *ev, const struct mpi_fact *fact);
	/* Both ends are known; @ev is not always of one of their threads. */
	void (*matched)(void *arg, const struct sonde_trace_event *ev, const struct mpi_message *m);
	/* ... and send_done as well. */
	void (*finished)(void *arg, const struct mpi_message *m);
	void *arg;
};

struct mpi_reader;

/* Was anything recorded by the module mpi? */
bool mpi_is_there(const struct sonde_trace *trace);
/* @sink is copied; its functions may be NULL.  NULL: no memory. */
struct mpi_reader *mpi_reader_new(const struct sonde_trace *trace, const struct mpi_sink *sink) __attribute__((warn_unused_result));
/* The next event; the sink is called before this returns.  False: no memory. */
bool mpi_event(struct mpi_reader *r, const struct sonde_trace_event *ev) __attribute__((warn_unused_result));
void mpi_reader_free(struct mpi_reader *r);

/* Messages that were sent and whose receive was not seen; calls whose communicator is not known. */
struct mpi_left {
	uint64_t unreceived, unknown;
};
struct mpi_left mpi_left(const struct mpi_reader *r);

/* The rank in MPI_COMM_WORLD of @peer, a rank of @comm as the process of world rank @self counts; -1: not known. */
int mpi_world_of(const struct mpi_comm *comm, int self, int peer);

/* All communicators and groups so far; NULL: no more. */
const struct mpi_comm *mpi_comm(const struct mpi_reader *r, size_t index);
const struct mpi_group *mpi_group(const struct mpi_reader *r, size_t index);

#endif
