/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ranks of a job that run on one node and record into one trace share one process that records.
 *
 *	mpirun ──┬── sonde, rank 0 ──┬── program
 *		 │   waits	     └── sonde: records all of them	the first that came: it holds a lock
 *		 └── sonde, rank 1 ───── program			 in the trace folder, and has a socket
 *		     waits		   ▲ traced by that one
 *
 * A rank forks the process that is to execute its program, and hands it over (launcher/record/node/join.h); a thread of the one that
 * records then does for it what it would do itself.  If that is not possible it does it itself.  Until a program is let go
 * it costs nothing to begin anew; so if the one that records dies before, the rank does that.
 *
 *	node_begin()	in each rank, before anything else
 *	node_open()	in the process that records: others can ask
 *	node_serve()	... and are answered; its own program has been let go
 *	node_close()	nobody else is recorded by it
 */
#ifndef SONDE_LAUNCHER_RECORD_NODE_NODE_H
#define SONDE_LAUNCHER_RECORD_NODE_NODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "injector/process/tracee.h"
#include "launcher/common/options.h"
#include "launcher/control/protocol.h"
#include "launcher/record/supervise.h"
#include "launcher/trace/tracedir.h"

/* A rank that has asked. */
struct node_rank {
	struct node *node;
	int fd;		/* to who asks: launcher/record/waiter.h */
	int messages;	/* its standard error */
	int rank, ranks;
	int argc;
	char **argv;	/* sonde's own */
	char *text;	/* of it */
	struct inj_forked forked;
	bool taken;	/* its descriptors are somebody else's */
};

/* In a thread of its own: all of a rank's recording, from the start to the end. */
typedef void node_serve_fn(struct node_rank *rank);

struct node {
	int lock;	/* of @file; -1: no other rank can come */
	char *file;	/* in the trace folder; names the socket */
	char *top;	/* the trace folder */
	uint64_t context; /* join_request.context */
	char path[CONTROL_PATH]; /* the socket; "": none */
	int socket, wake;
	pthread_t acceptor;
	bool serves;	/* @acceptor runs */
	node_serve_fn *serve;
	pthread_mutex_t mutex;
	pthread_cond_t left, turn;
	int nranks;	/* that are being served */
	int starting;	/* ... and whose programs are being instrumented */
	bool closed;
};

/* What the user has asked for. */
struct node_wish {
	const struct record_options *opt;
	int argc;
	char **argv;
	struct supervisor *supervisor;
};

/*
 * Where this process is no rank nothing happens.  A rank enters the trace folder, *dir; if it is recorded by another's process this does
 * not return: it ends as its program does.  Else it records itself; n->lock says whether for others, too.  0, or an exit
 * status after a message.
 */
int node_begin(struct node *n, struct tracedir *dir, const struct node_wish *wish) __attribute__((warn_unused_result));

/* In the process that records; each does nothing if n->lock is -1. */
void node_open(struct node *n);
void node_serve(struct node *n, node_serve_fn *serve);
/*
 * Around what a rank's program needs until it is let go: that is much work, and memory for a while, so no more do it at a time than
 * there are processors.  Who has waited for long does it nevertheless: another program may be stopped.
 */
void node_start(struct node *n);
void node_started(struct node *n);
/* Is nobody else recorded?  Then nobody is from now on. */
bool node_close(struct node *n);
/* The last one has ended. */
void node_end(struct node *n);

#endif
