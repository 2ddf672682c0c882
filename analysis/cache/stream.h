/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is left of accesses for first levels: those that are known to change nothing there are left out.
 *
 * Let all sets of a level be dealt to groups by the lowest bits of their number, and let the line of an access be the one that
 * the last access to its group was to.  Then it was the last one in its set, too, so it is there; and under LRU, FIFO, random
 * replacement, tree-PLRU and NMRU to hit it once more changes nothing but whether it is modified.  Only the first store to
 * it does.  Of a write-through level all stores are left in, since they are passed on; one brings no line in, and may
 * change the order of those that are there.
 *
 * The same holds with inclusive levels after them, if their sets are dealt to the same groups: what makes a line leave one of
 * these is an access to the same group.
 *
 * So what happens in a group of sets, in all levels whose sets can be dealt to these groups, follows from the accesses to it alone:
 * a stream may leave out whole groups, and the others are as they would be with them.
 */
#ifndef SONDE_ANALYSIS_CACHE_STREAM_H
#define SONDE_ANALYSIS_CACHE_STREAM_H

#include "analysis/cache/chain.h"

/* One access to bytes. */
struct cache_access {
	uint64_t first, last;
	uint32_t insn, how;
};

enum cache_stream_kind {
	CACHE_STREAM_BACK,    /* for write-back levels */
	CACHE_STREAM_THROUGH,
	CACHE_STREAM_READS,   /* stores are made loads: for TLBs */
	CACHE_STREAM_ALL,     /* nothing is left out: policies for which a hit changes something each time */
};

struct cache_stream {
	enum cache_stream_kind kind;
	unsigned int shift;	 /* of the line's size */
	unsigned int unit;	 /* groups follow one another in units of this shift: the largest line that has to do with it */
	uint64_t groups;	 /* a power of two */
	uint64_t one_in;	 /* of so many groups one is left in, a power of two; 1: all */
	bool *chosen;		 /* which; NULL: all */
	uint64_t *last;		 /* by group: line << 1 | stored to; CACHE_STREAM_NONE */
	struct cache_requests requests;
	struct cache_requests given; /* those that chains take meanwhile */
	uint64_t *more;		 /* by instruction: lines that its accesses had but the first of each */
	size_t room;
};

#define CACHE_STREAM_NONE UINT64_MAX
#define CACHE_STREAM_GROUPS 1024 /* at most */

/* How many groups the sets of a level can be dealt to, if they follow one another in such units. */
uint64_t cache_stream_groups(const struct cache_level *level, unsigned int unit);

/* All up to one_in have been set.  False: no memory. */
bool cache_stream_begin(struct cache_stream *s) __attribute__((warn_unused_result));
void cache_stream_free(struct cache_stream *s);
/* Adds what is left of the accesses to its requests.  False: no memory. */
bool cache_stream_take(struct cache_stream *s, const struct cache_access *v, size_t n) __attribute__((warn_unused_result));

#endif
