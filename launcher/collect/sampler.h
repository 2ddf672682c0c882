/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sampled memory streams, from the launcher's side: when threads are to go on recording, and when they are to look
 * whether their burst is over (tracefmt/ring.h, struct ring_sample).
 */
#ifndef SONDE_LAUNCHER_COLLECT_SAMPLER_H
#define SONDE_LAUNCHER_COLLECT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/common/options.h"
#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/ring.h"

struct sampler {
	bool switches;		/* threads do not go off and on by themselves */
	double hz;		/* of the TSC; 0: all is recorded */
	uint64_t wait;		/* ticks, before a thread is told again */
	uint32_t by;		/* enum ring_sample_by */
	uint64_t burst, every;	/* as in struct ring_control; burst 0: all is recorded */
};

/* Takes some milliseconds, for the TSC's frequency. */
void sampler_begin(struct sampler *s, const struct sample_times *t);

/* A thread; all zero at first. */
struct sampled {
	uint64_t until; /* that of struct ring_sample that was acted upon */
	uint64_t due, wait; /* ticks: when to act again, and how long to wait then */
	uint64_t cpu, cpu_at; /* its CPU time in ns when that was last looked at, and the TSC; 0: never */
};

/* What threads did, as far as they tell: sums. */
struct sampled_sums {
	uint64_t bursts, visits;
	double on, lived;	/* ticks, in bursts and in all */
	double on_units, off_units;
	double on_cpu, off_cpu;	/* ns of CPU time, in bursts and between them */
	double cost, packed;	/* ns of CPU time: of the former, what recording has cost; the collector's */
	uint64_t switches, switching; /* COST: of processes' windows, in and out; ns of CPU time */
	double used;		/* COST: ns of CPU time of all threads of the processes; 0: not known */
	const char *stay;	/* COST: why they were not; NULL: they were.  Static */
	uint64_t asked;		/* ns of the collector's: to instrument what the program asked for while it ran */
};

/* A thread's own. */
struct sonde_trace_thread_sampled sampled_thread(const struct ring_head *head);

/* A thread's, until @now.  What it did since its CPU time was last known is taken to be what it did before. */
void sampled_add(struct sampled_sums *to, const struct sampler *s, const struct ring_head *head,
		 const struct sampled *f, uint64_t now);

/* For the trace. */
struct sonde_trace_sampled sampled_result(const struct sample_times *t, const struct sampled_sums *s);

/*
 * A descriptor of the memory of a process that has inherited the file @fd, and mapped it; -1: it has not.  What it says
 * of itself is not trusted.  The descriptor is the caller's; it belongs to what the process runs now, not to what it may
 * execute later: then nothing is written any more.
 */
int sampler_open(pid_t pid, int fd);

/* The thread is to look whether recording was switched; it may miss that. */
void sampler_hurry(const struct ring_head *head, int mem);

/* The thread, which is stopped, is to record as soon as it goes on. */
void sampler_begin_burst(const struct ring_head *head, int mem);

/* Does what is due, in the memory @mem.  When to come again: ns, or INT64_MAX. */
int64_t sampler_visit(const struct sampler *s, struct ring_head *head, struct sampled *f, int mem);

#endif
