/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `sonde dump`, `sonde replay` and `sonde graph` have in common: which part of a trace. */
#ifndef SONDE_LAUNCHER_COMMON_PICK_H
#define SONDE_LAUNCHER_COMMON_PICK_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/common/options.h"
#include "sonde/trace.h"

#define PICK_ANY_RANK UINT64_MAX
#define PICK_NO_END UINT64_MAX

struct pick {
	const struct sonde_trace *trace;
	struct opt_list threads; /* "TID" or "PID.TID"; none: all */
	uint64_t rank;		 /* or PICK_ANY_RANK */
	uint64_t from, to;	 /* ns since the start of the trace; or 0 and PICK_NO_END */
};

/* Is the thread one of those asked for?  @pick: a struct pick. */
bool pick_thread(const struct sonde_trace_thread *thread, void *pick);

/* Returns 0, or EXIT_USAGE after a message: no such thread or rank, or a time that ends before it begins. */
int pick_check(struct pick *p) __attribute__((warn_unused_result));

/*
 * By index of the trace's functions: does it match one of the shell patterns, by its name or the
 * demangled one, with or without parameters?  *@out is NULL if there are no patterns; to be freed.
 * Returns 0, or EXIT_USAGE after a message: none matches.
 */
int pick_functions(const struct sonde_trace *trace, const struct opt_list *patterns, bool **out)
	__attribute__((warn_unused_result));

/* Opens the trace.  Returns 0, or EXIT_USAGE after a message. Ranks left out are warned of. */
int pick_open(const char *dir, struct sonde_trace **out) __attribute__((warn_unused_result));

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
