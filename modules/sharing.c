// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Lines of memory that threads take from each other, while the program runs: what `sonde sharing' finds in a trace, without one.
 */
#include <sonde/module.h>

SONDE_MODULE("sharing", "lines of memory that threads share, falsely or truly");

SONDE_FIND_SHARING;
