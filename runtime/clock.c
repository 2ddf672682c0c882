// SPDX-License-Identifier: MIT
#include "runtime/memory/memory.h"
#include "runtime/x86-64/sys.h"

#define THREAD_CPUTIME 3
#define BILLION 1000000000

uint64_t rt_cpu_clock(void)
{
	struct {
		int64_t s, ns;
	} now = { 0 };

	sys2(__NR_clock_gettime, THREAD_CPUTIME, &now);
	return (uint64_t)(now.s * BILLION + now.ns);
}
