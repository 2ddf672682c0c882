/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this part share. */
#ifndef SONDE_LAUNCHER_MPI_MPI_PRIVATE_H
#define SONDE_LAUNCHER_MPI_MPI_PRIVATE_H

#include "launcher/mpi/mpi.h"

enum mpi_call {
	CALL_NONE,
	CALL_INIT,
	CALL_SEND,
	CALL_ISEND,
	CALL_SEND_INIT,
	CALL_PSEND_INIT,
	CALL_RECV,
	CALL_IRECV,
	CALL_RECV_INIT,
	CALL_PRECV_INIT,
	CALL_SENDRECV,
	CALL_ISENDRECV,
	CALL_MPROBE,
	CALL_MRECV,
	CALL_IMRECV,
	CALL_COMPLETE, /* one request: Wait, Test */
	CALL_COMPLETE_MANY,
	CALL_START,
	CALL_REQUEST_FREE,
	CALL_COLLECTIVE,
	CALL_IDUP,
	CALL_SET_NAME,
	CALL_RANKS,	/* point communicator:ranks */
	CALL_REQUESTS,	/* points requests:started, requests:completed */
};

struct mpi_function {
	uint8_t call;	   /* enum mpi_call */
	uint8_t op;	   /* enum mpi_collective */
	bool nonblocking;
};

struct mpi_function mpi_function(const char *name);

/* ---- numbers to pointers ---- */

struct mpi_key {
	uint64_t a, b;
	uint32_t kind;
};

enum { KEY_COMM = 1, KEY_REQUEST, KEY_MESSAGE, KEY_CHANNEL, KEY_PARTITIONED, KEY_MADE, KEY_NTH, KEY_GROUP, KEY_CALLS };

struct mpi_slot {
	struct mpi_key key;
	void *p; /* NULL: a free slot */
};

struct mpi_table {
	struct mpi_slot *v;
	size_t n, room;
};

void *mpi_find(const struct mpi_table *t, struct mpi_key key);
/* @p: NULL: takes it out.  False: no memory. */
bool mpi_put(struct mpi_table *t, struct mpi_key key, void *p) __attribute__((warn_unused_result));

/* ---- communicators ---- */

/* One that is being described, of a thread. */
struct mpi_ranks {
	uint64_t handle; /* 0: none */
	int32_t *world;
	size_t n, room;
	uint32_t local;
	bool remote;
};

struct mpi_comms {
	const struct sonde_trace *trace;
	struct mpi_table table;
	struct mpi_comm **v;
	struct mpi_group **group;
	size_t n, room, groups, groups_room;
	bool failed;
};

uint64_t mpi_process(const struct sonde_trace_thread *t);
const struct mpi_comm *mpi_comm_of(const struct mpi_comms *c, const struct sonde_trace_thread *t, uint64_t handle);
/* Some of its processes, as a point says. */
void mpi_ranks_point(struct mpi_comms *c, struct mpi_ranks *r, const struct sonde_trace_event *ev);
/* That was all of it. */
void mpi_ranks_end(struct mpi_comms *c, struct mpi_ranks *r, const struct sonde_trace_thread *t);
/* @handle is a copy of @of. */
void mpi_comm_copy(struct mpi_comms *c, const struct sonde_trace_thread *t, const struct mpi_comm *of, uint64_t handle);
void mpi_comm_name(struct mpi_comms *c, const struct mpi_comm *comm, const char *name);
/* How many collective operations this process has begun, before this one. */
uint64_t mpi_comm_next(struct mpi_comms *c, const struct sonde_trace_thread *t, const struct mpi_comm *comm);
void mpi_comms_free(struct mpi_comms *c);

/* ---- messages ---- */

struct mpi_channel;

struct mpi_send {
	struct mpi_message m;
	struct mpi_send *next;
	bool matched, done;
};

struct mpi_receive {
	struct mpi_message m; /* of it: comm, to, receiver, posted, receive_waited, received */
	struct mpi_receive *next;
	struct mpi_channel *channel; /* NULL: not yet in one */
	uint64_t order;		     /* when it was posted, among all */
	bool complete, cancelled;
};

struct mpi_messages {
	struct mpi_sink sink;
	struct mpi_table table;
	uint64_t order, numbers, unreceived;
	bool failed;
};

/* From the entry on.  NULL: no memory. */
struct mpi_send *mpi_sent(struct mpi_messages *q, const struct sonde_trace_event *ev, const struct mpi_message *m, bool partitioned);
/* The send was completed in a call that was entered at @waited. */
void mpi_send_done(struct mpi_messages *q, struct mpi_send *s, uint64_t waited, uint64_t done, const struct sonde_trace_function *call);
/* @m: comm, to, receiver, posted; from and tag negative: any. */
struct mpi_receive *mpi_posted(struct mpi_messages *q, const struct mpi_message *m, bool partitioned);
/* @m: from, tag, bytes as received, and how; from is negative: nothing was.  @r is not valid any more. */
void mpi_received(struct mpi_messages *q, const struct sonde_trace_event *ev, struct mpi_receive *r, const struct mpi_message *m);
/* Nobody will see how they end; either may be NULL.  They are not valid any more. */
void mpi_given_up(struct mpi_messages *q, const struct sonde_trace_event *ev, struct mpi_send *s, struct mpi_receive *r);
void mpi_messages_free(struct mpi_messages *q);

#endif
