/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts of one instruction against the processor, with random registers. */
#ifndef SONDE_TESTS_UNIT_MEMFACTS_TRIAL_H
#define SONDE_TESTS_UNIT_MEMFACTS_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#include "tests/unit/memfacts/rig.h"

struct trials {
	struct rig rig;
	size_t runs;
	size_t computed, flags, lanes; /* runs of instructions that have them */
	size_t faults;		/* runs that ended in one */
	size_t others;		/* ended in another signal: nothing is known */
	size_t skipped;		/* not run */
	size_t wrong;		/* and said so on standard output */
};

/* Runs what is there, if it is an instruction and fit for it, in some ways. */
void try_insn(struct trials *test, const uint8_t *bytes, size_t avail);

#endif
