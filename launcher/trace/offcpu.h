/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When threads were not running, as `sonde record --blocked' has it from the kernel's scheduler: because they waited for something
 * (blocked), or because something else ran on their processor (preempted); and when what was counted, by `--counters'.
 * doc/trace-format.md describes the file.
 */
#ifndef SONDE_LAUNCHER_TRACE_OFFCPU_H
#define SONDE_LAUNCHER_TRACE_OFFCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/trace/counters.h"
#include "launcher/trace/stretches.h"
#include "sonde/trace.h"

#define OFFCPU_FILE "cpu.switches"
#define OFFCPU_MAGIC "SondeSwi"
#define OFFCPU_VERSION 1u

/* A block of the file: this, and @n records. */
struct offcpu_block {
	uint64_t n; /* at most OFFCPU_MOST */
	uint64_t hash; /* XXH64 of the records, seed 0 */
};
#define OFFCPU_MOST 4096u

enum offcpu_kind {
	OFFCPU_CLOCK = 1, /* @what: the TSC at that time */
	OFFCPU_BLOCKED,	  /* a thread stops running, since it waits for something; @what: its tid */
	OFFCPU_PREEMPTED, /* ... though it could go on */
	OFFCPU_RUNS,	  /* it runs again */
	OFFCPU_LOST,	  /* @what: so many of these were lost before; the time is when that was seen */
	OFFCPU_COUNT,	  /* something happened: @what: how often << 26 | counter << 22 | tid */
	OFFCPU_COUNTER,	  /* that counter, enum counter in @what, is recorded; the time means nothing */
};

/* Of different processors' records the times are not in order. */
struct offcpu_record {
	uint64_t when; /* CLOCK_MONOTONIC_RAW, ns, << 3 | enum offcpu_kind */
	uint64_t what;
};

#define OFFCPU_COUNT_TID 22 /* bits */
#define OFFCPU_COUNT_MOST ((UINT64_C(1) << 38) - 1)

/* What happened in one thread. */
struct offcpu_count {
	uint64_t time; /* ns since the start of the trace */
	uint64_t n;
	enum counter counter;
};

/* Of one thread of a trace, ns since the start of the trace. */
struct offcpu_thread {
	struct stretches blocked, preempted;
	struct offcpu_count *count; /* by time */
	size_t ncounts, counts_room;
	uint64_t known; /* until then */
};

struct offcpu {
	struct offcpu_thread *thread; /* by the trace's index; NULL: nothing was recorded of it */
	size_t nthreads;
	uint64_t lost;	/* switches */
	bool damaged;	/* a file is cut off or damaged: what follows is not there */
	size_t files;
	bool has[COUNTERS]; /* they were recorded */
	bool switches;	    /* so was when threads did not run */
};

/* All of the trace's.  @o->thread is NULL if there is nothing, or no memory, which a message says. */
void offcpu_read(struct offcpu *o, const struct sonde_trace *trace);
void offcpu_free(struct offcpu *o);

/* The path of the file for a program of the trace, malloc'ed; NULL: there is none. */
char *offcpu_path(const struct sonde_trace_rank *rank);

#endif
