/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the collector takes from threads without that being in their own time: where all processors are in use, it has one
 * of them while it works for a thread's stream.
 */
#ifndef SONDE_LAUNCHER_COLLECT_TAKEN_H
#define SONDE_LAUNCHER_COLLECT_TAKEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of all threads; all zero at first. */
struct taken_all {
	double in_use;		/* processors, by them */
	unsigned int cpus;	/* that there are; 0: not asked for yet */
};

/* A thread's; all zero at first.  ns. */
struct taken {
	uint64_t worked;	/* CPU time of the collector for it */
	uint64_t worked_then, ran, waited, at; /* when it was looked at last */
	double in_use;
};

/* From /proc/PID/task/TID/schedstat: how long it ran, and waited for a processor. */
struct taken_times {
	uint64_t ran, waited;
};
bool taken_parse(const char *schedstat, struct taken_times *to) __attribute__((warn_unused_result));

/* CPU time of the calling thread: ns. */
uint64_t taken_clock(void);

/*
 * What was taken since the last time, ns, at @now (monotonic).  Not more than the collector worked, and not more than the
 * thread waited; of that, the part that all threads have of the processors: the rest was taken from others.
 */
uint64_t taken_since(struct taken *t, struct taken_all *all, const struct taken_times *times, uint64_t now);

/* The same, as the kernel tells it: 0 if it does not, or if the last time is not long ago. */
uint64_t taken_look(struct taken *t, struct taken_all *all, pid_t pid, pid_t tid, uint64_t now);

/* The thread is gone. */
void taken_end(struct taken *t, struct taken_all *all);

#endif
