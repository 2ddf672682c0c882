/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes as an object for trampolines/flow/flow.h, of which no more is known than where its functions are. */
#ifndef SONDE_TESTS_UNIT_FLOW_BYTES_H
#define SONDE_TESTS_UNIT_FLOW_BYTES_H

#include "trampolines/flow/flow.h"

struct bytes_range {
	uint64_t addr;
	uint64_t size;		/* 0: up to the next one */
};

struct bytes_code {
	struct tramp_bytes bytes;
	struct tramp_fn *fns;
	struct tramp_facts facts;
	struct tramp_code *code;
};

/*
 * Functions may overlap, be beyond the code, and stand in any order: each goes up to the next one at most.
 * Exits where there is no memory.
 */
void bytes_code_open(struct bytes_code *c, const uint8_t *code, size_t len, uint64_t addr,
		     const struct bytes_range *functions, size_t n);
void bytes_code_close(struct bytes_code *c);

#endif
