/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of all threads that a report is made of, walked over by as many threads of ours as there are processors; what that
 * comes to is taken in order.
 */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_WALKS_H
#define SONDE_LAUNCHER_REPORT_REPORT_WALKS_H

#include "launcher/report/report-thread.h"
#include "launcher/report/report.h"
#include "tracefmt/buffer.h"

struct report_walks;

/* What the events of a thread came to. */
struct report_walked {
	struct tf_buf sums;	/* as report_kept_put() made it */
	uint64_t bad_chunks;
	uint64_t unknown;	/* as in struct report_walk */
	char *last;		/* bad chunk, in words; NULL: none */
	enum sonde_trace_status status; /* OK, or why the rest could not be read */
	int error;		/* errno, for E_SYSTEM */
};

/* @threads: @n indices of the trace's.  They and @r must outlive it. */
struct report_walks *report_walks_begin(const struct report *r, const size_t *threads, size_t n);

/* Of threads[@i]; valid until it is asked for the next one. */
const struct report_walked *report_walks_take(struct report_walks *w, size_t i);

/* Nothing more is wanted.  NULL allowed. */
void report_walks_end(struct report_walks *w);

#endif
