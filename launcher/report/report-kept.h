/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the walk over each thread's events came to is kept in the trace's folder (launcher/common/kept.h), since all tables are made of
 * that: the next report reads no events.  It follows from the contents of all files of the trace, and from options that change what
 * a thread's events mean.  Only of a trace that is complete and intact, and so large that it is worth it.
 */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_KEPT_H
#define SONDE_LAUNCHER_REPORT_REPORT_KEPT_H

#include "launcher/common/kept.h"
#include "launcher/report/report-thread.h"
#include "launcher/report/report.h"
#include "tracefmt/buffer.h"

struct report_kept {
	const struct report_rows *rows;
	const char *dir;
	size_t nthreads; /* of the trace */
	struct kept_key key;
	uint64_t *data; /* what was kept; NULL: nothing */
	size_t *at;	/* by the thread's index: where it is in there, in words */
	struct tf_buf made; /* else: what is to be kept */
	size_t added;	    /* threads in it */
	size_t most;	    /* bytes that it may have */
	bool useless;	    /* it is not to be */
};

/* Looks for what was kept; reads all files of the trace, but no events. */
void report_kept_begin(struct report_kept *k, const struct report *r);
bool report_kept_is_there(const struct report_kept *k);

/* It is there: @w is as after report_walk_finish(). */
void report_kept_take(const struct report_kept *k, const struct sonde_trace_thread *t, struct report_walk *w);
/* It is not: @sums are those of the next thread; @damaged: not all of it could be read. */
void report_kept_add(struct report_kept *k, const struct tf_buf *sums, bool damaged);

/* A thread's sums as they are kept: @w is after report_walk_finish(). */
void report_kept_put(struct tf_buf *to, const struct sonde_trace_thread *t, const struct report_walk *w);
/* ... and back. */
void report_kept_get(const struct tf_buf *sums, struct report_walk *w);

/* If all threads were added they are kept. */
void report_kept_end(struct report_kept *k);

#endif
