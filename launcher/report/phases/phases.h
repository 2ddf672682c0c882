/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde report --phase`: what a program has said of itself by sonde/mark.h, which the module mark has recorded.
 *
 *	phases		events of each thread to phases, nested as they were, and counters
 *	phases-print	the output
 *
 * Phases are those of the thread that began them.  A thread that has begun none is in those of its process's first thread.
 */
#ifndef SONDE_LAUNCHER_REPORT_PHASES_H
#define SONDE_LAUNCHER_REPORT_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/trace/stretches.h"
#include "sonde/trace.h"

#define PHASE_NONE SIZE_MAX
#define PHASE_MAX_DEPTH 256u /* further ones within one another are left out */

enum phase_kind { PHASE, PHASE_COUNTER };

/*
 * A phase, within all that it was in, or a counter.
 *
 * count    phases that were begun; values of a counter
 * time     ns from beginning to end; inner: in phases within it
 * min, max of one phase, ns
 * least, most, sum, last: values of a counter
 */
struct phase_row {
	enum phase_kind kind;
	size_t parent; /* the phase that it was in, or PHASE_NONE; smaller than its own index */
	char *name;    /* UTF-8 is not certain */
	uint32_t depth; /* phases around it */
	uint64_t count, time, inner, min, max;
	uint64_t open; /* phases whose end was not recorded: they end with the thread */
	double least, most, sum, last;
	uint32_t threads;
	size_t last_thread; /* counted in @threads last; meaningless before */
	bool wanted;	    /* its name, or names, match the pattern */
	size_t next;	    /* of the same hash, 1 + index; 0: none */
};

struct phase_thread {
	struct stretches wanted; /* when it was in a phase that is wanted */
	bool marks; /* it has begun phases itself */
};

struct phases {
	struct phase_row *row;
	size_t n, room;
	size_t *table;
	struct phase_thread *thread; /* by the trace's index */
	const struct stretches **of; /* likewise: when it was in a phase that is wanted; NULL: never */
	uint64_t strays;  /* ends of phases that were not open */
	uint64_t left_out; /* of more kinds, or deeper, than there is room for */
	uint64_t lost;	  /* events that are missing */
	bool damaged;	  /* of that, in the files */
};

struct phases_request {
	bool (*want)(const struct sonde_trace_thread *thread, void *arg); /* NULL: all are read */
	void *arg;
	const char *pattern; /* of a phase's name, or of names from the outermost on, "step/solve": a shell pattern; NULL: all phases */
};

/*
 * Reads the trace.  Returns 0, or EXIT_USAGE after a message: it cannot be read, or has no phases and counters, or none of that name.
 */
int phases_read(struct phases *p, const struct sonde_trace *trace, const char *dir, const struct phases_request *request)
	__attribute__((warn_unused_result));
void phases_free(struct phases *p, const struct sonde_trace *trace);

/* Phases as a tree, those that took longest first; then counters. */
void phases_print_text(const struct phases *p, const struct sonde_trace *trace, uint64_t limit);
void phases_print_csv(const struct phases *p, uint64_t limit);
void phases_print_json(const struct phases *p, uint64_t limit);

#endif
