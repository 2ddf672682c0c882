/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions of a trace a user means. */
#ifndef SONDE_LAUNCHER_SELECT_TRACED_H
#define SONDE_LAUNCHER_SELECT_TRACED_H

#include <stdbool.h>

#include "launcher/select/select.h"
#include "sonde/trace.h"

/*
 * A selection of functions of @trace, which has to live as long: by @o's functions (none: all) and those excluded.  *@out is NULL if
 * both are empty.  Returns 0, or EXIT_USAGE after a message.
 */
int traced_select(const struct sonde_trace *trace, const struct select_options *o, struct select **out)
	__attribute__((warn_unused_result));

/* Is the function wanted, by itself or as @name, unless NULL: that of a point in it? */
bool traced_wants(struct select *sel, const struct sonde_trace_function *f, const char *name);

/*
 * After all functions were asked for: warns of patterns that none matched.  Returns 0; if none is wanted
 * at all (@any) EXIT_USAGE, after an error.
 */
int traced_check(struct select *sel, const char *dir, bool any) __attribute__((warn_unused_result));

/*
 * By index of the trace's functions, to be freed: is it wanted?  *@out is NULL if there are no patterns.
 * Returns 0, or EXIT_USAGE after a message: a bad pattern, or no function is.
 */
int traced_functions(const struct sonde_trace *trace, const char *dir, const struct select_options *o,
		     bool **out) __attribute__((warn_unused_result));

#endif
