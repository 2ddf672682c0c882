/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory streams that repeat what they held millions of words ago, as iterations over the same large arrays do, become copies
 * of it (memtrace/pack/copies.h), and a rest that is packed as a chunk would be.
 *
 * A window takes memory, in the writer and in the reader: it is only there while it makes what is written less by a
 * third.
 *
 * Each piece says where in the stream it is.  So a reader who misses one knows what words it misses, and loses only what is
 * copied from them, and from that.  Nothing is copied from in front of the *group* that a chunk is in, which bounds for how
 * long that goes on; a group is so long that what its first words take is of no account.
 *
 * The body of such a piece:
 *
 *	8 bytes		position: words of the stream in front of it, not counting those of chunks' last bytes that are none
 *	4 bytes		number of copies
 *	4 bytes		bytes of their list
 *	4 bytes		bytes of the frames that the list is in
 *	4 bytes		bytes of the rest
 *	1 byte		log2 of the window's bytes, TF_WINDOW_MIN to TF_WINDOW_MAX
 *	1 byte		enum tf_piece_way of the rest, not TF_PIECE_FAR
 *	6 bytes		0
 *	the list's frames, and those of the rest
 */
#ifndef SONDE_MEMTRACE_PACK_FAR_H
#define SONDE_MEMTRACE_PACK_FAR_H

#include "tracefmt/buffer.h"
#include "memtrace/pack/match.h"
#include "memtrace/pack/recur.h"

#define TF_FAR_HEAD 32
#define TF_FAR_GROUP 6			/* log2 of windows in a group */
#define TF_FAR_ROOM (UINT64_C(1) << 29)	 /* bytes of all windows of a writer */

/* All zero is one that is not in use. */
struct tf_far {
	struct tf_match match;
	uint64_t group;		/* position where it began */
	uint64_t warm;		/* words in it: when there are so many it ought to be of use */
	unsigned int vain;	/* times in a row that it was of little use */
	uint32_t wait, gap;	/* chunks until that is looked at; from one time to the next */
	uint32_t rest, pause;	/* chunks that it is left alone for; the last time */
	uint64_t position;	/* words of the stream so far */
	struct tf_recur recur;
};

/* Memory to work with, of any stream. */
struct tf_far_work {
	struct tf_buf chunk, copies, masks, changes, list, rest;
};
void tf_far_work_free(struct tf_far_work *work);

/* What a chunk becomes. */
struct tf_far_parts {
	uint64_t position;
	size_t copies;
	const uint8_t *list, *rest;
	size_t nlist, nrest;
	size_t masks;	/* bytes of the list in front of them */
};

static inline bool tf_far_is_used(const struct tf_far *f)
{
	return f->match.places;
}

void tf_far_free(struct tf_far *f, uint64_t *room);

/* Bytes that the list of a chunk of @bytes can take. */
size_t tf_far_list_room(size_t bytes);

/* A chunk, which may change meanwhile, of one that is in use.  False: no memory, not in use any more. */
bool tf_far_split(struct tf_far *f, struct tf_far_work *work, uint64_t *room, const void *chunk, size_t bytes,
		  struct tf_far_parts *parts);

/* The head of the body. */
void tf_far_put_head(uint8_t *at, const struct tf_far *f, const struct tf_far_parts *parts, size_t packed_list,
		     unsigned int way);

/* To be called for each chunk that was split: is it time to see what it would be without? */
bool tf_far_is_due(struct tf_far *f);

/* It is: the chunk took @packed bytes, and would have taken @other. */
void tf_far_judge(struct tf_far *f, uint64_t *room, size_t packed, size_t other);

/* Not in use, a chunk was packed: is it to be used from the next one on?  *@room: bytes that windows may take. */
void tf_far_consider(struct tf_far *f, uint64_t *room, const void *chunk, size_t bytes, size_t packed);

#endif
