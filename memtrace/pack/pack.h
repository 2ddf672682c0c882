/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a chunk of a memory stream is packed to: its words rearranged in the way that does best for this stream, then
 * zstd; or, if the stream repeats itself far apart, copies, and that of what is left.
 */
#ifndef SONDE_MEMTRACE_PACK_PACK_H
#define SONDE_MEMTRACE_PACK_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "tracefmt/format.h"
#include "memtrace/pack/far.h"
#include "memtrace/pack/index.h"

struct tf_writer;

/* What the last chunks that were rearranged in one way were like. */
struct tf_arranging {
	struct tf_words_lag lag;
	uint8_t dull[TF_PARTS];		/* by part: chunks in which it is not worth much time */
};

/* Of one stream.  All zero: nothing is known of it. */
struct tf_packing {
	uint8_t way;			/* enum tf_piece_way: what was least in the last trial */
	uint8_t skip[TF_PIECE_WAYS];	/* trials that it is left out of */
	uint8_t wait, gap;		/* chunks until the next trial; from the last one to it */
	uint8_t whole;			/* the way that did best before it was split */
	struct tf_index_words known;
	struct tf_arranging arranging[TF_PIECE_WAYS];
	struct tf_far far;
};

/* Bytes that packing takes at @at. */
size_t tf_pack_room(size_t bytes);

/*
 * Packs a chunk, which may be written to meanwhile, at @at.  Says how many bytes it has become, and in *@way how; SIZE_MAX: an
 * error of zstd's, no memory.
 */
size_t tf_pack_chunk(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const void *raw, size_t bytes,
		     enum tf_piece_way *way);

/* As it is, for what is not a stream. */
size_t tf_pack_plain(struct tf_writer *w, uint8_t *at, const void *raw, size_t bytes);

#endif
