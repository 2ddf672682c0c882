/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is a memory plan in itself right?  Checked from its descriptions and the instructions' facts alone:
 * bytes, registers, that all that the reader reads is known and right there, headers, and room.
 */
#ifndef SONDE_TESTS_UNIT_MEMPLAN_CHECK_H
#define SONDE_TESTS_UNIT_MEMPLAN_CHECK_H

#include "trampolines/memory/plan.h"

/* NULL: all is well; else what is wrong, and *node where. */
const char *memplan_check(const struct mem_plan *plan, const struct tramp_mem_env *env,
			  const struct tramp_flow *flow, uint64_t load_addr, uint32_t *node);

/* Bytes that the reader takes from the stream for a node, header included. */
unsigned int memplan_consumed(const struct mem_plan *plan, uint32_t node);

#endif
