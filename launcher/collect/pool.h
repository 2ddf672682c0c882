/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads of this process that serve collectors: as many as --workers says, whatever the number of programs.  Each takes
 * the next collector that has something to do; a collector is served by one of them at a time.  One of those that have
 * nothing to do listens to the doorbells of all collectors.
 *
 *	program			    worker that listens		   another one
 *	doorbell + 1, wake ───────▶ takes that collector ────────▶ listens
 *				    serves it
 *				    there is more: the next; else sleeps, until the other one has heard something
 */
#ifndef SONDE_LAUNCHER_COLLECT_POOL_H
#define SONDE_LAUNCHER_COLLECT_POOL_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define POOL_MOST_WORKERS 256u

/* What is served; the caller's, from pool_add() to pool_remove(). */
struct pool_member {
	/* Does what there is to do.  Returns when it is to be called again though no bell has rung, as of clock_now_ns(). */
	int64_t (*serve)(void *arg);
	void *arg;
	_Atomic uint32_t *doorbell; /* a futex, which others may have mapped, too: one more means that there is something to do */
	_Atomic uint32_t *sleeping; /* 1: who rings has to wake whoever waits on the bell */
	/* the pool's own */
	uint32_t heard;
	int64_t due;
	bool busy, leaves;
};

/*
 * How many threads there are to be, at most; 0: by the processors that we may run on.  They are started as they are needed.
 * Asked for more than once, the smallest number counts.
 */
void pool_limit(unsigned int workers);

/* They may run on these processors, too. */
void pool_widen(const cpu_set_t *processors);

/* False: there is no thread, errno says why. */
bool pool_add(struct pool_member *m) __attribute__((warn_unused_result));

/* Is not served any more when this returns. */
void pool_remove(struct pool_member *m);

/*
 * In a thread that serves: has work(@arg, slot) run by it, slot 0, and at the same time by up to @most - 1 of the other threads that
 * have nothing to do, each with a slot of its own below @most.  Returns when all have returned; who has not begun by then does not.
 */
void pool_share(unsigned int most, void (*work)(void *arg, unsigned int slot), void *arg);
/*
 * The same in two parts, between which the caller does something else, and may even return from serving: slot 0 is its own, but
 * nothing is run there.  In any thread, if pool_limit() has been called.  NULL: no memory, so nobody helps.  Each is given to
 * pool_share_finish() once, by any thread.
 */
void *pool_share_begin(unsigned int most, void (*work)(void *arg, unsigned int slot), void *arg);
void pool_share_finish(void *share);
/* How many threads there are to be, at most. */
unsigned int pool_size(void);

/*
 * In a thread that serves: it is about to wait for somebody who may keep it waiting, and does nothing meanwhile.  Another
 * thread takes its place until pool_goes_on().
 */
void pool_waits(void);
void pool_goes_on(void);

#endif
