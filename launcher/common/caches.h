/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of data caches. */
#ifndef SONDE_LAUNCHER_COMMON_CACHES_H
#define SONDE_LAUNCHER_COMMON_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#define CACHES_MAX 4u
#define CACHES_LINE 64u /* bytes: a cache holds one line at least */

struct caches {
	uint64_t bytes[CACHES_MAX]; /* ascending; 0: there are no more */
};

/* Those of the processor that this runs on, as the kernel tells; none where that says nothing. */
struct caches caches_here(void);

/* What the kernel says of the first processor's cache number @index: "type", "level", "size" and so on.  False: nothing. */
bool caches_word(unsigned int index, const char *name, char word[static 32]);

/* The sizes, up to 0 or CACHES_MAX of them; none unless they ascend, and the first holds a line. */
struct caches caches_from(const uint64_t *bytes);

/* "32K,1M,32M": 1 to CACHES_MAX sizes that ascend, with K, M or G (powers of 1024) or none. */
bool caches_parse(const char *text, struct caches *c);

#endif
