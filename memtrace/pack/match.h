/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of a chunk was in the window before, nearly: found by a table of places, by what stands there, and from there on as far as
 * most words are the same; then by looking as far back as lately.  Streams of iterations over the same data differ in a word
 * here and there, and chunks have their heads elsewhere.
 */
#ifndef SONDE_MEMTRACE_PACK_MATCH_H
#define SONDE_MEMTRACE_PACK_MATCH_H

#include "memtrace/pack/copies.h"
#include "memtrace/pack/window.h"

struct tf_match_place;

/* All zero is none. */
struct tf_match {
	struct tf_window window;
	struct tf_match_place *places;
	struct tf_recent recent;
	uint32_t found;		/* chunks in which much is expected to be found */
};

/* With a window of 2^@log bytes, whose first word will be that at @position.  False: no memory. */
bool tf_match_open(struct tf_match *m, unsigned int log, uint64_t position);
void tf_match_close(struct tf_match *m);

/* Copies, and masks, of so many words at most; the changes are no more than the words. */
size_t tf_match_most(size_t words);

/*
 * Finds what of @words, which do not change meanwhile, is in the window, and appends them to it.  All copies are from what was
 * in the window before.  @c: arrays with room for all.
 */
void tf_match_find(struct tf_match *m, const void *words, size_t n, struct tf_copies *c);

/* They are in the window from now on; nothing is looked for. */
void tf_match_note(struct tf_match *m, const void *words, size_t n);

#endif
