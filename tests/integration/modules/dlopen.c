/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("dlopen", "libraries that are loaded while the program runs");

SONDE_WRAP(void *, dlopen, (const char *name, int flags))
{
	sonde_enter(SONDE_STR("name", name), SONDE_I32("flags", flags));
	void *result = SONDE_REAL(dlopen)(name, flags);
	sonde_leave(SONDE_PTR("result", result));
	return result;
}
