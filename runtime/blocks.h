/* SPDX-License-Identifier: MIT */
/* Signals while blocks are counted (RT_PROBE_BLOCKS). */
#ifndef SONDE_RUNTIME_BLOCKS_H
#define SONDE_RUNTIME_BLOCKS_H

#include <stdint.h>

/* @regs: those of a signal's frame, in the kernel's order.  A handler is about to run. */
__attribute__((visibility("hidden"))) void rt_blocks_arrived(uint64_t *regs);

/* It returns to there. */
__attribute__((visibility("hidden"))) void rt_blocks_returns(uint64_t *regs);

#endif
