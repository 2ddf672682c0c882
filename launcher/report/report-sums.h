/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of all rows: of one thread, or of a group of threads. */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_SUMS_H
#define SONDE_LAUNCHER_REPORT_REPORT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/report/cost.h"
#include "launcher/report/report-rows.h"
#include "launcher/trace/counters.h"

/* Durations of calls: how many, and in ns their sum (signed, see cost.h), the shortest, the longest. */
struct report_durations {
	uint64_t n, sum, min, max;
};

/*
 * calls    entries, returns without an entry, points, or a counter's value
 * total    ns from entry to return; of recursive calls only the outermost counts
 * self     ns of it that were not spent in other recorded calls
 *          (both are signed sums while they are added up: see cost.h)
 * wait     ns in calls that wait; of nested ones only the outermost counts, in what is apart none
 * blocked  ns of self that the thread did not run, since it waited for something; preempted: since something else ran
 * unwound  calls that a longjmp or an exception ended; their end is the next event
 * open     calls without an end: they end with the thread's last event
 * orphans  returns whose entry was not recorded: no time is known
 * estimated  total and self are, in part: see estimate.h; @variance is that of self, in ns * ns
 */
struct report_stats {
	/* what every call changes, together */
	bool seen;
	uint64_t calls, total, self;
	struct report_durations ended;
	uint64_t unwound, open, orphans, wait;
	uint64_t blocked, preempted;
	uint64_t counted[COUNTERS]; /* by the kernel, in self */
	struct report_durations unended;
	bool estimated;
	double variance;
	uint32_t threads, processes, ranks;
	size_t last_process; /* counted in @processes last; meaningless before */
	int last_rank;	     /* likewise in @ranks */
};

struct report_sums {
	const struct report_rows *rows;
	struct report_stats *row; /* by index of rows->row */
	uint64_t *amount; /* bytes, by index of rows->slots */
	uint32_t *seen;	  /* indices of rows that are not all zero */
	size_t nseen;
};

/* Zeroed; ends the program with a message if there is no memory.  @rows has to live as long, and gets no more rows. */
void report_sums_init(struct report_sums *s, const struct report_rows *rows);
void report_sums_free(struct report_sums *s);
/* Zeroes those that were changed. */
void report_sums_clear(struct report_sums *s);

/* Adds those of one thread of process @process, by a number of the caller's, and rank @rank.  Both have to come one after the other. */
void report_sums_add(struct report_sums *to, const struct report_sums *thread, size_t process, int rank);

void report_durations_add(struct report_durations *to, const struct report_durations *more);

/* @passed: signed. */
static inline void report_duration(struct report_durations *d, uint64_t passed)
{
	uint64_t ns = cost_shown(passed);

	if (!d->n++ || ns < d->min)
		d->min = ns;
	if (ns > d->max)
		d->max = ns;
	d->sum += passed;
}

/* The figures of @row, which are to be changed. */
static inline struct report_stats *report_sums_row(struct report_sums *s, uint32_t row)
{
	struct report_stats *stats = &s->row[row];

	if (!stats->seen) {
		stats->seen = true;
		s->seen[s->nseen++] = row;
	}
	return stats;
}

#endif
