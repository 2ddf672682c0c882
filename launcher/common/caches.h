/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes of data caches. */
#ifndef SONDE_LAUNCHER_COMMON_CACHES_H
#define SONDE_LAUNCHER_COMMON_CACHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHES_MAX 4u
#define CACHES_LINE 64u /* bytes: a cache holds one line at least */

struct caches {
	uint64_t bytes[CACHES_MAX]; /* ascending; 0: there are no more */
};

/* Those of the processor that this runs on, as the kernel tells, else the C library; none where both say nothing. */
struct caches caches_here(void);

/* Where the kernel describes processors. */
#define CACHES_CPUS "/sys/devices/system/cpu"
/* The first line of a file, without its end, if it is not empty and fits.  False: nothing. */
bool caches_line(const char *path, char *text, size_t room);
/* What is said there (@cpus) of a processor's cache number @index: "type", "level", "size" and so on.  False: nothing. */
bool caches_word(const char *cpus, unsigned int cpu, unsigned int index, const char *name, char *word, size_t room);

struct caches_level {
	uint64_t bytes, ways, line;
};
/*
 * The data cache of a level, from 1 on, as the C library knows it from the processor itself: in many virtual machines the kernel says nothing.
 * False: it does not know it, or what it says is no cache.
 */
bool caches_library(unsigned int level, struct caches_level *l);

/* The sizes, up to 0 or CACHES_MAX of them; none unless they ascend, and the first holds a line. */
struct caches caches_from(const uint64_t *bytes);

/* "32K,1M,32M": 1 to CACHES_MAX sizes that ascend, with K, M or G (powers of 1024) or none. */
bool caches_parse(const char *text, struct caches *c);

#define CACHE_SETS "1/2, 1/4, 1/8, 1/16, 1/32 or 1/64"
/* One of these: how many sets one stands for. */
bool cache_sets_parse(const char *text, uint64_t *one_in);

#endif
