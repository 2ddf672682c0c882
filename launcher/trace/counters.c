// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <linux/perf_event.h>
#include <string.h>

#include "launcher/trace/counters.h"

#define HARDWARE(what) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##what
#define SOFTWARE(what) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##what

const struct counter_kind counter_kinds[COUNTERS] = {
	[COUNTER_CYCLES] = { "cycles", HARDWARE(CPU_CYCLES), true, false },
	[COUNTER_INSTRUCTIONS] = { "instructions", HARDWARE(INSTRUCTIONS), true, false },
	[COUNTER_CACHE_REFERENCES] = { "cache-references", HARDWARE(CACHE_REFERENCES), true, false },
	[COUNTER_CACHE_MISSES] = { "cache-misses", HARDWARE(CACHE_MISSES), true, false },
	[COUNTER_BRANCHES] = { "branches", HARDWARE(BRANCH_INSTRUCTIONS), true, false },
	[COUNTER_BRANCH_MISSES] = { "branch-misses", HARDWARE(BRANCH_MISSES), true, false },
	[COUNTER_TASK_CLOCK] = { "task-clock", SOFTWARE(TASK_CLOCK), true, false },
	[COUNTER_PAGE_FAULTS] = { "page-faults", SOFTWARE(PAGE_FAULTS), false, false },
	[COUNTER_MINOR_FAULTS] = { "minor-faults", SOFTWARE(PAGE_FAULTS_MIN), false, false },
	[COUNTER_MAJOR_FAULTS] = { "major-faults", SOFTWARE(PAGE_FAULTS_MAJ), false, false },
	[COUNTER_CONTEXT_SWITCHES] = { "context-switches", SOFTWARE(CONTEXT_SWITCHES), false, true },
	[COUNTER_CPU_MIGRATIONS] = { "cpu-migrations", SOFTWARE(CPU_MIGRATIONS), false, true },
};

static uint32_t find(const char *name, size_t n)
{
	for (uint32_t i = 0; i < COUNTERS; i++)
		if (strlen(counter_kinds[i].name) == n && memcmp(counter_kinds[i].name, name, n) == 0)
			return UINT32_C(1) << i;
	return 0;
}

uint32_t counters_parse(const char *list, const char **bad, int *n)
{
	uint32_t all = 0;

	for (const char *at = list;; at += *n + 1) {
		*n = (int)strcspn(at, ",");
		uint32_t one = find(at, (size_t)*n);

		if (!one) {
			*bad = at;
			return 0;
		}
		all |= one;
		if (!at[*n])
			return all;
	}
}
