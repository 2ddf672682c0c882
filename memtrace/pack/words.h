/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of a memory stream, rearranged so that they pack better: a loop stores the same number of words in each iteration, and
 * each word tends to differ little from the one an iteration before.  In blocks of MT_WORDS_BLOCK words:
 *
 *	a byte for each block: its lag, 0 to MT_WORDS_LAG
 *	the words, each less the word `lag` words earlier (zigzag; lag 0: as they are), in planes: first the low bytes of
 *	all of them, then the second bytes, and so on
 *	the last bytes of the stream, if they are no whole word
 *
 * There is nothing `lag` words before the stream's first words: they count as 0.  A plane is a part of its own:
 * often one is by chance and another is the same all over, which an entropy coder should not see as one.
 */
#ifndef SONDE_MEMTRACE_PACK_WORDS_H
#define SONDE_MEMTRACE_PACK_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_WORDS_BLOCK 4096
#define MT_WORDS_LAG 64

/* Of @bytes rearranged. */
static inline size_t mt_words_size(size_t bytes)
{
	return bytes + (bytes / 4 + MT_WORDS_BLOCK - 1) / MT_WORDS_BLOCK;
}

/* What is rearranged consists of parts. */
#define MT_PARTS 5
struct mt_parts {
	size_t end[MT_PARTS];	/* from the beginning of the first */
	unsigned int n;
};

/* The next one has @bytes. */
static inline void mt_parts_add(struct mt_parts *parts, size_t bytes)
{
	parts->end[parts->n] = bytes + (parts->n ? parts->end[parts->n - 1] : 0);
	parts->n++;
}

/* The lag that goes on from chunk to chunk.  All zero: none has been looked for. */
struct mt_words_lag {
	uint32_t cost;		/* when it was chosen */
	uint8_t words;
	uint8_t rest;		/* blocks that it may be used for before one is looked for again */
	uint8_t vain;		/* times in a row that there was none */
};

/* @to has mt_words_size(@bytes) bytes, and is four parts more.  @from may change meanwhile. */
void mt_words_spread(uint8_t *to, const uint8_t *from, size_t bytes, struct mt_words_lag *lag, struct mt_parts *parts);

/* The inverse, of mt_words_size(@bytes) bytes.  False: they were not made so. */
bool mt_words_gather(uint8_t *to, size_t bytes, const uint8_t *from);

#endif
