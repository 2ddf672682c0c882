// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A profile of memory accesses by function and by loop, while the program runs: what `sonde memory' makes of a
 * trace, without one.
 */
#include <sonde/module.h>

SONDE_MODULE("memprofile", "memory accesses by function and loop");

SONDE_PROFILE_MEMORY;
