/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has to hold whatever the input is: the fuzzer ends with abort() where it does not. */
#ifndef TESTS_FUZZ_REQUIRE_H
#define TESTS_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                                      \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			abort();                                                \
		}                                                               \
	} while (0)

#endif
