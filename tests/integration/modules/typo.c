/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wraps functions that no program here has, one letter away from one they have. */
#include <sonde/module.h>
SONDE_MODULE("typo", "misspelt names");

SONDE_WRAP(int, works, (int i))
{
	return SONDE_REAL(works)(i);
}

SONDE_WRAP_IF_PRESENT(int, wok, (int i))
{
	return SONDE_REAL(wok)(i);
}
