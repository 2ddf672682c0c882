/* SPDX-License-Identifier: MIT */
/* How many files this process may have open. */
#ifndef SONDE_BASE_FILES_H
#define SONDE_BASE_FILES_H

#include <stdbool.h>
#include <sys/resource.h>

enum { FILES_SCARCE = 32 };

/* So few may be open at a time that the trace needs them all: what can be done without is not opened. */
static inline bool files_are_scarce(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_SCARCE;
}

#endif
