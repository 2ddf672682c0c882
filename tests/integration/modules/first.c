/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("first", "passes on an argument that is changed");

SONDE_WRAP(int, work, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	int result = SONDE_REAL(work)(i + 1000) - 3000;
	sonde_leave(SONDE_I32("result", result));
	return result;
}
