/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Says on standard output, which is the program's standard error, what it wraps: two functions, for programs of any kind, and one of
 * the GNU C library that sets the FS base.
 */
#include <stdio.h>
#include <sonde/module.h>
SONDE_MODULE("guest-says", "says what it wraps");

SONDE_WRAP_IF_PRESENT(int, outer, (int i))
{
	sonde_enter();
	printf("outer %d\n", i);
	int result = SONDE_REAL(outer)(i);
	sonde_leave();
	return result;
}

SONDE_WRAP_IF_PRESENT(void, __libc_setup_tls, (void))
{
	sonde_enter();
	SONDE_REAL(__libc_setup_tls)();
	printf("TLS is set up\n");
	sonde_leave();
}

SONDE_WRAP_IF_PRESENT(long, work, (long i))
{
	sonde_enter();
	printf("work %ld\n", i);
	long result = SONDE_REAL(work)(i);
	sonde_leave();
	return result;
}
