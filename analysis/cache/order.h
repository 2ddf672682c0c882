/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often caches of cores take a line from each other, at least and at most, where it is only known between which times each
 * access was made.  Caches are those that an access looks at first; bounds are for such from which no line leaves for lack of room.
 *
 * In the order in which a line is accessed, let X be the accesses of one cache and Y the stores of all others.  The cache loses the
 * line where a Y follows an X, without another Y between them: so often there is an invalidation.  With its stores as X, and
 * all accesses of others as Y, these are the transfers from it.
 *   - At least: accesses that are in this order for sure, since each ended before the next one can have begun, X, Y, X, Y, ...; and all
 *     but one of the caches that store lose what they stored last.
 *   - At most: each such place needs an X that may be before its Y, and each but the first a Y that may be before its X: so
 *     it is bounded by how many pairs there are.  Of X, or Y, between which none of the others can be, one counts.
 */
#ifndef SONDE_ANALYSIS_CACHE_ORDER_H
#define SONDE_ANALYSIS_CACHE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache_bounds {
	uint64_t least, most;
};

struct cache_order_line {
	uint64_t line;
	uint64_t caches; /* that accessed it: a bit for each */
	uint64_t accesses, stores;
	struct cache_bounds invalidated, transfers;
};

struct cache_order;

/* NULL: no memory. */
struct cache_order *cache_order_new(void);
void cache_order_free(struct cache_order *o);

/* Access of a cache, of 0 to 63, between two times; for a cache neither of these goes back.  False: no memory. */
bool cache_order_take(struct cache_order *o, unsigned int cache, uint64_t line, bool store, uint64_t from, uint64_t to)
	__attribute__((warn_unused_result));

/*
 * When all are taken: the i-th of the lines that several caches accessed, one of which stored to it, in the order of
 * addresses.  False: there are no more.
 */
bool cache_order_line(struct cache_order *o, size_t i, struct cache_order_line *line);

#endif
