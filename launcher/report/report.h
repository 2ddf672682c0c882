/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde report`: where the time went.
 *
 *	omp		in place of all that, `--omp': see launcher/report/omp/omp.h
 *	report-mpi	in place of all that, `--mpi': see launcher/report/mpi/report-mpi.h
 *	phases		in place of all that, `--phase'; with a name, when threads were in such phases: see launcher/report/phases/phases.h
 *	report-rows	what is counted: one row for each function and module, point and counter
 *	report-sums	the figures of each row
 *	report-thread	one thread's events into sums
 *	report-kept	these sums, for the next report
 *	report-shared	these sums, of threads that other analysis ranks have walked over
 *	report-collect	all threads into groups: one for the whole trace, or one per thread, process or rank
 *	report-lines	which threads are counted; which rows of a group are shown, and in what order
 *	report-head	what is known of the run, and what is missing
 *	report-spent	what recording took, and what not to record next time
 *	report-waits	what waiting is made of
 *	report-table, report-csv, report-json	the output
 *
 * Only report-thread sees events; it needs memory for a thread's open frames and for the rows, however
 * long the trace is.
 */
#ifndef SONDE_LAUNCHER_REPORT_REPORT_H
#define SONDE_LAUNCHER_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "launcher/common/options.h"
#include "launcher/report/report-rows.h"
#include "launcher/report/report-sums.h"
#include "launcher/trace/offcpu.h"
#include "launcher/trace/processtree.h"
#include "sonde/trace.h"

#define REPORT_ANY_RANK UINT64_MAX

enum report_by { REPORT_BY_FUNCTION, REPORT_BY_THREAD, REPORT_BY_PROCESS, REPORT_BY_RANK };

enum report_sort {
	REPORT_SORT_TOTAL,
	REPORT_SORT_SELF,
	REPORT_SORT_CALLS,
	REPORT_SORT_AVERAGE,
	REPORT_SORT_MAX,
	REPORT_SORT_NAME,
	REPORT_SORT_BYTES,
	REPORT_SORT_WAIT,
	REPORT_SORT_BLOCKED,
};

struct report_request {
	enum report_by by;
	enum report_sort sort;
	int pid, tid;		  /* 0: any */
	uint64_t rank;		  /* or REPORT_ANY_RANK */
	uint64_t limit;		  /* lines of each group; UINT64_MAX: all */
	bool mangled;		  /* names as in the symbol table */
	bool raw;		  /* times as recorded, with what recording took */
	const char *tail_calls;	  /* --tail-calls, or NULL */
	bool shared;		  /* by all analysis ranks, see launcher/ranks/ranks.h: of one report of a command */
	struct select_options select; /* functions that are shown; none: all */
	const char *phase;	  /* --phase: only what was done in phases of that name; NULL: all */
};

struct phases;

/* A row with the figures of one group. */
struct report_line {
	uint32_t row;
	struct report_stats stats;
	size_t amounts; /* index into the group's amounts, in the order of the row's slots */
};

/* One table. */
struct report_group {
	const struct sonde_trace_thread *thread; /* by thread, else NULL */
	const struct sonde_trace_rank *program;	 /* by thread and process, else NULL */
	int pid;				 /* by thread and process */
	int rank;				 /* by all but function: number, -1 for none */
	struct report_line *lines;		 /* those to be shown, sorted */
	size_t nlines;
	size_t left_out;  /* more lines than the limit */
	uint64_t *amounts;
	uint64_t whole;	  /* ns that its threads were there, see report_whole(), without what recording took */
	uint64_t wait;	  /* ns of it that were spent waiting */
	uint64_t *class_time; /* ns in the calls of each class, see report-rows.h */
	uint64_t events;
	size_t nthreads;
};

/* A time that each rank has, in ns. */
struct report_over_ranks {
	uint64_t min, max, sum;
	int min_rank, max_rank;
};

/* Time that the threads of one rank spent inside a module's functions, outermost calls. */
struct report_module_time {
	const struct sonde_trace_module *module; /* NULL: Sonde itself */
	struct report_over_ranks time;
};

/* What recording took of the time of the threads shown. */
struct report_spent {
	uint64_t whole;	 /* ns that they were there */
	uint64_t taken;	 /* ns of it; 0 if nothing is taken off */
	uint64_t waited; /* ns of that: until Sonde had written what was before */
	uint64_t *calls; /* by row, of functions recorded without a module; NULL: none */
};

/* What is missing from the figures, in words for the user. */
struct report_problem {
	char text[700];
	bool damage; /* of the files; else they hold all that could be had */
};

struct report {
	const struct sonde_trace *trace;
	const char *dir;
	const struct report_request *request;
	struct report_rows rows;
	bool *shown; /* rows that are asked for; NULL: all */
	struct report_group *groups;
	size_t ngroups;
	size_t nranks; /* different numbers of ranks among the threads shown */
	size_t nthreads;
	uint64_t events;
	struct report_spent spent;
	struct report_module_time *modules; /* only with more than one rank */
	size_t nmodules;
	struct report_over_ranks wait;	     /* likewise */
	struct report_over_ranks *class_time; /* likewise, of each class */
	struct report_problem *problems;
	size_t nproblems;
	struct process_tree processes; /* of the ranks shown */
	struct phases *phases;	       /* those of request->phase, or NULL */
	struct offcpu offcpu;	       /* when threads were not running */
	uint64_t blocked, preempted;   /* ns of that, in calls */
	bool several_programs;	       /* it is to be shown */
};

/*
 * Reads the trace.  @request and @trace must outlive the report.  Returns 0, or EXIT_USAGE after a
 * message (no such thread or rank, a file that cannot be read any more).
 */
int report_make(struct report *r, const struct sonde_trace *trace, const char *dir,
		const struct report_request *request) __attribute__((warn_unused_result));
void report_free(struct report *r);

/* Something in the files is damaged or cut off, so that the figures are too small. */
bool report_is_damaged(const struct report *r);

/* What was met while reading the threads that were asked for. */
struct report_findings {
	uint64_t bad_chunks;
	uint64_t unknown; /* events that the metadata does not describe */
	char last[256];	  /* bad chunk, in words */
};

/* Finds out what is missing from the figures. */
void report_find_problems(struct report *r, const struct report_findings *found);

/*
 * Finds out which rows are asked for.  Returns 0, or EXIT_USAGE after a message: a bad pattern, or none is.
 */
int report_choose(struct report *r) __attribute__((warn_unused_result));

/* Filters and sorts the lines of @g. */
void report_arrange(const struct report *r, struct report_group *g);

/* Does the thread belong to what was asked for? */
bool report_wants(const struct report_request *q, const struct sonde_trace *trace,
		  const struct sonde_trace_thread *t);

/*
 * The time that a thread was there, as far as the trace tells: from its first event to its last;
 * for the one that the program began with, from the start of the run to its end.
 */
uint64_t report_whole(const struct sonde_trace *trace, const struct sonde_trace_thread *t);

/* Name as shown: "function", or "function:point".  Valid until the next call. */
const char *report_name(const struct report *r, const struct report_line *line);

/* ns; average, least and longest duration of a call; 0 for points and counters. */
uint64_t report_average(const struct report_stats *s);
uint64_t report_min(const struct report_stats *s);
uint64_t report_max(const struct report_stats *s);
/* ns: two standard deviations of an estimated self time; 0: it is none. */
uint64_t report_error(const struct report_stats *s);
double report_percent(uint64_t part, uint64_t whole);
uint64_t report_line_amount(const struct report *r, const struct report_group *g,
			    const struct report_line *line, size_t column);

/* Adds a thread: how long it was there, what was taken of that, and its figures. */
void report_spent_add(struct report_spent *s, uint64_t whole, uint64_t taken, uint64_t waited,
		      const struct report_sums *sums);
void report_spent_free(struct report_spent *s);
/* Lines of the head, or nothing. */
void report_print_spent(const struct report *r, FILE *out);

/* Writes to @out.  @width: of the terminal, 0: none, names are not cut. */
void report_print_text(const struct report *r, FILE *out, unsigned width, bool utf8);
void report_print_head(const struct report *r, FILE *out);
/* ": average of a rank 2 s, least ..." after what the line begins with; ends it. */
void report_print_over_ranks(const struct report *r, const struct report_over_ranks *t, FILE *out);
/* Waiting by class: of several ranks compared, or of the only one. */
void report_print_waits(const struct report *r, FILE *out);
/* That of one group: ", waiting ...", or nothing. */
void report_print_waits_in_title(const struct report *r, const struct report_group *g, FILE *out);
void report_print_csv(const struct report *r, FILE *out);
void report_print_json(const struct report *r, FILE *out);

#endif
