/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("shared", "keeps what it knows in a variable");

static unsigned long loaded;

SONDE_ON_MEMORY(batch)
{
	struct sonde_access a;

	while (sonde_next_access(batch, &a))
		if (a.kind == SONDE_LOAD)
			loaded += a.size;
}

SONDE_ON_MEMORY_END(end)
{
	sonde_print(end, "%lu bytes\n", loaded);
}
