/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often caches of cores take a line from each other, at least and at most (bounds.h), where it is only known between which times
 * each access was made.  Caches are those that an access looks at first; bounds are for such from which no line leaves for lack of room.
 */
#ifndef SONDE_ANALYSIS_CACHE_ORDER_H
#define SONDE_ANALYSIS_CACHE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cache/bounds.h"

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
