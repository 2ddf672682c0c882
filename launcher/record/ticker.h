/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --progress: how far a recording is, on standard error, each second: on a terminal one line that is gone at the end, else a line each
 * time.  What cannot be written at once is left out: nobody waits for a reader.
 */
#ifndef SONDE_LAUNCHER_RECORD_TICKER_H
#define SONDE_LAUNCHER_RECORD_TICKER_H

#include <stdbool.h>
#include <stdint.h>

struct ticker {
	bool on, shown;
	int fd;	   /* msg_fd of who has begun it */
	int rank;  /* of the program's; -1: there are no ranks */
	int64_t began, next; /* clock_now_ns() */
};

struct ticker_sums {
	uint64_t events, bytes, lost; /* bytes: of files; lost: events */
};

/* Before that, of one that is all zeros, the others do nothing. */
void ticker_begin(struct ticker *t, int rank);
/* Is it time to show it? */
bool ticker_is_due(const struct ticker *t);
void ticker_show(struct ticker *t, const struct ticker_sums *sums);
/* How long it may be waited, in milliseconds (-1: for ever), if for something else that is @ms. */
int ticker_patience(const struct ticker *t, int ms);
/* Before something else is written there. */
void ticker_hide(struct ticker *t);
void ticker_end(struct ticker *t);

#endif
