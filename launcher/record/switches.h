/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --counters: what happens in the program, each time, or sampled; and
 * --blocked: when threads of the program, and of what it forks and executes, do not run, by what the kernel's scheduler says
 * (perf_event_open(2), context_switch).  One event and one buffer for each processor; the kernel has new threads inherit it, and nothing
 * of it is in the program.  A thread of ours writes what is there into the trace: see launcher/trace/offcpu.h.
 */
#ifndef SONDE_LAUNCHER_RECORD_SWITCHES_H
#define SONDE_LAUNCHER_RECORD_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracefmt/write/writer.h"

struct switches;

/*
 * Of the process @pid, which has one thread and stands still.  NULL after a warning that says why: there are no such events
 * here.  @counters: a bit for each of enum counter; those that are not to be had are left out, after a warning.  Its file is made by @writer, whose trace may be complete before this ends: others of the same recording go on.
 */
struct switches *switches_begin(pid_t pid, struct tf_writer *writer, bool blocked, uint32_t counters);

/* Writes what is left.  NULL allowed. */
void switches_end(struct switches *s);

#endif
