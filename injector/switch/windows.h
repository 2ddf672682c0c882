/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The windows of a process, taken out and written in again while it is recorded: in bursts they lead into copies, between
 * bursts the original's own bytes run.
 *
 *	inj_windows_new()	a process of the recording, whose windows are in
 *	inj_windows_out()	all threads stopped: original bytes are written; who is in a copy goes on in the original, and its
 *				burst is over
 *	inj_windows_in()	all threads stopped: who is in the original of what has a copy goes on in that; windows are written
 *
 * A copy can always be run, wherever windows are.  The original of what has a copy can not be run while windows are in: some are
 * written where nobody comes any more.  Return addresses are those of the original, where windows begin, or do not.
 *
 * What leads to the stub of a function that this process has not called stays; so nobody is in its body when it is instrumented.  So
 * do edits that belong to no function: of modules, for signal handlers, the dynamic linker, execve().
 */
#ifndef SONDE_INJECTOR_SWITCH_WINDOWS_H
#define SONDE_INJECTOR_SWITCH_WINDOWS_H

#include "injector/patch/session.h"

/* Of one process; used by one thread at a time. */
struct inj_windows;

/* What a switch took. */
struct inj_switched {
	size_t threads;	/* that were stopped, */
	size_t moved;	/* ... and have gone on elsewhere */
	size_t pages;	/* that were written */
	uint64_t ns;	/* that they stood still, with what it took to stop them */
};

/*
 * Can windows of this session be switched, as far as can be known without the process?  Else static text, complete after "because".  They
 * cannot where calls are to be recorded as well.
 */
const char *inj_windows_unfit(const struct inj_session *s);

/* The process is the session's, or a child of it that has inherited everything, switched or not.  NULL: it is not, or no memory. */
struct inj_windows *inj_windows_new(struct inj_session *s, pid_t pid);
void inj_windows_free(struct inj_windows *w);

bool inj_windows_are_out(const struct inj_windows *w);

/* Has the process been switched?  Else its threads begin and end bursts by themselves. */
bool inj_windows_are_switched(const struct inj_windows *w);

/* Something has been instrumented, or unloaded. */
void inj_windows_changed(struct inj_windows *w);

/* What is known of bursts elsewhere. */
struct inj_bursts {
	bool (*is_on)(void *arg, pid_t tid); /* is the thread in one? */
	void (*begin)(void *arg);	     /* all stand still: recording is to be on from now on */
	void (*idle)(void *arg);	     /* while threads are waited for, which may wait for us in turn; again and again */
	void *arg;
};

/*
 * Errors: SYSTEM, errno EAGAIN: a thread is where that cannot be done, or waits in the kernel, try again soon; GONE: the process has ended,
 * or executes something else; MEMORY; those of inj_threads_stop().  On an error windows are where they were.
 */
enum inj_status inj_windows_out(struct inj_windows *w, const struct inj_bursts *b, struct inj_switched *took) INJ_CHECK;
enum inj_status inj_windows_in(struct inj_windows *w, const struct inj_bursts *b, struct inj_switched *took) INJ_CHECK;

/* Windows, which are in, are not going to be switched: threads end and begin bursts by themselves. */
void inj_windows_stay(struct inj_windows *w);

/* Calls @each for all children of a process. */
void inj_children(pid_t pid, void (*each)(void *arg, pid_t child), void *arg);

#endif
