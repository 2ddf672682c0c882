/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("sigs", "a function, and what a signal handler calls");

SONDE_WRAP(int, step, (int i))
{
	sonde_enter(SONDE_I32("i", i), SONDE_STR("text", "some text to write"));
	int result = SONDE_REAL(step)(i);
	sonde_count("steps");
	sonde_leave(SONDE_I32("result", result));
	return result;
}

SONDE_WRAP(int, note, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	int result = SONDE_REAL(note)(i);
	sonde_leave(SONDE_I32("result", result));
	return result;
}
