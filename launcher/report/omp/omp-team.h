/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A parallel region while its events are read, and what it comes to when it has ended.  Times are in ns. */
#ifndef SONDE_LAUNCHER_REPORT_OMP_TEAM_H
#define SONDE_LAUNCHER_REPORT_OMP_TEAM_H

#include "launcher/report/omp/omp.h"

/* A thread's part of a loop. */
struct omp_loop_part {
	uint64_t begin, end;
	uint64_t wait;			/* for locks */
	uint64_t in_chunks, chunks;	/* time in them; how many */
};

/* A loop, once for its team. */
struct omp_loop {
	struct omp_place place;
	const char *schedule;		/* a literal */
	int64_t from, to, step, chunk;
	struct omp_loop_part *part;
	size_t nparts, parts_room;
	struct omp_chunk *v;		/* those that were recorded, until there are ... */
	size_t n, room;
	bool too_many;			/* ... too many to be compared with other schedules */
	uint64_t iterations;
};

/* A thread's part of a region. */
struct omp_part {
	size_t thread;
	uint64_t begin, end, wait[OMP_WAITS];
	uint64_t after, after_wait[OMP_WAITS]; /* tasks that it ran when its implicit task was over, and waiting in them */
	size_t loops;			       /* that it has begun */
};

/* A region that is open. */
struct omp_team {
	struct omp_team *next; /* of the same bucket */
	size_t rank_index;
	int pid;
	uint64_t number;
	struct omp_place place;
	uint64_t begin, end;
	struct omp_part *part;
	size_t nparts, parts_room;
	struct omp_loop *loop;
	size_t nloops, loops_room;
	size_t open; /* frames of it */
	bool inner;	/* a region within a region */
	bool ended;
	bool broken;	/* some of it was not recorded */
};

/* Adds a region that has ended, and its loops, to the rows of their places. */
void omp_team_add(struct omp_report *r, struct omp_team *t);
void omp_team_free(struct omp_team *t);

/* How many steps from @from to @to, up or down. */
uint64_t omp_steps(int64_t from, int64_t to, int64_t step);

/* @a - @b, or 0. */
static inline uint64_t omp_less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
