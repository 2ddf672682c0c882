/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The abstract machine of memtrace/description.h, as simple as can be, for tests. */
#ifndef SONDE_TESTS_UNIT_MEMFACTS_MACHINE_H
#define SONDE_TESTS_UNIT_MEMFACTS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/description.h"

enum { MM_ACCESSES = 1024 };

struct mm_access {
	uint64_t addr, size;
	uint8_t kind;
};

struct mm {
	uint64_t r[MD_REGS];
	const uint8_t *stream;
	uint64_t size;		/* of the last MD_SIZE */
	uint16_t conds;		/* what MD_SELECT's condition is: bit cc */
	bool down;
	struct mm_access accesses[MM_ACCESSES];
	size_t naccesses;
	bool failed;		/* an operation that cannot be, or too many accesses */
};

void mm_run(struct mm *m, const struct md_op *ops, size_t nops);

/* What the conditions are after MD_FLAGS: bit cc. */
uint16_t mm_conditions(const struct mm *m, const struct md_op *flags);

/* The same of the processor's flags. */
uint16_t mm_conditions_of(uint64_t rflags);

#endif
