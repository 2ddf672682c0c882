/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has to hold for the facts of every file. */
#ifndef SONDE_TESTS_UNIT_INJECTOR_CODEFACTS_SUPPORT_H
#define SONDE_TESTS_UNIT_INJECTOR_CODEFACTS_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>

#include "injector/facts/facts.h"

#define REQUIRE(condition)							\
	do {									\
		if (!(condition)) {						\
			fprintf(stderr, "%s, line %d: %s\n", __FILE__, __LINE__, #condition); \
			abort();						\
		}								\
	} while (0)

/* Index of the function that holds @addr; nfns: none. */
size_t function_with(const struct inj_codefacts *f, uint64_t addr);
bool has_address(const uint64_t *sorted, size_t n, uint64_t addr);

/* Aborts where something does not hold. */
void check_facts(const struct inj_codefacts *f);

#endif
