// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Caches of this machine or others, by function and by loop, while the program runs: what `sonde cache' makes of a trace,
 * without one.
 */
#include <sonde/module.h>

SONDE_MODULE("cachesim", "misses in simulated caches by function and loop");

SONDE_SIMULATE_CACHES;
