/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory from malloc() for memtrace/machine.h, which is freestanding itself. */
#ifndef SONDE_MEMTRACE_HEAP_H
#define SONDE_MEMTRACE_HEAP_H

#include <stdlib.h>

#include "memtrace/machine.h"

static void *mt_heap_alloc(void *arg, size_t bytes)
{
	(void)arg;
	return calloc(1, bytes);
}

static void mt_heap_release(void *arg, void *p, size_t bytes)
{
	(void)arg;
	(void)bytes;
	free(p);
}

static const struct mt_allocator mt_heap = { .alloc = mt_heap_alloc, .release = mt_heap_release };

#endif
