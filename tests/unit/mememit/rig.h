/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs code twice: as it is, single-stepped, which tells what memory it accesses; and instrumented
 * in place.  Registers, memory, and what a reader makes of the recorded stream have to be the same.
 */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_RIG_H
#define SONDE_TESTS_UNIT_MEMEMIT_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/mirror/random.h"
#include "trampolines/flow/flow.h"

struct mememit_tally {
	size_t functions, refused, runs, steps, accesses, chunks, stream, owners, interrupts, events, bursts, times;
	size_t original, mirrored; /* bytes of code */
	size_t blocks, pieces;
	uint64_t nanoseconds;	/* that planning and emitting took */
};

/* Code that is instrumented, and what has to be as it was for the next run. */
struct mememit_code {
	const struct tramp_facts *facts;
	uint8_t *start;		/* writable and executable */
	size_t len;
	void (*reset)(void *arg); /* its data */
	void *arg;
	uint8_t *data;		/* compared */
	size_t ndata;
	unsigned int rungs;	/* enum tramp_mem_rungs */
	bool stack;
	bool fsbase;
	struct random_source *source;
	struct mememit_tally *tally;
};

struct mememit_call {
	const uint8_t *entry;
	uint64_t registers[16];	/* rsp is the rig's */
	bool abi;		/* only what the ABI keeps is the same after it */
};

/* Exit with a message where anything differs. */
void mememit_instrument(const struct mememit_code *code);
void mememit_run(const struct mememit_call *call);
void mememit_done(void);	/* the code is as it was */

#endif
