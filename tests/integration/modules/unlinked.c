/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("unlinked", "calls a function that is nowhere");

void sonde_test_nowhere(struct sonde_batch *batch);

SONDE_ON_MEMORY(batch)
{
	sonde_test_nowhere(batch);
}
