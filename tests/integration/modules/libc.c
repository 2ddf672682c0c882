/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls the C library between sonde_enter() and sonde_leave(), one function of which it wraps. */
#include <stdlib.h>
#include <sonde/module.h>
SONDE_MODULE("libc", "needs the C library");

SONDE_WRAP(long, strtol, (const char *text, char **end, int base))
{
	sonde_enter(SONDE_STR("text", text));
	long result = SONDE_REAL(strtol)(text, end, base);
	sonde_leave(SONDE_I64("result", result));
	return result;
}

/* No literals in the calls: compilers know what strtol() makes of them. */
static const char *volatile digits[] = { "1", "2" };

SONDE_WRAP(int, work, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	long one = strtol(digits[0], NULL, 10);
	int result = SONDE_REAL(work)(i);
	sonde_point("between", SONDE_I64("one", strtol(digits[1], NULL, 10) - one));
	sonde_leave(SONDE_I32("result", result));
	return result;
}
