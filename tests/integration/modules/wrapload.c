/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("wrapload", "counts calls of work(), and loads");

SONDE_WRAP_IF_PRESENT(int, work, (int i))
{
	sonde_count("calls");
	return SONDE_REAL(work)(i);
}

SONDE_ON_MEMORY_COUNTS(batch)
{
	sonde_thread_add(sonde_batch_thread(batch), "loads", sonde_batch_counts(batch)->accesses[SONDE_LOAD]);
}
