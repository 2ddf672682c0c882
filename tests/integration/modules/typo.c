/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wraps functions that no program here has, one letter away from those it has. */
#include <sonde/module.h>
SONDE_MODULE("typo", "misspelt names");

SONDE_WRAP(int, wrok, (int i))
{
	return SONDE_REAL(wrok)(i);
}

SONDE_WRAP_IF_PRESENT(int, wokr, (int i))
{
	return SONDE_REAL(wokr)(i);
}
