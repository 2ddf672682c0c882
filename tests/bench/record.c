// SPDX-License-Identifier: GPL-3.0-or-later
#include <sonde/module.h>

SONDE_MODULE("bench-record", "records entry and exit of empty()");

SONDE_WRAP(int, empty, (int x))
{
	int y;

	sonde_enter();
	y = SONDE_REAL(empty)(x);
	sonde_leave();
	return y;
}
