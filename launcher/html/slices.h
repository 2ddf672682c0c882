/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls of a time line, so many that a page can hold them: rows of slices that follow each other, one row for each depth of a track.
 *
 * As long as there is room each call is a slice.  When there is none, time is divided into cells of 2^shift ns, the same in all rows,
 * and calls that are shorter than a cell and begin in the same one become one slice; the shift grows until all fit.  So long calls
 * are exact, what is dense is a sum, and the result depends on the calls alone, not on the order of tracks.
 */
#ifndef SONDE_LAUNCHER_HTML_SLICES_H
#define SONDE_LAUNCHER_HTML_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times are in ns. */
struct slice {
	uint64_t start, end;
	uint64_t busy;	/* of that, in calls */
	uint64_t calls; /* 1: it is one call */
	uint64_t lead;	/* how much more of busy @name has than others at least; busy: it has all */
	uint32_t name;	/* of one call; else of most of the time, if one has most of it */
	bool cut;	/* one call, whose end is not known */
};

struct slice_row {
	struct slice *v;
	size_t n, room;
};

struct slice_track {
	struct slice_row *row; /* by depth */
	uint32_t depths;
};

struct slices {
	struct slice_track *track;
	size_t tracks;
	size_t n;	   /* slices */
	size_t limit;	   /* of these */
	uint32_t depths;   /* deeper calls are counted alone; it becomes less only where rows of one slice are too many */
	unsigned int shift; /* 0: each slice is a call */
	uint64_t deeper;   /* calls that have no row */
};

/* False: no memory. */
bool slices_begin(struct slices *s, size_t tracks, size_t limit, uint32_t depths) __attribute__((warn_unused_result));
void slices_free(struct slices *s);

/* A call, after those of its row that ended before it began.  @depth: from 0.  False: no memory. */
bool slices_add(struct slices *s, size_t track, uint32_t depth, const struct slice *call) __attribute__((warn_unused_result));

/* Until there are @limit of them. */
void slices_reduce(struct slices *s, size_t limit);

#endif
