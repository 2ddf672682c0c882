/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("hooks", "code at the start and at the end, a counter");

static long calls;

SONDE_WRAP(int, work, (int i))
{
	calls++;
	sonde_count("calls");
	return SONDE_REAL(work)(i);
}

SONDE_ON_START
{
	sonde_point("start", SONDE_I64("calls", calls));
}

SONDE_ON_EXIT
{
	sonde_point("exit", SONDE_I64("calls", calls));
}
