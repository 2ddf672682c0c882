/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of a profile share: memprofile.c takes accesses, memprofile-insns.c finds instructions, memprofile-sum.c adds
 * up, memkept.c keeps, memprofile-moves.c counts strides, memfront.c has the lines that were used last.
 */
#ifndef SONDE_LAUNCHER_MEMORY_PROFILE_MEMPROFILE_PRIVATE_H
#define SONDE_LAUNCHER_MEMORY_PROFILE_MEMPROFILE_PRIVATE_H

#include <pthread.h>

#include "base/hash.h"
#include "launcher/memory/memlines.h"
#include "launcher/memory/profile/memfront.h"
#include "launcher/memory/profile/memprofile.h"

#define MEMPROFILE_NONE UINT32_MAX
#define MEMPROFILE_MAX_SHIFT 40
#define MEMPROFILE_PAIRS_PER_LINE 8 /* at most; more are thinned out */
#define MEMPROFILE_PAIRED 8

/* Accesses with distances from memprofile_options.lines on. */
struct memprofile_far {
	uint64_t n;	/* all */
	/* Of those whose line is looked at, as many as each of them stands for: */
	uint64_t first, misses[MEMPROFILE_CACHES], unknown[MEMPROFILE_CACHES];
};

/* An instruction in a thread, or in all. */
struct memprofile_state {
	struct memprofile_insn sum; /* without what is in struct memprofile_hot */
	struct memprofile_far far;
	struct memprofile_group *groups; /* NULL: not sampled */
	uint32_t npairs;
	uint32_t was;		/* its index before all were sorted */
	uint8_t shift;		/* one of its lines in 2^shift is in a pair */
	uint8_t score[MEMPROFILE_STRIDES], turn;
};

#define MEMPROFILE_SOON 7 /* distances below MEMFRONT_LINES: these are in the first so many of memprofile_insn.reuse */
_Static_assert(MEMFRONT_LINES <= 1 << (MEMPROFILE_SOON - 1), "all ranks");

/*
 * Of an instruction in a thread, what most accesses ask for and change: they are like the one before.  What is counted here is not yet in its
 * sums: memprofile_settle().
 */
struct memprofile_hot {
	uint64_t insn;
	uint64_t last;		/* address accessed last */
	int64_t moved;		/* by so much */
	uint32_t next;		/* which one came after it last: a guess */
	uint32_t run;		/* moves as far as the time before */
	uint32_t soon[MEMPROFILE_SOON]; /* accesses of this kind and size: */
	uint8_t kind, size;	/* of the last access; size 0: it was of no such size, or a prefetch */
	bool begun;		/* it has made an access in this burst */
	bool other;		/* the move before those of the run, which was another one, is to be counted, too */
	uint64_t paired[MEMPROFILE_PAIRED]; /* + 1: lines that are in the pairs, or are left out */
};

/* Instructions by address. */
struct memprofile_insns {
	struct memprofile_state *v;
	struct memprofile_hot *hot; /* as many */
	uint32_t n, room;
	uint32_t *hash; /* index + 1; twice the room */
	bool sampled;
};

/* Counts the moves that are to be counted. */
void memprofile_moved(struct memprofile_state *s, struct memprofile_hot *h);
void memprofile_settle(struct memprofile_state *s, struct memprofile_hot *h);

/* Keys in place of instructions are small and dense (launcher/memory/names/memnames.h): each has a slot of its own. */
static inline uint64_t memprofile_hash(uint64_t insn)
{
	return insn >> 32 ? hash_word(insn) : insn;
}

/* Index; MEMPROFILE_NONE: no memory. */
uint32_t memprofile_find(struct memprofile_insns *s, uint64_t insn);
bool memprofile_make_hash(struct memprofile_insns *s);
void memprofile_free_insns(struct memprofile_insns *s);

/* Does it, by the shift of its instruction in the struct memprofile_insns @arg? */
bool memprofile_stays(const void *arg, const struct mempair *pair);
/* Leaves out what does not stay.  False: no memory. */
bool memprofile_apply_shifts(struct mempairs *pairs, struct memprofile_insns *insns)
	__attribute__((warn_unused_result));
/* Thins out pairs until there are fewer than MEMPROFILE_PAIRS_PER_LINE for each of @lines.  False: no memory. */
bool memprofile_thin_pairs(struct mempairs *pairs, struct memprofile_insns *insns, size_t lines)
	__attribute__((warn_unused_result));

struct memprofile {
	struct memprofile_options o;
	struct memprofile_insns insns;
	struct mempairs pairs;
	struct memprofile_curve *curves; /* NULL: not sampled */
	unsigned int shift;		 /* the most of struct memlines' */
	unsigned int begun;		 /* threads */
	bool sorted;
	pthread_mutex_t lock;		 /* threads are added by one at a time */
};

#define MEMPROFILE_NOTED 2048 /* a power of two */

struct memprofile_thread {
	struct memprofile *p;
	struct mempair noted[MEMPROFILE_NOTED]; /* some of those that are in the pairs, or are left out */
	struct memprofile_insns insns;
	struct memfront front;	/* the lines that were used last; all others are in: */
	struct memlines near, far;
	bool wide;		/* there is far: near has left something out */
	unsigned int front_far;	/* lines of front that are taken from far */
	struct mempairs pairs;
	struct memprofile_curve *curves; /* NULL: not sampled */
	double scale;
	uint64_t burst;
	uint64_t unsettled;	/* accesses, at most */
	unsigned int group;	/* of the burst */
	uint32_t at;		/* index of the last instruction */
	uint8_t skip;		/* kinds with that are left out */
	bool soon;		/* distances below MEMFRONT_LINES are misses in none of the caches, and nothing more is counted of them */
	bool begun, failed, whole;
};

/* All lines are in t->near and t->far. */
void memprofile_put_front(struct memprofile_thread *t);
/* Adds what @t has so far, and forgets it.  False: no memory. */
bool memprofile_flush(struct memprofile_thread *t) __attribute__((warn_unused_result));

static inline unsigned int memprofile_bucket(uint64_t distance)
{
	unsigned int b = distance ? 64 - (unsigned int)__builtin_clzll(distance) : 0;

	return b < MEMPROFILE_DISTANCES ? b : MEMPROFILE_DISTANCES - 1;
}

#endif
