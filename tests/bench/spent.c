// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A library to preload: at the end of a program called $SPENT_OF the CPU time that it took, in ms, is added to the file
 * $SPENT_FILE.  Below Sonde this is the time of the program alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

__attribute__((destructor)) static void tell(void)
{
	const char *of = getenv("SPENT_OF"), *file = getenv("SPENT_FILE");
	struct rusage usage;
	FILE *f;

	if (!of || !file || strcmp(of, program_invocation_short_name) != 0)
		return;
	getrusage(RUSAGE_SELF, &usage);
	f = fopen(file, "a");
	if (f) {
		fprintf(f, "%s - %.3f\n", of, ms(usage.ru_utime) + ms(usage.ru_stime));
		fclose(f);
	}
}
