/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Analysis ranks: `mpirun -np N sonde report'.  MPI has started this command N times, all with the same arguments.
 *
 * Rank 0 prints.  The others are its helpers: each does its share of the work, sends once what came of it, and ends; what they would
 * print is discarded.  What rank 0 does not get it computes itself, so a helper that has nothing to send costs time and nothing else.  Each rank
 * computes by itself who does what, from what the trace says.
 *
 * A verb whose work is not shared is run by rank 0 alone; the others end at once.
 */
#ifndef SONDE_LAUNCHER_RANKS_RANKS_H
#define SONDE_LAUNCHER_RANKS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ranks_verb {
	RANKS_EACH,   /* each rank runs it, as if there were no others: those that record, and the like */
	RANKS_FIRST,  /* rank 0 alone */
	RANKS_SHARED, /* all together */
};

/* False: there is nothing to do for this rank, which is to end with status 0. */
bool ranks_begin(enum ranks_verb verb);
/* The verb has returned @status; returns what to exit with.  Waits for all ranks. */
int ranks_end(int status);

/* How many share the work; 1: nobody else. */
unsigned int ranks_count(void);
/* Which of them this is. */
unsigned int ranks_me(void);

/*
 * Who is to do each of @n pieces of work: owner[i] is below ranks_count(), the same in all ranks.  @weight: how much each of them is.
 * False: no memory.
 */
bool ranks_share(const uint64_t *weight, size_t n, unsigned int *owner) __attribute__((warn_unused_result));

/* Of a helper: what its share came to.  Once: what is sent later is lost. */
void ranks_send(const void *data, size_t n);
/* Of rank 0: what helper @from has sent, for free(); *n is 0 if that is nothing, or was received before.  NULL: no memory. */
void *ranks_receive(unsigned int from, size_t *n);

#endif
