// SPDX-License-Identifier: MIT
/* mark: phases of a program and numbers of its own, as it says by sonde/mark.h or mark.f90. */
#include <sonde/module.h>

SONDE_MODULE("mark", "phases and counters that a program marks by sonde/mark.h");

SONDE_WRAP_IF_PRESENT(void, sonde_mark_begin, (const char *name, size_t length))
{
	sonde_point("phase begin", SONDE_STRN("phase", name, length));
}

SONDE_WRAP_IF_PRESENT(void, sonde_mark_end, (const char *name, size_t length))
{
	sonde_point("phase end", SONDE_STRN("phase", name, length));
}

SONDE_WRAP_IF_PRESENT(void, sonde_mark_value, (const char *name, size_t length, double value))
{
	sonde_point("value", SONDE_STRN("counter", name, length), SONDE_F64("value", value));
}
