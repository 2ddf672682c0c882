/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which processes of a trace a user means: --process. */
#ifndef SONDE_LAUNCHER_SELECT_PROCESSES_H
#define SONDE_LAUNCHER_SELECT_PROCESSES_H

#include "launcher/common/options.h"
#include "sonde/trace.h"

/* A row of the table of options; @offset: of a struct opt_list. */
#define OPT_PROCESSES(offset)                                                                                       \
	{ 0, "process", "PID|PROGRAM", "only this process, or those that ran PROGRAM ('cc*'); may be a list, and repeated", \
	  OPT_LIST, offset, NULL }

/*
 * Replaces *@trace by one with these processes alone: each value is a list, with commas, of pids and of shell patterns for
 * programs' names without their folders.  None: all, nothing is done.  What matches nothing is warned of.
 * Returns 0, or EXIT_USAGE after a message, then *@trace is closed and NULL.
 */
int processes_choose(struct sonde_trace **trace, const struct opt_list *values) __attribute__((warn_unused_result));

#endif
