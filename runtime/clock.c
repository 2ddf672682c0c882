// SPDX-License-Identifier: MIT
#include "runtime/memory/memory.h"
#include "runtime/x86-64/sys.h"

#define MONOTONIC 1
#define THREAD_CPUTIME 3
#define BILLION 1000000000

static uint64_t clock(int which)
{
	struct {
		int64_t s, ns;
	} now = { 0 };

	sys2(__NR_clock_gettime, which, &now);
	return (uint64_t)(now.s * BILLION + now.ns);
}

uint64_t rt_clock(void)
{
	return clock(MONOTONIC);
}

uint64_t rt_cpu_clock(void)
{
	return clock(THREAD_CPUTIME);
}
