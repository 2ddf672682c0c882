/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often caches take a line from each other, at least and at most, where it is only known between which times accesses
 * were made.
 *
 * In the order in which a line is accessed, let X be the accesses of one cache and Y the stores of all others.  The cache loses the
 * line where a Y follows an X, without another Y between them: so often there is an invalidation.  With its stores as X, and
 * all accesses of others as Y, these are the transfers from it.
 *   - At least: accesses that are in this order for sure, since each ended before the next one can have begun, X, Y, X, Y, ...; and all
 *     but one of the caches that store lose what they stored last.
 *   - At most: each such place needs an X that may be before its Y, and each but the first a Y that may be before its X: so
 *     it is bounded by how many pairs there are.  Of X, or Y, between which none of the others can be, one counts.
 */
#ifndef SONDE_ANALYSIS_CACHE_BOUNDS_H
#define SONDE_ANALYSIS_CACHE_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache_bounds {
	uint64_t least, most;
};

/* Accesses of a cache to the line, so many of them stores, that were made between two times. */
struct cache_window {
	uint64_t from, to;
	uint64_t accesses, stores;
	uint32_t cache;
};

/* Those of each cache in a row; sets both.  False: no memory. */
bool cache_bounds(const struct cache_window *v, size_t n, struct cache_bounds *invalidated, struct cache_bounds *transfers)
	__attribute__((warn_unused_result));

#endif
