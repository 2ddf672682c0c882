/* SPDX-License-Identifier: MIT */
/* Memory that is about to be written: a page fault for each of its pages takes ten times as long as to ask for all of them at once. */
#ifndef SONDE_BASE_PAGES_H
#define SONDE_BASE_PAGES_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGES_WRITE 23 /* MADV_POPULATE_WRITE, Linux 5.14; headers may be older */

/* Makes the pages of @bytes at @mem.  Where that cannot be done they come when they are written, as any do. */
static inline void pages_make(void *mem, size_t bytes)
{
	const uintptr_t page = 4096, first = (uintptr_t)mem / page * page;

	if (bytes >= 4 * page) /* for fewer it is not worth the call */
		(void)!madvise((void *)first, ((uintptr_t)mem + bytes - first + page - 1) / page * page, PAGES_WRITE);
}

#define PAGES_PART ((size_t)1 << 20)
#define PAGES_PARTS 32

/* Has malloc() keep what is freed at the heap's end, until malloc_trim(), and map only what is larger than a few parts by itself. */
static inline void pages_keep_heap(void)
{
	(void)!mallopt(M_MMAP_THRESHOLD, 4 * PAGES_PART);
	(void)!mallopt(M_TRIM_THRESHOLD, 2 * PAGES_PARTS * PAGES_PART);
}

/* Makes the heap's next @bytes; after pages_keep_heap(). */
static inline void pages_make_heap(size_t bytes)
{
	void *v[PAGES_PARTS];
	size_t n = bytes / PAGES_PART;

	n = n < PAGES_PARTS ? n : PAGES_PARTS;
	for (size_t i = 0; i < n; i++) {
		v[i] = malloc(PAGES_PART);
		if (v[i])
			pages_make(v[i], PAGES_PART);
	}
	while (n)
		free(v[--n]);
}

#endif
