// SPDX-License-Identifier: GPL-3.0-or-later
/* The wrapper of EZTrace's paper: one global variable before the call, one after it. */
#include <sonde/module.h>

SONDE_MODULE("bench-globals", "counts before and after empty()");

static volatile long before;
static volatile long after;

SONDE_WRAP(int, empty, (int x))
{
	int y;

	before++;
	y = SONDE_REAL(empty)(x);
	after++;
	return y;
}
