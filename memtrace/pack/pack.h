/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a chunk of a memory stream is packed to: its words rearranged as does best for this stream, then
 * zstd; or, if the stream repeats itself far apart, the next part of a group's frame.
 */
#ifndef SONDE_MEMTRACE_PACK_PACK_H
#define SONDE_MEMTRACE_PACK_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "memtrace/pack/group.h"
#include "memtrace/pack/index.h"
#include "tracefmt/buffer.h"
#include "tracefmt/format.h"

/* For one stream at a time, of those of a writer.  All zero: nothing has been packed. */
struct mt_packer {
	struct tf_buf words;	/* rearranged for a piece */
	struct tf_buf scratch;
	ZSTD_CCtx *frames;
	ZSTD_CCtx *dull;	/* for what is hardly worth it */
	unsigned int *windows;	/* in use, of streams that repeat themselves: those of all packers of a writer */
};

void mt_packer_free(struct mt_packer *k);

/* What the last chunks of one kind were like. */
struct mt_arranging {
	struct mt_words_lag lag;
	uint8_t dull[MT_PARTS];		/* by part: chunks in which it is not worth much time */
};

/* Of one stream.  All zero: nothing is known of it. */
struct mt_packing {
	uint8_t kind;			/* enum tf_piece_kind: what was least in the last trial */
	uint8_t skip[TF_PIECE_ALONE];	/* trials that it is left out of */
	uint8_t wait, gap;		/* chunks until the next trial; from the last one to it */
	struct mt_index_words known;
	struct mt_arranging arranging[TF_PIECE_ALONE];
	struct mt_group group;
};

/* Bytes that packing takes at @at. */
size_t mt_pack_room(size_t bytes);

/*
 * Packs a chunk, which may be written to meanwhile, at @at.  Says how many bytes it has become, and in *@kind how; SIZE_MAX: an
 * error of zstd's, no memory.
 */
size_t mt_pack_chunk(struct mt_packer *k, struct mt_packing *p, uint8_t *at, const void *raw, size_t bytes,
		     enum tf_piece_kind *kind);

/* As it is, for what is not a stream. */
size_t mt_pack_plain(struct mt_packer *k, uint8_t *at, const void *raw, size_t bytes);

#endif
