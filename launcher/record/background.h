/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the thread that traces leaves to the workers, since no program waits for it: the trace of a program that runs by itself is
 * opened, that of one that has ended is completed.  One after the other, in the order in which they were asked for.
 *
 * With one worker (--workers=1) there is none to spare from draining rings, and all is refused.
 */
#ifndef SONDE_LAUNCHER_RECORD_BACKGROUND_H
#define SONDE_LAUNCHER_RECORD_BACKGROUND_H

#include <pthread.h>

#include "launcher/collect/pool.h"
#include "launcher/common/message.h"
#include "launcher/record/recording.h"

struct background {
	struct pool_member member;
	_Atomic uint32_t doorbell, sleeping;
	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t done;	/* one more is */
	struct recording *first, **last; /* the next ones */
	size_t n;		/* of them, and the one at work */
	struct recording_sums ended; /* recordings that it has completed */
	struct msg_context messages;
	bool begun;
	void (*opened)(void *arg, struct recording *r);
	void *arg;
};

/* All zero before.  @opened is called by a worker whenever it has opened the trace of @r, before r->opening says so. */
void background_init(struct background *b, void (*opened)(void *arg, struct recording *r), void *arg);

/* Calls recording_open_released(), and sets r->opening until it has; r->failed: it could not.  False: refused. */
bool background_open(struct background *b, struct recording *r);

/* Calls recording_finish() and recording_discard(): @r is gone for the caller.  False: refused. */
bool background_finish(struct background *b, struct recording *r);

/* Until all that was asked for is done. */
void background_wait(struct background *b);

/* Likewise, and nothing is asked for any more. */
void background_end(struct background *b);

#endif
