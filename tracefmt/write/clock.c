/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three clocks at one instant. */
#include <time.h>
#include <x86intrin.h>

#include "tracefmt/write/writer.h"

#define TRIES 7

static uint64_t nanoseconds(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Each try reads tsc, mono, tsc, real, tsc.  The TSC at the reading of either clock lies
 * between the two around it; the try that took least time is the one that was not interrupted.
 */
void tf_clock_now(struct tf_clock *now)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t t0 = __rdtsc(), mono = nanoseconds(CLOCK_MONOTONIC);
		uint64_t t1 = __rdtsc(), real = nanoseconds(CLOCK_REALTIME);
		uint64_t t2 = __rdtsc();

		if (t2 - t0 >= least)
			continue;
		least = t2 - t0;
		*now = (struct tf_clock){ .tsc = t0 + (t1 - t0) / 2, .mono_ns = mono,
					  .real_ns = real };
	}
}
