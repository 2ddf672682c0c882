/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options as they were given, before record-options.c makes struct record_options of them; and whether they go together. */
#ifndef SONDE_LAUNCHER_RECORD_RECORD_CHECK_H
#define SONDE_LAUNCHER_RECORD_RECORD_CHECK_H

#include "launcher/common/options.h"

#define UNSET UINT64_MAX /* a number that was not given */

struct record_given {
	struct record_options o; /* what needs no more work */
	/* texts; NULL: not given */
	const char *overflow, *clock, *mem_stack, *sample, *overhead, *analyze, *signal, *trigger, *sets, *counters, *config;
};

/*
 * Checks all of them, and makes of texts the lists of @given->o that they mean.  @attach: they are those of `sonde attach`; @operands:
 * there are some.  Returns 0, or EXIT_USAGE after a message.
 */
int record_check(const struct opt_command *cmd, bool attach, struct record_given *given, bool operands) __attribute__((warn_unused_result));

/* A complaint about an option for memory accesses, or for functions of any kind, where there is no --mem; NULL: none. */
const char *record_about_memory(const struct record_given *given);

/* Are all calls recorded?  Else --overhead is not about them. */
bool record_all_calls(const struct record_given *given);

#endif
