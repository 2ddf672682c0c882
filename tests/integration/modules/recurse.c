/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("recurse", "functions that call themselves and one another");

#define WRAP(f)                                                                                \
	SONDE_WRAP(int, f, (int n))                                                            \
	{                                                                                      \
		sonde_enter(SONDE_I32("n", n));                                                \
		int result = SONDE_REAL(f)(n);                                                 \
		sonde_leave(SONDE_I32("result", result));                                      \
		return result;                                                                 \
	}

WRAP(down)
WRAP(ping)
WRAP(pong)
WRAP(fib)
