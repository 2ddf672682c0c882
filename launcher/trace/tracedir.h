/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The trace directory: made, shared by the ranks of a job, moved aside when a new trace replaces it.
 *
 *	sonde.data/.sonde	marks a Sonde trace, names the job; locked while recording
 *	sonde.data/...		the trace of a program that is no rank
 *	sonde.data/rank-3/...	that of rank 3
 *	sonde.data/rank-3.2/...	the second run of Sonde in rank 3 of the same job
 *	sonde.data.old		the trace before
 */
#ifndef SONDE_LAUNCHER_TRACE_TRACEDIR_H
#define SONDE_LAUNCHER_TRACE_TRACEDIR_H

#include <stdbool.h>

struct tracedir {
	char *path;	/* where this process writes: the directory, or its rank-N; NULL: tracedir_begin() is still to come */
	char *top;	/* the directory as the user named it */
	int rank;	/* -1: no rank */
	int ranks;	/* of the job; 0: not known */
	int lock_fd;	/* keeps others from moving the directory; close-on-exec; -1: no locks here */
	bool moved;	/* an older trace is now top.old */
};

/*
 * Makes the directory.  Call it last, when nothing else can fail any more.  An existing trace is
 * moved to DIR.old; anything else that is not empty is left alone.  Returns 0, or EXIT_USAGE after
 * a message (not a trace, being recorded by another sonde, not writable).
 */
int tracedir_create(const char *dir, struct tracedir *td) __attribute__((warn_unused_result));

/*
 * The same in two steps: the directory is there, and this process among those that record into it, but td->path is NULL; then
 * there is a place for what this process writes.  They return what tracedir_create() does; after a failure of the second one the
 * first is still to be undone.
 */
struct job;
int tracedir_enter(const char *dir, const struct job *job, struct tracedir *td) __attribute__((warn_unused_result));
int tracedir_begin(struct tracedir *td) __attribute__((warn_unused_result));

/* Another rank of the same job, as who has entered @top: the first of the two steps. */
int tracedir_join(const char *top, int rank, int ranks, struct tracedir *td) __attribute__((warn_unused_result));

/* The program could not be started after all: removes what was made, puts the older trace back. */
void tracedir_abandon(struct tracedir *td);

/* Somebody has deleted it meanwhile, as far as locks tell. */
bool tracedir_is_gone(const struct tracedir *td);

/* Is somebody recording there?  False where the file system has no locks. */
bool tracedir_is_recorded(const char *dir);

/* Recording is over: gives up the lock and frees. */
void tracedir_close(struct tracedir *td);

/*
 * Makes the folder of a program that process @pid executes, in the folder @first of the rank's first program: its path, from
 * malloc(), or NULL with errno set.  *@number: tf_start.number.
 */
char *tracedir_add_program(const char *first, int pid, int *number) __attribute__((warn_unused_result));

#endif
