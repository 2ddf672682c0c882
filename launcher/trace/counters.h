/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's counters that `sonde record --counters' knows, by the names that perf-list(1) has for them. */
#ifndef SONDE_LAUNCHER_TRACE_COUNTERS_H
#define SONDE_LAUNCHER_TRACE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* These numbers are in traces. */
enum counter {
	COUNTER_CYCLES,
	COUNTER_INSTRUCTIONS,
	COUNTER_CACHE_REFERENCES,
	COUNTER_CACHE_MISSES,
	COUNTER_BRANCHES,
	COUNTER_BRANCH_MISSES,
	COUNTER_TASK_CLOCK,
	COUNTER_PAGE_FAULTS,
	COUNTER_MINOR_FAULTS,
	COUNTER_MAJOR_FAULTS,
	COUNTER_CONTEXT_SWITCHES,
	COUNTER_CPU_MIGRATIONS,
	COUNTERS
};

struct counter_kind {
	const char *name;
	uint32_t type;	 /* of struct perf_event_attr */
	uint64_t config; /* likewise */
	bool sampled;	 /* some thousand times a second, for all until then; else each time */
	bool in_kernel;	 /* it happens there alone */
};

extern const struct counter_kind counter_kinds[COUNTERS];

/* From a list, "cycles,page-faults": a bit for each.  0: @*bad, of @*n bytes, is none, or there is nothing. */
uint32_t counters_parse(const char *list, const char **bad, int *n);

#endif
