// SPDX-License-Identifier: GPL-3.0-or-later
#include <sonde/module.h>

SONDE_MODULE("bench-absent", "wraps what no program has");

SONDE_WRAP_IF_PRESENT(void, sonde_bench_no_such_function, (void))
{
	SONDE_REAL(sonde_bench_no_such_function)();
}
