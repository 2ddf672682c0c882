/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a cache would do that had as many lines, and could put each of them anywhere: it says why another one misses.
 *
 * Compulsory misses are of lines that were never asked for before, capacity misses those that the fully associative
 * LRU cache has, too, and all others are conflict misses (Hill, "Aspects of Cache Memory and Instruction Buffer Performance",
 * 1987, chapter 3).  It takes at most 32 bytes for each different line.
 */
#ifndef SONDE_ANALYSIS_CACHE_SHADOW_H
#define SONDE_ANALYSIS_CACHE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache_shadow_line {
	uint64_t line;
	uint32_t newer, older; /* indices + 1 in the list of those that the cache has; 0: none.  newer is its own: not in it */
};

struct cache_shadow {
	struct cache_shadow_line *lines; /* all that were asked for */
	size_t n, room;
	uint32_t *table; /* index + 1 */
	size_t slots;
	uint32_t newest, oldest; /* index + 1 */
	uint64_t has, most;
};

enum cache_shadow_was {
	CACHE_SHADOW_NEW,  /* never asked for */
	CACHE_SHADOW_OUT,  /* not there */
	CACHE_SHADOW_THERE,
	CACHE_SHADOW_FAILED, /* no memory */
};

enum cache_shadow_then { CACHE_SHADOW_IN, /* it is there now */ CACHE_SHADOW_LEAVE, /* if it was */ CACHE_SHADOW_REMOVE };

/* A zeroed one with @most lines is empty. */
void cache_shadow_free(struct cache_shadow *s);
/* A line is asked for.  If it is there then, and CACHE_SHADOW_REMOVE is not said, it is the newest. */
enum cache_shadow_was cache_shadow_use(struct cache_shadow *s, uint64_t line, enum cache_shadow_then then);

#endif
