/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory from malloc() for trampolines/memexpand.h, which is freestanding itself. */
#ifndef SONDE_TRAMPOLINES_MEMHEAP_H
#define SONDE_TRAMPOLINES_MEMHEAP_H

#include <stdlib.h>

#include "trampolines/memexpand.h"

static void *mx_heap_alloc(void *arg, size_t bytes)
{
	(void)arg;
	return calloc(1, bytes);
}

static void mx_heap_release(void *arg, void *p, size_t bytes)
{
	(void)arg;
	(void)bytes;
	free(p);
}

static const struct mx_allocator mx_heap = { .alloc = mx_heap_alloc, .release = mx_heap_release };

#endif
