/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Standing between the user and the program: signals to us reach it, its stops are ours, its
 * end is ours.
 */
#ifndef SONDE_LAUNCHER_RECORD_SUPERVISE_H
#define SONDE_LAUNCHER_RECORD_SUPERVISE_H

#include <signal.h>
#include <sys/types.h>

struct supervisor {
	sigset_t original_mask;
	struct sigaction original_chld;
	int toggle;	/* a signal that is not passed on, but calls ... when it is sent to us; 0: there is none */
	void (*toggled)(void *arg);
	void *arg;
	/* Called when the program has ended and what it did is on disk, with signals as we found them; NULL: nothing is to be done. */
	void (*done)(void *arg);
	void *done_arg;
};

/* Call first: from here on no signal ends us. */
void supervise_begin(struct supervisor *v);
/* In the program's process before execve(): dispositions as we found them. */
void supervise_in_child(void *supervisor);
/* Waits for the program's end; returns its status, as of waitpid(). */
int supervise(struct supervisor *v, pid_t program);
/* Ends us as the program ended: exit status, or by the same signal.  Does not return. */
void supervise_end(struct supervisor *v, int status) __attribute__((noreturn));

#endif
