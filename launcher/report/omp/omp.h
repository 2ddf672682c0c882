/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde report --omp`: what the module openmp has recorded, by place in the program.
 *
 *	omp-read	events of all threads, by time, to regions: who was in them, and what for
 *	omp-team	a region: what its threads did, and what that comes to
 *	omp-rows	regions, loops and kinds of tasks that have ended, added up by place
 *	omp-schedule	how long a loop's chunks would have taken with another schedule
 *	omp-print	the output
 *
 * A region's figures are those of its team: each thread counts from the region's beginning to its end.  Until its implicit task
 * begins it is idle; after that, until all are there, it waits at the barrier that ends the region, but for tasks that it runs
 * meanwhile.  So work, waiting and idleness add up to the team's time.  What a thread does in a region within a region counts there,
 * and is work out here.
 *
 * Memory is needed for regions that are open, their chunks, and the rows.
 */
#ifndef SONDE_LAUNCHER_REPORT_OMP_H
#define SONDE_LAUNCHER_REPORT_OMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/trace.h"

enum omp_kind { OMP_REGION, OMP_LOOP, OMP_TASK };

/* What threads wait for. */
enum omp_wait { OMP_BARRIERS, OMP_LOCKS, OMP_TASKS, OMP_WAITS };

/* Schedules that are compared; k is the loop's own chunk, or 1. */
enum omp_schedule {
	OMP_STATIC,
	OMP_STATIC_K,
	OMP_STATIC_4K,
	OMP_DYNAMIC_K,
	OMP_DYNAMIC_4K,
	OMP_DYNAMIC_16K,
	OMP_GUIDED_K,
	OMP_SCHEDULES
};

struct omp_place {
	const char *function, *file; /* as in struct sonde_trace_code; "" when unknown */
	int line;
	const char *path; /* else: of the program or library, "" when unknown; and the address in it */
	uint64_t offset;
};

/*
 * Figures of one place.  Times are in ns.
 *
 * count    regions, loops (each once for its team), tasks that were run
 * time     from beginning to end; of tasks: of running them
 * team     time of all threads; work, waits and idle are what it is made of
 * most     of the thread that worked longest, each time; mean: of all its threads
 */
struct omp_row {
	enum omp_kind kind;
	struct omp_place place;
	const char *schedule; /* of loops, else "" */
	int64_t chunk;
	uint64_t count, time, team, work, wait[OMP_WAITS], idle;
	double most, mean;
	uint32_t threads; /* the largest team */
	uint64_t chunks, iterations;
	uint64_t compared; /* loops whose chunks were all recorded: of these, ... */
	uint64_t compared_time; /* ... from beginning to end, and ... */
	double would[OMP_SCHEDULES]; /* ... what that would have been */
	size_t next; /* of the same hash, 1 + index; 0: none */
};

struct omp_rows {
	struct omp_row *v;
	size_t n, room;
	size_t *table; /* 1 + index, by hash of place and schedule; 0: none */
};

struct omp_request {
	bool (*want)(const struct sonde_trace_thread *thread, void *arg);
	void *arg;
};

struct omp_report {
	struct omp_rows rows;
	uint64_t regions, time; /* outermost regions, and how long they took */
	uint64_t unfinished;	/* regions whose end was not recorded: left out */
	uint64_t lost;		/* events that are missing */
	bool damaged;		/* of that, in the files */
};

/* Iterations that a thread was given: numbers of the first and of the one after the last, and how long they took, ns. */
struct omp_chunk {
	uint64_t first, end;
	uint64_t time;
};

/*
 * What a loop would have taken on @threads that begin at the same time, in ns, where each iteration takes what those of its chunk
 * took on average, and to get a chunk takes @get.  @v: all of its chunks, by their first iteration.  @k: see enum omp_schedule.
 */
void omp_compare(const struct omp_chunk *v, size_t n, uint32_t threads, uint64_t k, double get, double would[OMP_SCHEDULES]);

/* "static", "dynamic,4k" ... */
const char *omp_schedule_name(enum omp_schedule schedule);

/* The row of a place; what it has summed up so far.  Ends the program with a message if there is no memory. */
struct omp_row *omp_row(struct omp_rows *rows, enum omp_kind kind, const struct omp_place *place, const char *schedule,
			int64_t chunk);
void omp_rows_free(struct omp_rows *rows);

#define OMP_NAME_MAX 512
/* "omp parallel solve.c:120", "omp for dynamic,4 solve.c:130" */
void omp_name(const struct omp_row *row, char text[static OMP_NAME_MAX]);

/* max/mean - 1; 0 if nobody worked. */
double omp_imbalance(const struct omp_row *row);

/* Has the trace constructs of OpenMP? */
bool omp_recorded(const struct sonde_trace *trace);

/* Reads the trace.  Returns 0, or EXIT_USAGE after a message: it cannot be read, or has nothing of OpenMP. */
int omp_read(struct omp_report *r, const struct sonde_trace *trace, const char *dir, const struct omp_request *request)
	__attribute__((warn_unused_result));
void omp_report_free(struct omp_report *r);

/* Sorts the rows: regions by time, each kind for itself. */
void omp_print_text(struct omp_report *r, const struct sonde_trace *trace, uint64_t limit);
void omp_print_csv(struct omp_report *r, uint64_t limit);
void omp_print_json(struct omp_report *r, uint64_t limit);

#endif
