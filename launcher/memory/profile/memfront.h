/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The lines that a thread used last, for launcher/memory/profile/memprofile.h.  Most accesses are to one of them; so a line stays where it is,
 * and has a rank: how many others were used since.  A use changes all ranks at once, without a branch.
 */
#ifndef SONDE_LAUNCHER_MEMORY_PROFILE_MEMFRONT_H
#define SONDE_LAUNCHER_MEMORY_PROFILE_MEMFRONT_H

#include <stdint.h>

#define MEMFRONT_LINES 64 /* at most 127, for their ranks */
#define MEMFRONT_NONE MEMFRONT_LINES
#define MEMFRONT_BITS 10

typedef int8_t memfront_ranks __attribute__((vector_size(16), may_alias));

struct memfront {
	memfront_ranks rank[MEMFRONT_LINES / sizeof(memfront_ranks)];
	uint64_t line[MEMFRONT_LINES];
	uint32_t note[MEMFRONT_LINES];	  /* the user's */
	uint8_t at[1u << MEMFRONT_BITS]; /* + 1, hashed; with some that are there no more */
	unsigned int n, max, hashed;
};

static inline unsigned int memfront_hash(uint64_t line)
{
	return (unsigned int)(line * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MEMFRONT_BITS));
}

/* Where @line is; MEMFRONT_NONE: it is none of them. */
static inline unsigned int memfront_find(const struct memfront *f, uint64_t line)
{
	for (unsigned int i = memfront_hash(line); f->at[i]; i = (i + 1) % sizeof(f->at))
		if (f->line[f->at[i] - 1] == line)
			return f->at[i] - 1u;
	return MEMFRONT_NONE;
}

/* The one that is there is used: how many were since. */
static inline unsigned int memfront_use(struct memfront *f, unsigned int at)
{
	const int8_t rank = ((const int8_t *)f->rank)[at];

	for (unsigned int i = 0; i < sizeof(f->rank) / sizeof(*f->rank); i++) {
		const memfront_ranks v = f->rank[i];

		f->rank[i] = (v - (memfront_ranks)(v < rank)) & (memfront_ranks)(v != rank);
	}
	return (unsigned int)rank;
}

/* None, and room for @max, or fewer. */
void memfront_init(struct memfront *f, unsigned int max);
/* Where the one is that was used before all others; there is one. */
unsigned int memfront_oldest(const struct memfront *f);
/* @line is one of them, the last one, in the place of the oldest if they are as many as there is room for. */
void memfront_add(struct memfront *f, uint64_t line, uint32_t note);

#endif
