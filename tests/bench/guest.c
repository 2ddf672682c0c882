// SPDX-License-Identifier: GPL-3.0-or-later
/* The same as count.c, but in a static program with a C library of its own, since it needs one; WITHOUT_REAL: without the original. */
#include <stdlib.h>
#include <sonde/module.h>

SONDE_MODULE("bench-guest", "counts the calls of empty()");

char *(*const volatile bench_needs)(const char *) = getenv;

SONDE_WRAP(int, empty, (int x))
{
	sonde_count("calls");
#ifdef WITHOUT_REAL
	return x;
#else
	return SONDE_REAL(empty)(x);
#endif
}
