/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two processes: the one that the user started, which waits, and one that records.
 *
 *	shell ── sonde ──────────┬── program	    its child: signals, stops, the exit status
 *		 waits,		 │
 *		 in little memory└── sonde	    starts and instruments the program, then collects
 *				     in a session of its own, without files that were inherited
 *
 * What records lives as long as anything is left of what the program started.  Until the program is let go, each dies
 * with the other; from then on neither needs the other.
 */
#ifndef SONDE_LAUNCHER_RECORD_WAITER_H
#define SONDE_LAUNCHER_RECORD_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launcher/record/supervise.h"

/* In the process that records. */
struct waiter {
	int fd;		/* to the one that waits; -1: it is gone, or back at the prompt */
	pid_t program;
	int program_fd;	/* pidfd */
	int *inherited;	/* descriptors, but for the standard ones */
	size_t ninherited;
};

/*
 * Forks.  Returns 0 in the process that records; the one that waits stays in there, and ends as the program does, or
 * with the exit status of the one that records if that gives up before.  Else an exit status, after a message.
 */
int waiter_split(struct waiter *w, struct supervisor *v) __attribute__((warn_unused_result));

/* The program runs by itself.  From here on we are on our own. */
void waiter_started(struct waiter *w, pid_t program);

enum waiter_end {
	WAITER_ENDED,	/* the program, and *status is as of waitpid() */
	WAITER_UNKNOWN,	/* the same, but its status is not known */
	WAITER_TOGGLED,	/* it runs, and recording is to be switched off, or on */
	WAITER_WOKEN,	/* it runs */
};

/* Waits for the program's end, until @wake_fd (-1: none) can be read, or for @ms milliseconds (-1: for ever). */
enum waiter_end waiter_program_end(struct waiter *w, int wake_fd, int ms, int *status) __attribute__((warn_unused_result));

/*
 * All that the program did is on disk: the user gets the prompt back, now if this process @stays, else when it has
 * ended.  Nothing can be said on the terminal any more.
 */
void waiter_done(struct waiter *w, bool stays);

#endif
