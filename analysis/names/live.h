/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of memory that are allocated at one time, by address. */
#ifndef SONDE_ANALYSIS_NAMES_LIVE_H
#define SONDE_ANALYSIS_NAMES_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes from 2 GiB on are rounded up to pages. */
#define NM_PAGES 0x80000000u

struct nm_block {
	uint64_t addr;
	uint32_t size; /* bytes, or NM_PAGES and how many pages of 4 KiB */
	uint32_t site;
};

static inline uint64_t nm_block_bytes(const struct nm_block *b)
{
	return b->size & NM_PAGES ? (uint64_t)(b->size & ~NM_PAGES) << 12 : b->size;
}

static inline uint32_t nm_block_size(uint64_t bytes)
{
	const uint64_t pages = (bytes >> 12) + ((bytes & 4095) != 0);

	if (bytes < NM_PAGES)
		return (uint32_t)bytes;
	return NM_PAGES | (uint32_t)(pages < NM_PAGES ? pages : NM_PAGES - 1);
}

struct nm_leaf;

/* All zero: none. */
struct nm_live {
	struct nm_leaf **leaf;
	uint64_t *first; /* address in each */
	size_t n, room, room_first;
	size_t blocks;
};

/* The one that has @addr, until the next change; NULL: none. */
struct nm_block *nm_live_find(const struct nm_live *l, uint64_t addr);
/* No block is in [*lo, *hi) around @addr, which is in none: narrows both. */
void nm_live_gap(const struct nm_live *l, uint64_t addr, uint64_t *lo, uint64_t *hi);
/* Those that it overlaps go.  @b has bytes, and ends before the end of the address space.  False: no memory. */
bool nm_live_add(struct nm_live *l, const struct nm_block *b) __attribute__((warn_unused_result));
/* The one that begins there.  False: there is none. */
bool nm_live_remove(struct nm_live *l, uint64_t addr);
void nm_live_free(struct nm_live *l);

#endif
