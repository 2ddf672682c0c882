/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of a memory stream in a byte each, where a few words are most of it, as ids of nodes and upper halves of addresses
 * are: zstd then has a quarter to work on, and its codes are for words.
 *
 *	4 bytes		how many words are known by a number, at most TF_INDEX_WORDS
 *	4 bytes		how many words of the stream are not among them
 *	4 bytes each	the words that are known
 *	a byte for each word of the stream: its number; TF_INDEX_OTHER: it is the next of the others
 *	the others, with the last bytes of the stream behind them if they are no whole word, as in tracefmt/memorywords.h
 */
#ifndef TRACEFMT_MEMORYINDEX_H
#define TRACEFMT_MEMORYINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_INDEX_WORDS 255
#define TF_INDEX_OTHER 255
#define TF_INDEX_BEGIN 8

/* Bytes that a stream of @bytes can become. */
size_t tf_index_bound(size_t bytes);

/*
 * Writes it to @to, tf_index_bound(@bytes) bytes; says how many it took.  @scratch has as many.  @from may change
 * meanwhile.
 */
size_t tf_index_make(uint8_t *to, const uint8_t *from, size_t bytes, uint8_t *scratch);

/* The way back, of @size bytes.  @scratch has @bytes.  False: they were not made so. */
bool tf_index_undo(uint8_t *to, size_t bytes, const uint8_t *from, size_t size, uint8_t *scratch);

#endif
