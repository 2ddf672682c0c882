/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far work is that may take long, and how much longer at this pace: a line on standard error, from the first second on, if that is a terminal; it is gone when the work is done.
 *
 *	progress_begin(&p, "reading memory accesses");
 *	progress_at(&p, 0.25); ...
 *	progress_end(&p);
 */
#ifndef SONDE_LAUNCHER_COMMON_PROGRESS_H
#define SONDE_LAUNCHER_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_ERASE "\r\033[K" /* to the line's end: ECMA-48, EL */

struct progress {
	const char *what;
	int64_t began, next; /* clock_now_ns(): when to show it again */
	bool on, shown;
};

void progress_begin(struct progress *p, const char *what);
/* @share: from 0 to 1; called as often as is handy. */
void progress_at(struct progress *p, double share);
/* Is standard output a file?  What is printed to a terminal, or to a pager, would be mixed with the line. */
bool progress_prints_to_file(void);
/* Or before something else is written there. */
void progress_end(struct progress *p);

#endif
