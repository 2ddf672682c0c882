/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the events of each thread come to, where several analysis ranks work (launcher/ranks/ranks.h): each walks over those of some
 * processes, and rank 0 gets the sums of all.
 */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_SHARED_H
#define SONDE_LAUNCHER_REPORT_REPORT_SHARED_H

#include "launcher/report/report-walks.h"

struct report_shared;

/*
 * @threads: @n indices of the trace's, those of a process one after the other.  NULL: this is a helper, and its part is done.  Ends the
 * program with a message if there is no memory.
 */
struct report_shared *report_shared_begin(const struct report *r, const size_t *threads, size_t n);

/* Of threads[@i]; valid until report_shared_end(). */
const struct report_walked *report_shared_take(const struct report_shared *s, size_t i);

/* NULL allowed. */
void report_shared_end(struct report_shared *s);

#endif
