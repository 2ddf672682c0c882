/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last words of a memory stream, so that what comes can be said by what was there: in its writer, and in its reader, who
 * may miss some of them.
 *
 * A position is the number of words of the stream in front of a word.
 */
#ifndef SONDE_MEMTRACE_PACK_WINDOW_H
#define SONDE_MEMTRACE_PACK_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_WINDOW_MIN 16	/* log2 of bytes */
#define TF_WINDOW_MAX 27
#define TF_WINDOW_GAPS 32	/* if there are more, what is between the last ones is missing as well */

struct tf_window_gap {
	uint64_t from, to;
};

/* All zero is none. */
struct tf_window {
	uint32_t *words;	/* a ring */
	unsigned int log;	/* log2 of its bytes */
	uint64_t begin, end;	/* it has what is between, but for the gaps */
	struct tf_window_gap gap[TF_WINDOW_GAPS];
	unsigned int gaps;
};

/* An empty one, whose first word will be that at @position.  False: no memory, or @log is not as above. */
bool tf_window_open(struct tf_window *w, unsigned int log, uint64_t position);
void tf_window_close(struct tf_window *w);

/* Forgets all. */
static inline void tf_window_empty(struct tf_window *w, uint64_t position)
{
	w->begin = w->end = position;
	w->gaps = 0;
}

static inline uint64_t tf_window_size(const struct tf_window *w)
{
	return (UINT64_C(1) << w->log) / 4;
}

/* What follows: @n words. */
void tf_window_add(struct tf_window *w, const void *words, size_t n);

/* What follows up to @position, which is not smaller than its end, is missing. */
void tf_window_skip(struct tf_window *w, uint64_t position);

/* A word that the window has, and how many follow it there, including itself. */
static inline const uint32_t *tf_window_at(const struct tf_window *w, uint64_t position, size_t *run)
{
	size_t size = tf_window_size(w), at = position & (size - 1);

	*run = size - at;
	return w->words + at;
}

/* Copies @n words from @position on.  False: it does not have them all. */
bool tf_window_read(const struct tf_window *w, void *to, uint64_t position, size_t n);

#endif
