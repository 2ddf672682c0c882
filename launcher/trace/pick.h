/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which part of a trace a verb reads: threads, ranks, processes, a stretch of time; and what all verbs that read a trace have in
 * common: opening it, reading its events, and what is said where it cannot be read.
 */
#ifndef SONDE_LAUNCHER_TRACE_PICK_H
#define SONDE_LAUNCHER_TRACE_PICK_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/common/options.h"
#include "launcher/trace/reading.h"
#include "sonde/trace.h"

#define PICK_ANY_RANK UINT64_MAX
#define PICK_NO_END UINT64_MAX

/* A row of the table of options: enters by a jump. */
#define PICK_TAIL_CALLS(offset)                                                                     \
	{ 0, "tail-calls", "HOW", "call: open until what they jump to returns (default); jump: over by then", \
	  OPT_CHOICE, offset, "call\0jump\0" }

struct pick {
	const struct sonde_trace *trace;
	struct opt_list threads; /* "TID" or "PID.TID"; none: all */
	uint64_t rank;		 /* or PICK_ANY_RANK */
	struct opt_list processes; /* --process: for processes_choose(), which leaves out all others of the trace */
	uint64_t from, to;	 /* ns since the start of the trace; or 0 and PICK_NO_END */
	bool met;		 /* an event was read that is of this time; set by who reads */
	const char *tail_calls;	 /* --tail-calls, or NULL */
};

/* To be called before the first event. */
void pick_tail_calls(struct sonde_trace_iter *iter, const char *tail_calls);

/* Is the thread one of those asked for?  @pick: a struct pick. */
bool pick_thread(const struct sonde_trace_thread *thread, void *pick);

/* Returns 0, or EXIT_USAGE after a message: no such thread or rank, or a time that ends before it begins. */
int pick_check(struct pick *p) __attribute__((warn_unused_result));

/*
 * Says why there is no trace at @dir; @why: what the library says.  Somebody may have given a program, or
 * a function in its place.
 */
void pick_no_trace(const char *dir, const char *why);

/* Opens the trace.  Returns 0, or EXIT_USAGE after a message. Ranks left out are warned of. */
int pick_open(const char *dir, struct sonde_trace **out) __attribute__((warn_unused_result));

/* Begins @r for the threads that were asked for; @prints: what is read is printed at once. */
void pick_reading(struct pick *p, bool prints, struct reading *r);

/* @iter is the reader's; it is NULL, and @status says why, where there is none.  Returns an exit status. */
typedef int pick_reader(void *arg, enum sonde_trace_status status, struct sonde_trace_iter *iter);

/*
 * Gives @read the events of the threads that were asked for: all by time, or @by_thread, one thread after the other, until standard
 * output has failed.  Returns 0, or the last exit status that is not.
 */
int pick_read(struct pick *p, bool by_thread, pick_reader *read, void *arg);

/* After reading, by verbs with --from and --to: warns if nothing was of that time. */
void pick_warn_none(const struct pick *p);

/* Says why reading stopped; returns EXIT_USAGE. */
int pick_read_error(enum sonde_trace_status status);

/*
 * Says what @iter found damaged, unless *@damage says that something was; adds to it.  Returns 0,
 * or EXIT_USAGE.
 */
int pick_damage(const struct sonde_trace_iter *iter, uint64_t *damage);

/* A reader that has seen enough (head, less) is no error, also where SIGPIPE is ignored. */
void pick_forgive_closed_pipe(void);

#endif
