/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory streams that repeat what they held millions of words ago, as iterations over the same large arrays do,
 * become one zstd frame over many chunks, with a window that reaches so far back.  Each chunk is flushed, so that
 * pieces stay whole in the file; but one that is damaged costs all that follow it in its *group*, which begins with a
 * new frame.
 *
 * A window takes memory, in the writer and in the reader: it is only there while it makes what is written less by a
 * third.
 */
#ifndef TRACEFMT_MEMORYFAR_H
#define TRACEFMT_MEMORYFAR_H

#include <zstd.h>

#include "tracefmt/memoryrecur.h"

#define TF_FAR_MAX 27			/* log2 of a window's bytes */
#define TF_FAR_GROUP 3			/* log2 of windows in a group: the first is not of use yet */
#define TF_FAR_ROOM (UINT64_C(1) << 29)	 /* bytes of all windows of a writer */

/* All zero is one that is not in use. */
struct tf_far {
	ZSTD_CCtx *zstd;	/* NULL: not in use */
	unsigned int log;	/* of the window's bytes */
	uint64_t group;		/* bytes in it so far */
	uint64_t warm;		/* when there are so many it ought to be of use */
	unsigned int vain;	/* times in a row that it was of little use */
	uint32_t rest, pause;	/* pieces that it is left alone for; the next time */
	uint64_t bytes;		/* of the stream */
	struct tf_recur recur;
};

void tf_far_free(struct tf_far *f, uint64_t *room);

/* Appends a chunk to the frame, at @at[@max]; 0: an error, not in use any more.  *@start: it begins a group. */
size_t tf_far_pack(struct tf_far *f, uint64_t *room, void *at, size_t max, const void *chunk, size_t bytes,
		   bool *start);

/* Bytes of the stream after which a group ends. */
static inline uint64_t tf_far_group(const struct tf_far *f)
{
	return UINT64_C(1) << (f->log + TF_FAR_GROUP);
}

static inline bool tf_far_is_warm(const struct tf_far *f)
{
	return f->group >= f->warm;
}

/* The chunk just packed took @packed bytes, and would have taken @other without. */
void tf_far_judge(struct tf_far *f, uint64_t *room, size_t packed, size_t other);

/* Not in use, a chunk was packed: is it to be used from the next one on?  *@room: bytes that windows may take. */
void tf_far_consider(struct tf_far *f, uint64_t *room, const void *chunk, size_t bytes, size_t packed);

#endif
