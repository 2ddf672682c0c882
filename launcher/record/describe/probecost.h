/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What recording a call costs: two functions with probes, one that does nothing and one that computes, are run here, in this
 * process, with a buffer of their own, in about half a millisecond.
 */
#ifndef SONDE_LAUNCHER_RECORD_PROBECOST_H
#define SONDE_LAUNCHER_RECORD_PROBECOST_H

#include <stdbool.h>

#include "tracefmt/write/writer.h"
#include "trampolines/probe/probe.h"

/*
 * For modes RECORD and FILTER.  False: it cannot be measured (no memory that can be executed, or the thread has a GS base of its
 * own).  The calling thread's GS base must be 0.
 */
bool probecost_measure(enum tramp_probe_mode mode, struct tf_cost *cost) __attribute__((warn_unused_result));

#endif
