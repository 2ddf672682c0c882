/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A chunk of a memory stream as copies of what was in front of it, with some words changed, and words in between.  The list,
 * as bytes for zstd to pack; numbers are LEB128:
 *
 *	for each copy the number of words between the one before and it
 *	for each copy the number of its words
 *	for each copy how far back it is from: an index into the last TF_RECENT different ones, or TF_RECENT: a new one
 *	for each new one how many words back
 *	for each copy, in 4 bytes for every TF_COPY_MASK words, a bit for each word: 1 if it is changed
 *
 * The *rest* of the chunk: words between copies, and behind the last one; what changed words are more than those they
 * are copied from (zigzag); the last bytes of the chunk, if they are no whole word.
 */
#ifndef SONDE_MEMTRACE_PACK_COPIES_H
#define SONDE_MEMTRACE_PACK_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/pack/window.h"

#define TF_COPY_MASK 32
#define TF_COPY_MOST 20		/* bytes that a copy can take, besides its masks */
#define TF_RECENT 4

struct tf_copy {
	uint32_t between;	/* words in front of it that are not copied */
	uint32_t words;
	uint32_t back;		/* where they come from: so many words in front of where they go to */
};

struct tf_copies {
	struct tf_copy *copy;
	size_t n;
	uint32_t *masks;
	size_t nmasks;
	uint32_t *changes;	/* zigzag */
	size_t nchanges;
};

/* Different ones, the last one first. */
struct tf_recent {
	uint32_t back[TF_RECENT];
};

/* TF_RECENT: not among them. */
static inline unsigned int tf_recent_find(const struct tf_recent *r, uint32_t back)
{
	unsigned int i = 0;

	while (i < TF_RECENT && r->back[i] != back)
		i++;
	return i;
}

/* @back, which is number @i, is used. */
static inline void tf_recent_use(struct tf_recent *r, unsigned int i, uint32_t back)
{
	if (i == TF_RECENT)
		i--;
	for (; i; i--)
		r->back[i] = r->back[i - 1];
	r->back[0] = back;
}

/* Bytes that the list can take. */
size_t tf_copies_room(const struct tf_copies *c);

/* Writes the list to @to; says how many bytes it took, and in *@masks how many of them are in front of the masks. */
size_t tf_copies_write(uint8_t *to, const struct tf_copies *c, size_t *masks);

/* Writes the rest of a chunk of @bytes to @to, which has as many; says how many it took. */
size_t tf_copies_rest(uint8_t *to, const uint8_t *chunk, size_t bytes, const struct tf_copies *c);

/*
 * The way back: a list of @n copies, of @size bytes at @list, and @rest, of @nrest bytes, make the chunk of @bytes
 * at @to, which follows what is in the window.  False: they do not, or the window does not have what they need.
 */
bool tf_copies_undo(uint8_t *to, size_t bytes, const struct tf_window *window, const uint8_t *list, size_t size,
		    size_t n, const uint8_t *rest, size_t nrest);

#endif
