/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A module for the program tests/programs/demo.c: which primes are struck out, and how many each
 * thread counts. Try it:
 *
 *	sonde -m doc/examples/primes.c -- build/tests/programs/demo
 *	sonde report
 */
#include <sonde/module.h>

SONDE_MODULE("primes", "the sieve of the demo program");

struct part;

SONDE_WRAP(void, sieve, (void))
{
	sonde_enter();
	SONDE_REAL(sieve)();
	sonde_leave();
}

SONDE_WRAP(void, strike_out, (int prime))
{
	sonde_enter(SONDE_I32("prime", prime));
	SONDE_REAL(strike_out)(prime);
	sonde_leave();
}

SONDE_WRAP(void, count_part, (struct part *part))
{
	sonde_enter(SONDE_PTR("part", part));
	SONDE_REAL(count_part)(part);
	sonde_leave();
}
