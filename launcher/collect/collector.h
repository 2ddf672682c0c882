/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The collector drains the program's rings into the trace for as long as the program lives, and instruments the libraries
 * that it loads late.  The threads of launcher/collect/pool.h do that for all programs that are recorded by this process.
 */
#ifndef SONDE_LAUNCHER_COLLECT_COLLECTOR_H
#define SONDE_LAUNCHER_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "injector/patch/session.h"
#include "launcher/collect/analysis/analysis.h"
#include "launcher/common/options.h"
#include "launcher/control/protocol.h"
#include "launcher/collect/sampler.h"
#include "tracefmt/write/writer.h"

struct collector;

struct collector_geometry {
	uint64_t ring_bytes; /* of one thread, roughly */
	uint32_t max_rings;  /* at one time */
	bool drop;	     /* a full ring loses events */
	bool off;	     /* nothing is recorded until it is switched on */
	uint32_t functions;  /* whose calls can be counted in each ring; 0: they are not */
	bool blocks;	     /* ... or edges between blocks: so many */
	bool weighed;	     /* ... which say how many memory accesses were made */
	uint64_t memory_bytes; /* of a thread's memory stream; 0: none is recorded */
	struct sample_times sample;
	double budget;	     /* share of the program's time that recording calls may cost; 0: any.  With functions */
	bool attached;	     /* to a process that runs: `sonde detach' may end that */
	bool inproc; /* the program's threads can hand memory accesses to modules themselves, */
	bool here;   /* ... and do so at first */
	bool merges; /* they may do so again after we have */
	bool follow; /* who is about to execute a program asks first; see collector_follow() */
};

/* Who asks what happens when a process executes a program: while the collector is served; nothing is done there. */
typedef void collector_exec_fn(void *arg);

/*
 * Creates the shared memory (a memfd that children inherit; *fd), and a page that every process with recorded code
 * keeps mapped (*alive, inherited, too).  From here on the program can see that there is a collector.  Returns NULL
 * after a message.
 */
struct collector *collector_new(const struct collector_geometry *g, int *fd, int *alive);

/* Bytes from the start of the memfd that hold its first @n rings. */
uint64_t collector_bytes(const struct collector *c, uint32_t n);

/*
 * Starts draining.  The metadata of what @s has instrumented so far is written first.  @w belongs to
 * the collector until collector_finish(), @s as soon as the program has been released.
 */
int collector_start(struct collector *c, struct tf_writer *w, struct inj_session *s,
		    const struct record_options *o, pid_t program)
	__attribute__((warn_unused_result));

/* Before that: what the probes of a call take, in ticks. */
void collector_cost(struct collector *c, double ticks);

/*
 * Has the metadata written of what has been instrumented since it was started;
 * returns when it has.  The program must not run meanwhile.
 */
void collector_publish(struct collector *c);

/*
 * Before collector_start(): modules get what memory streams hold, too; @a lives until collector_finish().  What is
 * written of them is in the options.
 */
void collector_analyze(struct collector *c, struct analysis *a);

/*
 * Before collector_start(): @asked is called when a thread waits for collector_exec_done(); until then it holds the
 * mailbox.  And when there is something that other recordings are to be told.
 */
void collector_follow(struct collector *c, collector_exec_fn *asked, void *arg);
/* Does one? */
bool collector_exec_waits(const struct collector *c);
/* Which one that is; false: it has given up meanwhile.  Numbers are the program's word. */
bool collector_exec_asked(struct collector *c, pid_t *pid, pid_t *tid);
void collector_exec_done(struct collector *c);
/* Does it have the recording's memory mapped?  Whose number a program gives need not be its own. */
bool collector_is_shared_with(const struct collector *c, pid_t pid);

/*
 * A process that this recording is of, or a child that shares its memory, has executed a program, or is about to where that
 * is left alone.  Returns when all that it had recorded is on disk.
 */
void collector_executed(struct collector *c, const struct tf_exec *exec);

struct collector_totals {
	uint64_t events;
	uint64_t lost;		/* events */
	uint64_t lost_threads;
	uint64_t damaged;
	uint64_t nested;
	uint64_t discarded;	/* events that could not be written */
	uint64_t bytes;		/* of files of events, of threads that have ended */
	uint64_t memory_bytes;	/* of memory streams */
	uint64_t memory_lost;	/* chunks of them that were not recorded */
	uint64_t unfollowed;	/* programs that were executed without an answer from us */
	uint64_t guest_calls;	/* without their wrappers: see ring_control */
	struct sampled_sums sampled; /* of memory streams */
	unsigned int threads;
	uint64_t cut_off; /* threads that were killed while accesses were counted in loops, maybe in registers */
};

/* The program has ended, by itself or (@killed) by a signal.  Returns when all that was recorded so far is on disk. */
void collector_program_ended(struct collector *c, bool killed);
/* Likewise, and there is nobody else who records: returns at once, and collector_finish() is next. */
void collector_all_ended(struct collector *c, bool killed);

/* How a process ended, which need not be our child; false: that is not known (once it is waited for, before Linux 6.15). */
bool collector_exit_status(pid_t pid, int pidfd, int *status);

/*
 * From here on nothing is instrumented any more, and who asks goes on without; when this returns, nothing is being
 * instrumented, and nobody waits.  By the thread that else calls collector_exec_done().
 */
void collector_no_requests(struct collector *c);

/* Is any process left that may record: a child of the program's, a child of that? */
bool collector_is_needed(const struct collector *c);

/*
 * Has it done what @verb says, and adds to the sums and processes of *@answer.  After CONTROL_STOP collector_finish() leaves the
 * program as it is.  By one thread at a time.
 */
void collector_ask(struct collector *c, enum control_verb verb, struct control_answer *answer);

/* Switches recording off, or on again, or writes what a flight recorder keeps. */
void collector_switch(struct collector *c, bool on);
void collector_snapshot(struct collector *c);
bool collector_is_off(const struct collector *c);

/*
 * What other recordings of the job are to be told since the last time: 1 it was switched on, 0 off, -1 neither; and whether a snapshot
 * was taken because the program has asked for it.  What they are told by the functions above is not told further.
 */
int collector_switched_to(struct collector *c);
bool collector_took_snapshot(struct collector *c);

/* How often edges between blocks were counted, by counter, after collector_finish(); the collector's.  NULL: they were not. */
const uint64_t *collector_blocks(const struct collector *c, size_t *n);

/* Nobody records any more, or the recording is to end: takes all that is left, closes all threads' files; nobody serves it any more. */
void collector_finish(struct collector *c, struct collector_totals *totals);

void collector_free(struct collector *c);

#endif
