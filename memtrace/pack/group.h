/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory streams that repeat what they held millions of words before, as iterations over the same large arrays do: their chunks
 * become one zstd frame, with long-distance matching in a window of 128 MiB.  Each chunk ends with a flush, so a piece
 * can be read as soon as it is written; but it cannot be read without those before it in its *group*, which is the pieces of one
 * frame.  A group ends after MT_GROUP_BYTES: that is what damage costs at most.
 *
 * A stream of which much is written even so is put into a group early, before it has repeated anything: if it does, its first
 * iteration is not written twice; if it has not within the window, that was in vain, and the group ends.
 */
#ifndef MEMTRACE_PACK_GROUP_H
#define MEMTRACE_PACK_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#define MT_GROUP_WINDOW 27	/* log2 of bytes; a reader takes no larger one */
#define MT_GROUP_BYTES (UINT64_C(1) << 28)	/* of the stream */
#define MT_GROUP_WINDOWS 4	/* of all streams of a writer */

/* Of one stream.  All zero: none, and nothing is known of the stream. */
struct mt_group {
	ZSTD_CCtx *zstd;	/* NULL: not in use */
	uint64_t bytes;		/* of the stream that are in it */
	uint64_t words;		/* of the stream so far */
	struct mt_group_place *places;
	uint32_t back;		/* words from the place that was seen before last to where it was seen */
	uint32_t looked, seen;	/* places since the last decision; of these, seen before as far back */
	bool tried;		/* it has been considered, of a stream that is not dense */
};

/* @windows: those in use by all streams of a writer, here as below; other threads may change it meanwhile. */
void mt_group_free(struct mt_group *g, unsigned int *windows);

/* The next chunk belongs to it. */
static inline bool mt_group_is_open(const struct mt_group *g)
{
	return g->zstd && g->bytes < MT_GROUP_BYTES;
}

/*
 * Packs a chunk, which may change meanwhile, at @at[@room]; *@first: it begins the group.  SIZE_MAX: an error, and the
 * group is not open any more.
 */
size_t mt_group_pack(struct mt_group *g, unsigned int *windows, void *at, size_t room, const void *chunk, size_t bytes,
		     bool *first);

/* A chunk that was packed by itself, to @packed bytes: is a group opened for what follows? */
void mt_group_consider(struct mt_group *g, unsigned int *windows, const void *chunk, size_t bytes, size_t packed);

#endif
