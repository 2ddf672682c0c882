/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("ipara", "functions that change few registers");

SONDE_WRAP(void, tick, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	SONDE_REAL(tick)(i);
	sonde_leave();
}

SONDE_WRAP(int, twice, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	int result = SONDE_REAL(twice)(i);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

SONDE_WRAP(double, half, (double x))
{
	sonde_enter(SONDE_F64("x", x));
	double result = SONDE_REAL(half)(x);
	sonde_leave(SONDE_F64("result", result));
	return result;
}

SONDE_WRAP(void, two, (long a, long b))
{
	sonde_enter(SONDE_I64("a", a), SONDE_I64("b", b));
	SONDE_REAL(two)(a, b);
	sonde_leave();
}

SONDE_WRAP(void, middle, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	SONDE_REAL(middle)(i);
	sonde_leave();
}
