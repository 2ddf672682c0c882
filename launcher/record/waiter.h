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
 * with the other; from then on neither needs the other.  It may record others' programs, too (launcher/record/node/node.h): then one that
 * waits is connected to it by a socket.
 */
#ifndef SONDE_LAUNCHER_RECORD_WAITER_H
#define SONDE_LAUNCHER_RECORD_WAITER_H

#include <limits.h>
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
	int messages;	/* of who waits, if that is another's: its standard error; -1: ours is */
};

/*
 * What the two say to each other, a number at a time; each side knows what comes next.  Started: the program, or, where that
 * is another's, why not; toggle, any number of times; ended: its status; done: whether the recorder stays.
 */
#define WAITER_REFUSED INT_MIN /* it is to be recorded in another way */
#define WAITER_FAILED(status) (-1 - (status)) /* the exit status; it was said why */

/* False: the other side is gone. */
bool waiter_say(int fd, int value);
bool waiter_hear(int fd, int *value);

/*
 * Forks.  Returns 0 in the process that records; the one that waits stays in there, and ends as the program does, or
 * with the exit status of the one that records if that gives up before.  Else an exit status, after a message.  @recorders are
 * descriptors that only the one that records keeps; -1: none.
 */
int waiter_split(struct waiter *w, struct supervisor *v, const int recorders[2]) __attribute__((warn_unused_result));

/* For a program that has been started by another @recorder, which @fd leads to: waits, and ends as it does. */
void waiter_wait(int fd, pid_t program, struct supervisor *v) __attribute__((noreturn));

/*
 * The program runs by itself.  From here on we are on our own.  Of another's program that is said before it does; false: there is
 * nobody any more to whom it could be said.
 */
bool waiter_started(struct waiter *w, pid_t program);

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
