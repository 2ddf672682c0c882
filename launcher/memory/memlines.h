/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cache lines for launcher/memory/profile/memprofile.h: reuse distances, and sets of pairs of instruction and
 * line.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMLINES_H
#define SONDE_LAUNCHER_MEMORY_MEMLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MurmurHash3's finalizer: bijective. */
static inline uint64_t memlines_hash(uint64_t line)
{
	line ^= line >> 33;
	line *= UINT64_C(0xff51afd7ed558ccd);
	line ^= line >> 33;
	line *= UINT64_C(0xc4ceb9fe1a85ec53);
	return line ^ line >> 33;
}

/* Is a line of this hash among one in 2^@shift? */
static inline bool memlines_sampled(uint64_t hash, unsigned int shift)
{
	return !shift || !(hash >> (64 - shift));
}

/* ---- reuse distances ---- */

/*
 * Each line has a bit at the time of its last use; the distance is the number of bits after it
 * (Bennett and Kruskal 1975).  Words of bits are counted, 16 of these counts are added up, and 16
 * of those sums: a new time changes one of each, and few have to be added for a line that was used
 * not long ago.  When the times run out, they are numbered anew without holes.
 *
 * When there is no room for another line, that which was not used for longest is left out: distances
 * below @max are known of all lines, others are not.  Or, where that is done before (memlines_thin()),
 * every other line, chosen by its hash.
 */
struct memlines_entry {
	uint64_t line;
	uint32_t time;		/* + 1; 0: free */
	uint32_t note;		/* the user's */
};

struct memlines {
	struct memlines_entry *table;
	size_t room;		/* a power of two */
	uint64_t *bits;
	uint8_t *count;		/* of each word's bits */
	uint32_t *sum, *sums;	/* of 16 words, of 256 words */
	uint64_t *at;		/* line of each time */
	uint32_t times, now;
	uint32_t oldest;	/* no line was used before that */
	uint32_t begin;		/* first time of this piece */
	size_t fresh;		/* lines that were used in it, those that were left out since as well */
	size_t n, max;		/* lines, with those that were taken */
	unsigned int shift;	/* one line in 2^shift is here */
};

bool memlines_init(struct memlines *m, size_t max) __attribute__((warn_unused_result));
void memlines_free(struct memlines *m);

/* A new piece of the accesses begins: what was used in those before, all of which is here, counts as not used yet. */
void memlines_begin(struct memlines *m);

/*
 * How many of the lines that are here were used since @line was; UINT64_MAX: it was not yet in this piece, or was left out.  From then on the line is at its
 * user's, which is fewer than max and gives it back with memlines_put(): then it is the one here that was used last.  *note comes back as it was given, 0 at first.
 */
uint64_t memlines_take(struct memlines *m, uint64_t line, uint64_t hash, uint32_t *note);
void memlines_put(struct memlines *m, uint64_t line, uint64_t hash, uint32_t note);

/* Of all lines that are here: 0. */
void memlines_forget_notes(struct memlines *m);

/* The line will be used soon.  Always inline: GCC takes calls of functions that do nothing else for needless, and leaves them out. */
static inline __attribute__((always_inline)) void memlines_expect(const struct memlines *m, uint64_t line)
{
	__builtin_prefetch(&m->table[memlines_hash(line) & (m->room - 1)], 1);
}

/* Would another line cost one that was used in this piece? */
bool memlines_full(const struct memlines *m);
/* Leaves out every other line; all are here. */
void memlines_thin(struct memlines *m);
/* @to gets the lines of @from, of the same size, and their order; it is as after memlines_init(). */
void memlines_copy(struct memlines *to, struct memlines *from);

/* ---- pairs ---- */

struct mempair {
	uint64_t line;
	uint32_t id;		/* + 1; 0: free */
};

struct mempairs {
	struct mempair *table;
	size_t room, n;
};

static inline uint64_t mempairs_hash(uint32_t id, uint64_t line)
{
	return memlines_hash(line + id * UINT64_C(0x9e3779b97f4a7c15));
}

/* As memlines_expect(). */
static inline __attribute__((always_inline)) void mempairs_expect(const struct mempairs *p, uint32_t id, uint64_t line)
{
	if (p->room)
		__builtin_prefetch(&p->table[mempairs_hash(id, line) & (p->room - 1)], 1);
}

/* 1: it is new; 0: it was there; -1: no memory. */
int mempairs_add(struct mempairs *p, uint32_t id, uint64_t line);
/* Leaves those that @stays is true of; NULL: all.  False: no memory, nothing has changed. */
bool mempairs_thin(struct mempairs *p, bool (*stays)(const void *arg, const struct mempair *pair), const void *arg)
	__attribute__((warn_unused_result));
void mempairs_free(struct mempairs *p);

#endif
