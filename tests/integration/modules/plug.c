/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("plug", "a function of a library that is loaded late, and one of the program");

#define BODY(f)                                                                                \
	{                                                                                      \
		sonde_enter(SONDE_I32("i", i));                                                \
		int result = SONDE_REAL(f)(i);                                                 \
		sonde_leave(SONDE_I32("result", result));                                      \
		return result;                                                                 \
	}

SONDE_WRAP_IF_PRESENT(int, plug_work, (int i)) BODY(plug_work)
SONDE_WRAP_IF_PRESENT(int, outer_work, (int i)) BODY(outer_work)
SONDE_WRAP(int, work, (int i)) BODY(work)
