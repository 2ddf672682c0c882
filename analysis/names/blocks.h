/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which block of the heap an access went to.  When a thread made it is known as a stretch of time: it is not before what has been
 * seen of the thread, nor after what comes next.  What has seen it are chunks of its stream, and its own calls of malloc() and
 * free(): the stream has the call's push of a return address, and the call, as an event, says when it was made.
 *
 * Blocks that were allocated at the stretch's begin are those of a tree.  A block that is freed within the stretch may have been the
 * one, and so may be one that is allocated in it.  If all that may be have the same name, that is it; else the access is ambiguous.
 */
#ifndef SONDE_ANALYSIS_NAMES_BLOCKS_H
#define SONDE_ANALYSIS_NAMES_BLOCKS_H

#include "analysis/names/live.h"

/* malloc, or free.  24 bytes: there are many. */
struct nm_event {
	uint64_t time;
	uint64_t addr : 48;   /* 0: the call has changed nothing, as free(NULL); but it is in the stream */
	uint64_t thread : 16; /* index */
	uint32_t size;	      /* of an allocation, as in struct nm_block; of a free: 1: the thread's next one is of the same call */
	uint32_t site;	      /* NM_FREED: it was freed */
};
#define NM_FREED 0x80000000u

struct nm_history {
	struct nm_event *v;
	size_t n, room;
	struct nm_history_thread {
		int pid, tid;
	} *thread;
	size_t nthreads, room_threads;
	uint64_t *calls; /* return addresses of sites, hashed; 0: free */
	size_t ncalls, room_calls;
	bool sorted;
};

void nm_history_free(struct nm_history *h);
/* By time; the same again is nothing. */
void nm_history_sort(struct nm_history *h);

#define NM_GRAIN 256
#define NM_GRAINS 4096 /* a power of two */

/* Where changes are noted: parts of memory of NM_GRAIN bytes, some of which share a place. */
static inline size_t nm_grain(uint64_t addr)
{
	return (addr / NM_GRAIN ^ addr / NM_GRAIN / NM_GRAINS) % NM_GRAINS;
}

/* A block that was found lately, in a place by the address. */
struct nm_lately {
	uint64_t begin, size, epoch;
	uint32_t site;
};
#define NM_LATELY_BITS 12

static inline size_t nm_lately(uint64_t addr)
{
	return addr / 64 * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NM_LATELY_BITS);
}

/* A thread's way through it. */
struct nm_cursor {
	const struct nm *nm;
	int pid;
	uint32_t thread; /* index; UINT32_MAX: it has no events */
	uint64_t from, to; /* when the next access was made */
	uint64_t next_chunk;
	size_t at;	 /* events before it have been applied to the live ones */
	size_t own;	 /* the thread's own before it have been seen in the stream */
	struct nm_live live;
	uint64_t epoch;	 /* changes with whatever changes what blocks are found */
	bool calm;	 /* no call may have been made already, so what is found are the live ones */
	uint64_t changed[NM_GRAINS], all_changed; /* the epoch when a block that has bytes in such a part of memory, or anywhere, came or went last */
	struct nm_lately lately[1 << NM_LATELY_BITS];
	/* allocations that may have been made already: [begin, end) of events, by address */
	struct nm_block *may;
	uint64_t *reach; /* the highest end up to each */
	size_t nmay, room_may, room_reach, may_begin, may_end;
	bool failed;
};

bool nm_cursor_begin(struct nm_cursor *c, struct nm *nm, int pid, int tid) __attribute__((warn_unused_result));
void nm_cursor_end(struct nm_cursor *c);

/* What comes next was made after @from, before @next. */
void nm_cursor_chunk(struct nm_cursor *c, uint64_t from, uint64_t next);
/* A call that returns to @address has pushed that. */
void nm_cursor_call(struct nm_cursor *c, uint64_t address);

/* What was found at @addr at @epoch, from a block or for want of one, is there still.  False: that is not known. */
static inline bool nm_cursor_stays(const struct nm_cursor *c, uint64_t epoch, uint64_t addr)
{
	if (epoch == c->epoch)
		return true;
	return c->calm && c->changed[nm_grain(addr)] <= epoch && c->all_changed <= epoch;
}

/*
 * *site: of what was found.  *begin, *size: of the block, if it is but one; size 0: of several that have one name.  ONE: so it is for
 * all addresses in the block, until c->epoch changes.
 */
enum nm_found { NM_FOUND_NONE, NM_FOUND_ONE, NM_FOUND_HERE, NM_FOUND_SEVERAL };
enum nm_found nm_cursor_find(struct nm_cursor *c, uint64_t addr, uint32_t *site, uint64_t *begin, uint64_t *size);

#endif
