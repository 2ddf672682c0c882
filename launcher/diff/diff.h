/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde diff`: what has changed from some traces, A, to others, B.
 *
 *	diff-read	the figures of a trace: functions as in `report', OpenMP's constructs as in `report --omp', loops as in `memory'
 *	diff-rows	the same thing in all traces is one row; how much it has changed, and how sure that is
 *	diff-print	the output
 *
 * Things are the same if they have the same name in files of the same name, wherever these are and at whatever address.
 * Several traces of a side are repetitions of the same run.
 */
#ifndef SONDE_LAUNCHER_DIFF_DIFF_H
#define SONDE_LAUNCHER_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum diff_kind { DIFF_FUNCTION, DIFF_REGION, DIFF_LOOP, DIFF_KINDS };

/* Times are in ns. */
enum diff_metric {
	DIFF_SELF, DIFF_TOTAL, DIFF_CALLS,	/* of functions */
	DIFF_WAIT,				/* of regions, and DIFF_TOTAL, DIFF_CALLS: how often they ran */
	DIFF_MISSES, DIFF_ACCESSES,		/* of loops; misses in the smallest cache that the trace knows */
	DIFF_METRICS
};

struct diff_row {
	enum diff_kind kind;
	bool whole;	/* of all that the traces have of this kind */
	char *name;	/* what it is matched by, and shown as */
	char *object;	/* name of its file, without folders; "": not known */
	char *place;	/* "solve.c:12", of the last trace that has it; NULL: not known */
	double *v;	/* [metric * traces + trace]; 0 where the trace has no such thing */
};

struct diff {
	const char *const *dirs; /* A's, then B's */
	size_t na, nb;
	bool mangled;
	struct diff_row **rows;
	size_t n, room;
	void *tree;	/* of tsearch(3) */
	bool has[DIFF_KINDS];
	const char *lacks[DIFF_KINDS]; /* the folder of a trace of which none was recorded, or NULL */
	bool damaged;	/* some of a trace could not be read */
};

/* One row by one metric. */
struct diff_change {
	double a, b;	 /* means */
	double by;	 /* b - a */
	double noise;	 /* half of the 95 % confidence interval of that; NAN: there is one trace on each side, nothing is known */
	double relative; /* by / a; INFINITY: a is 0 and b is not */
	bool sure;	 /* it is more than noise, as far as that is known */
};

/* Metrics of a kind, the one that counts if none is asked for first; *n of them. */
const enum diff_metric *diff_metrics(enum diff_kind kind, size_t *n);
bool diff_has_metric(enum diff_kind kind, enum diff_metric metric);
extern const char *const diff_kinds[DIFF_KINDS], *const diff_metric_names[DIFF_METRICS];

/* ---- diff-read ---- */

/* Whether the trace number @index can be opened, before others are read.  Returns 0, or EXIT_USAGE after a message. */
int diff_look(const struct diff *d, size_t index) __attribute__((warn_unused_result));
/* Adds the figures of the trace number @index.  Returns 0, or EXIT_USAGE after a message. */
int diff_read(struct diff *d, size_t index) __attribute__((warn_unused_result));

/* ---- diff-rows ---- */

/* The row of that name, made if it is not there.  Ends the program with a message if there is no memory. */
struct diff_row *diff_row(struct diff *d, enum diff_kind kind, bool whole, const char *name, const char *object);
void diff_add(const struct diff *d, struct diff_row *row, enum diff_metric metric, size_t trace, double value);
struct diff_change diff_change(const struct diff *d, const struct diff_row *row, enum diff_metric metric);

/* Forgets all rows of a kind; no row can be made after that. */
void diff_leave_out(struct diff *d, enum diff_kind kind);

/* What is sure before what is not, then by how much it has changed; the whole is last. */
void diff_sort(struct diff *d, enum diff_kind kind, enum diff_metric metric, struct diff_row **sorted, size_t *n);

/*
 * Has it grown by more than @above of what it was, for sure as far as that is known?  What is less than @share of the whole in all
 * traces does not count, nor does what is new.
 */
bool diff_has_grown(const struct diff *d, const struct diff_row *row, enum diff_metric metric, double above, double share);

void diff_free(struct diff *d);

/* ---- diff-print ---- */

/* @metric: DIFF_METRICS: the first of each kind. */
void diff_print_text(struct diff *d, enum diff_metric metric, uint64_t limit);
void diff_print_csv(struct diff *d, enum diff_metric metric, uint64_t limit);
void diff_print_json(struct diff *d, enum diff_metric metric, uint64_t limit);

#endif
