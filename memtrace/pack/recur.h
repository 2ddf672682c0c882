/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does a memory stream repeat what it held long ago, and how long ago?  At places that are chosen by what stands there,
 * so that the same words have the same places, a hash of some words is remembered.
 */
#ifndef SONDE_MEMTRACE_PACK_RECUR_H
#define SONDE_MEMTRACE_PACK_RECUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_RECUR_NEAR 20	/* log2 of bytes: what is nearer does not count */
#define TF_RECUR_FAR 27		/* nor what is farther */

#define TF_RECUR_LATELY 4

struct tf_recur {
	struct tf_recur_place *places;
	uint64_t words;		/* of the stream, so far */
	uint32_t back[TF_RECUR_LATELY];	/* words that places lately were seen before */
	unsigned int next;	/* of these */
	uint32_t distance;	/* words back of a place that was as far back as one lately */
	uint64_t since;		/* words in front of where it began to repeat itself; 0: it does not */
	uint32_t looked;	/* places since the last answer */
	uint32_t steady;	/* of these: seen as far back as one lately */
	uint32_t seen[TF_RECUR_FAR - TF_RECUR_NEAR + 1]; /* of these: by log2 of bytes back, rounded up */
};

/* All zero is one that has seen nothing. */
void tf_recur_free(struct tf_recur *r);

/*
 * Looks at the next part of the stream.  Says log2 of the bytes within which most of it has been before,
 * or 0: too little has, or for less long than it goes back, or it is not known yet.  Without memory it has seen nothing.
 */
unsigned int tf_recur_look(struct tf_recur *r, const void *words, size_t bytes);

#endif
