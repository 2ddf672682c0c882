/* SPDX-License-Identifier: MIT */
/* Binary search, written once; freestanding. */
#ifndef SONDE_BASE_SEARCH_H
#define SONDE_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first index in [0, @n) for which @holds, an expression with the index @i, is true; @n if there is none.  Where it is
 * true for an index, it has to be true for all after it.  @i is a name that this declares.
 *
 *	size_t at = search_first(i, n, v[i].addr >= addr);
 *	size_t after = search_first(i, n, v[i].addr > addr);
 */
#define search_first(i, n, holds)							\
	({										\
		size_t i##_low = 0, i##_high = (n);					\
		while (i##_low < i##_high) {						\
			size_t i = i##_low + (i##_high - i##_low) / 2;			\
			if (holds)							\
				i##_high = i;						\
			else								\
				i##_low = i + 1;					\
		}									\
		i##_low;								\
	})

#endif
