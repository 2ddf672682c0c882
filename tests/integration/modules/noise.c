/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("noise", "values that do not compress");

SONDE_WRAP(uint64_t, noise, (uint64_t a, uint64_t b, uint64_t c))
{
	sonde_enter(SONDE_U64("a", a), SONDE_U64("b", b), SONDE_U64("c", c));
	uint64_t result = SONDE_REAL(noise)(a, b, c);
	sonde_leave(SONDE_U64("result", result));
	return result;
}
