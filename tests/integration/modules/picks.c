/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("picks", "functions whose code is chosen at start-up");

SONDE_WRAP(void *, memcpy, (void *to, const void *from, size_t n))
{
	sonde_enter(SONDE_BYTES("n", n));
	void *result = SONDE_REAL(memcpy)(to, from, n);
	sonde_leave();
	return result;
}

SONDE_WRAP(size_t, strlen, (const char *s))
{
	sonde_enter();
	size_t n = SONDE_REAL(strlen)(s);
	sonde_leave(SONDE_BYTES("n", n));
	return n;
}

SONDE_WRAP_IF_PRESENT(int, pick, (int i))
{
	sonde_enter(SONDE_I32("i", i));
	int result = SONDE_REAL(pick)(i);
	sonde_leave(SONDE_I32("result", result));
	return result;
}
