/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of a memory stream in a byte each, where a few words are most of it, as ids of nodes and upper halves of addresses
 * are: zstd then has a quarter to work on, and its codes are for words.
 *
 *	4 bytes		how many words are known by a number, at most MT_INDEX_WORDS
 *	4 bytes		how many words of the stream are not among them
 *	4 bytes each	the words that are known
 *	a byte for each word of the stream: its number; MT_INDEX_OTHER: it is the next of the others
 *	the others, with the last bytes of the stream after them if they are no whole word, as in memtrace/pack/words.h
 */
#ifndef SONDE_MEMTRACE_PACK_INDEX_H
#define SONDE_MEMTRACE_PACK_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/pack/words.h"

#define MT_INDEX_WORDS 255
#define MT_INDEX_OTHER 255
#define MT_INDEX_BEGIN 8

/* Bytes that a stream of @bytes can become. */
size_t mt_index_bound(size_t bytes);

#define MT_INDEX_SHARE 1024

/* The words that have a number.  All zero: none have been chosen. */
struct mt_index_words {
	uint32_t n;
	uint32_t others;	/* when they were chosen: of MT_INDEX_SHARE words so many were not among them */
	uint32_t word[MT_INDEX_WORDS];
};

/*
 * Writes it to @to, mt_index_bound(@bytes) bytes; says how many it took.  @scratch has as many.  @from may change
 * meanwhile.  The words that are known are chosen if there are none, and forgotten when they fit a stream much worse than
 * that one.
 */
size_t mt_index_make(uint8_t *to, const uint8_t *from, size_t bytes, uint8_t *scratch,
		     struct mt_index_words *known, struct mt_words_lag *lag, struct mt_parts *parts);

/* The inverse, of @size bytes.  @scratch has @bytes and 4 more.  False: they were not made so. */
bool mt_index_undo(uint8_t *to, size_t bytes, const uint8_t *from, size_t size, uint8_t *scratch);

#endif
