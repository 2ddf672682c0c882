// SPDX-License-Identifier: GPL-3.0-or-later
#include <sonde/module.h>

SONDE_MODULE("bench-count", "counts the calls of empty()");

SONDE_WRAP(int, empty, (int x))
{
	sonde_count("calls");
	return SONDE_REAL(empty)(x);
}
