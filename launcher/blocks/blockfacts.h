/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a basic block does, from its bytes alone. */
#ifndef SONDE_LAUNCHER_BLOCKS_BLOCKFACTS_H
#define SONDE_LAUNCHER_BLOCKS_BLOCKFACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "memtrace/description.h"
#include "trampolines/flow/flow.h"
#include "trampolines/insn/x86-64/class.h"
#include "trampolines/memory/memory.h"

#define BLOCK_KINDS 4 /* enum md_kind: loads, stores, modifications, prefetches */

struct block_facts {
	uint32_t insns;
	uint32_t classes[TRAMP_CLASSES];
	uint32_t flops_scalar, flops_packed[TRAMP_WIDTHS];
	uint32_t ints[TRAMP_WIDTHS], floats[TRAMP_WIDTHS]; /* instructions on vectors of several lanes, by width */
	/*
	 * Accesses of one pass through the block, the stack's included; a modification is one access.  Repeated string
	 * instructions count as one iteration, masked accesses as all of their lanes: then `varies`.
	 */
	uint32_t accesses[BLOCK_KINDS];
	uint64_t bytes[BLOCK_KINDS];
	bool varies;
};

/* Block @i of @flow. */
struct block_facts block_facts(const struct tramp_flow *flow, uint32_t i);

/* Adds what an instruction accesses to accesses, bytes and varies. */
void block_add_accesses(struct block_facts *b, const struct tramp_mem_facts *facts);

/* The same as numbers, for a trace (memtrace/pack/blocks.h): MT_BLOCK_FACTS of them; those that are not used are left alone. */
#define BLOCK_FACT_NUMBERS 31
void block_facts_put(const struct block_facts *b, uint64_t *v);

#endif
