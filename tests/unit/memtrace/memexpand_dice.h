/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random descriptions, and what they are run with. */
#ifndef SONDE_TESTS_UNIT_MEMTRACE_MEMEXPAND_DICE_H
#define SONDE_TESTS_UNIT_MEMTRACE_MEMEXPAND_DICE_H

#include "tests/unit/memtrace/memexpand_support.h"

enum { MXD_HANDLER = 6 };	/* mxd_anything()'s node for signals; that of mxd_loop() is 3 */

/* @whole: only of what can be run node by node. */
void mxd_seed(uint64_t seed, bool whole);
/* 0 ... n - 1. */
uint32_t mxd_roll(uint32_t n);
/* For struct mxt_program: large and small ones, and such on edges. */
uint64_t mxd_value(struct mxt_program *p);

/* All registers, a loop of one node, one that shows what they are then, and a handler. */
void mxd_loop(struct mxt_description *d);
/* Nodes of anything, the first without accesses of strings, and a handler. */
void mxd_anything(struct mxt_description *d);
/* Longer nodes, that use all registers, and conditions from anywhere. */
void mxd_long(struct mxt_description *d);

#endif
