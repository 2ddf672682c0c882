/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("coroutines", "functions that run by turns on stacks of their own");

SONDE_WRAP(int, work, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	int result = SONDE_REAL(work)(i);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

SONDE_WRAP(int, outer, (int k))
{
	sonde_enter(SONDE_I32("k", k));
	int result = SONDE_REAL(outer)(k);
	sonde_leave(SONDE_I32("result", result));
	return result;
}
