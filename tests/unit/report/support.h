/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small traces with times that are easy to add up: one tick of the made-up clock is one nanosecond.
 * A failing step ends the test program with a message.
 */
#ifndef TESTS_UNIT_REPORT_SUPPORT_H
#define TESTS_UNIT_REPORT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "launcher/report/report.h"
#include "tracefmt/write/writer.h"

#define TRACE_START (UINT64_C(5) << 58) /* ticks at time 0; later than any machine, so the time of closing is none of the trace */
#define MONO_START (UINT64_C(1) << 60)  /* later than any real clock: those are not used then */
#define REAL_START UINT64_C(1700000000000000000)
#define STACK_TOP UINT64_C(0x7ffd00000000)

struct trace_maker {
	struct tf_writer *writer;
	char dir[256];
	uint64_t counters[RING_COUNTERS];
	/* of the thread that is being written */
	struct tf_thread *thread;
	uint64_t words[1 << 16];
	size_t n;
	uint64_t now; /* ns since the start */
	uint64_t depth;
};

/* A folder of the test's own; the same in each call. */
const char *test_dir(void);
/* "DIR/NAME", valid until the next call but three. */
const char *test_path(const char *name);

/* Begins a trace in test_path(@name); @rank -1: none.  Made of pid 100 with parent 1. */
void maker_begin(struct trace_maker *m, const char *name, int rank);
void maker_module(struct trace_maker *m, const char *name);
/* Function @id, in @path, with events of @module: enter 16 + 2 * id, leave 17 + 2 * id. */
void maker_function(struct trace_maker *m, uint32_t id, const char *name, const char *path,
		    const char *module);
/* The same with fields: lists end with a NULL name; NULL: none. */
void maker_function_fields(struct trace_maker *m, uint32_t id, const char *name, const char *module,
			   const struct tf_field *enter, const struct tf_field *leave);
void maker_event(struct trace_maker *m, uint32_t id, enum sonde_trace_kind kind, uint32_t function,
		 const char *module, const char *name, const struct tf_field *fields);

void maker_thread(struct trace_maker *m, int pid, int tid);
void maker_at(struct trace_maker *m, uint64_t ns);
/* Events at the current time, with field values as uint64_t. */
void maker_enter(struct trace_maker *m, uint32_t function, unsigned nvalues, ...);
void maker_leave(struct trace_maker *m, uint32_t function, unsigned nvalues, ...);
/* The same at @ns, without fields. */
void maker_enter_at(struct trace_maker *m, uint32_t function, uint64_t ns);
void maker_leave_at(struct trace_maker *m, uint32_t function, uint64_t ns);
/* An event by its number, without a change of depth. */
void maker_record(struct trace_maker *m, uint32_t event, unsigned nvalues, ...);
/* As longjmp() does it: the next enter is at this depth again. */
void maker_unwind_to(struct trace_maker *m, uint64_t depth);
void maker_flush(struct trace_maker *m);
void maker_end_thread(struct trace_maker *m, uint64_t lost);
/* Program exits with status 3 at @ns. */
void maker_end(struct trace_maker *m, uint64_t ns);

/* The report on test_path(@name); both end with report_close(). */
struct opened {
	struct sonde_trace *trace;
	struct report_request request;
	struct report report;
	char dir[256];
};
void report_open(struct opened *o, const char *name, const struct report_request *request);
void report_close(struct opened *o);
/* Everything, sorted by total. */
extern const struct report_request everything;

/* The line of @function in @module (NULL: any) in group @g; fails the test if there is none. */
const struct report_line *find_line(const struct opened *o, size_t g, const char *function,
				    const char *module);
uint64_t amount(const struct opened *o, size_t g, const char *function, const char *column);

/* What a printing function writes; to be freed. */
char *printed(void (*print)(const struct report *r, FILE *out), const struct report *r);

#endif
