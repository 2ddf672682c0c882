/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does not compile. */
#include <sonde/module.h>
SONDE_MODULE("broken", "has an error in it");

SONDE_WRAP(int, work, (int i))
{
	return SONDE_REAL(work)(no_such_variable);
}
