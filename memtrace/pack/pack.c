/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <zstd.h>

#include "memtrace/pack/pack.h"
#include "memtrace/pack/words.h"
#include "tracefmt/write/writer-internal.h"

enum {
	LEVEL = 1, MIN_MATCH = 7,	/* shorter matches take longer than they are worth */
	DULL = -1,		/* level of what hardly gets smaller */
	HARDLY = 10,		/* by less than one part in so many */
	DULL_CHUNKS = 31,	/* until it may have become worth more */
	SLOWER = 16,		/* one of the later ways, which take longer, has to be better by one part in so many */
	SKIP = 3,		/* trials that a way which was far from the best is left out of */
	GAP = 15, GAP_MAX = 127,	/* chunks between trials: when another way is best; when it was the same for long */
	SMALL = 1 << 16,	/* bytes whose parts are not worth a frame each */
	TINY = 1 << 12,		/* that are not worth being rearranged */
};

struct arranged {
	const uint8_t *body;
	struct tf_parts parts;
};

/* A chunk in the way that takes most, in frames. */
static size_t room_for(size_t bytes)
{
	return ZSTD_compressBound(tf_index_bound(bytes)) + (TF_PARTS - 1) * ZSTD_compressBound(0);
}

/* The list of copies: the masks have a frame of their own. */
static size_t room_for_list(size_t bytes)
{
	return ZSTD_compressBound(tf_far_list_room(bytes)) + ZSTD_compressBound(0);
}

/* What is packed, and another way that it is compared with. */
size_t tf_pack_room(size_t bytes)
{
	return TF_FAR_HEAD + room_for_list(bytes) + 2 * room_for(bytes);
}

/* NULL: no memory. */
static ZSTD_CCtx *need_context(ZSTD_CCtx **context, int level)
{
	if (*context)
		return *context;
	*context = ZSTD_createCCtx();
	if (*context && !ZSTD_isError(ZSTD_CCtx_setParameter(*context, ZSTD_c_compressionLevel, level)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(*context, ZSTD_c_minMatch, MIN_MATCH)))
		return *context;
	ZSTD_freeCCtx(*context);
	*context = NULL;
	return NULL;
}

static size_t pack_in(ZSTD_CCtx *context, uint8_t *at, size_t room, const uint8_t *body, size_t bytes)
{
	size_t packed;

	if (!context)
		return SIZE_MAX;
	packed = ZSTD_compress2(context, at, room, body, bytes);
	return ZSTD_isError(packed) ? SIZE_MAX : packed;
}

static size_t pack_frame(struct tf_writer *w, uint8_t *at, size_t room, const uint8_t *body, size_t bytes)
{
	return pack_in(need_context(&w->pieces, LEVEL), at, room, body, bytes);
}

/* @dull: chunks in which it is not worth much time; NULL: that is not asked. */
static size_t pack_part(struct tf_writer *w, uint8_t *at, size_t room, const uint8_t *body, size_t bytes, uint8_t *dull)
{
	size_t packed;

	if (dull && *dull) {
		--*dull;
		return pack_in(need_context(&w->dull, DULL), at, room, body, bytes);
	}
	packed = pack_frame(w, at, room, body, bytes);
	if (dull && packed != SIZE_MAX && packed > bytes - bytes / HARDLY)
		*dull = DULL_CHUNKS;
	return packed;
}

size_t tf_pack_plain(struct tf_writer *w, uint8_t *at, const void *raw, size_t bytes)
{
	return pack_frame(w, at, ZSTD_compressBound(bytes), raw, bytes);
}

/* One frame behind the other.  @dull: of each, or NULL. */
static size_t pack_parts(struct tf_writer *w, uint8_t *at, size_t room, const struct arranged *a, uint8_t *dull)
{
	size_t sum = 0, begin = 0;

	for (unsigned int i = 0; i < a->parts.n; i++) {
		size_t end = a->parts.end[i], packed;

		if (end == begin)
			continue;
		packed = pack_part(w, at + sum, room - sum, a->body + begin, end - begin, dull ? &dull[i] : NULL);
		if (packed == SIZE_MAX)
			return packed;
		sum += packed;
		begin = end;
	}
	return sum;
}

/* False: no memory. */
static bool arrange(struct tf_writer *w, struct tf_packing *p, enum tf_piece_way way, const void *raw, size_t bytes,
		    struct arranged *a)
{
	struct tf_words_lag *lag = &p->arranging[way].lag;
	uint8_t *words, *scratch;

	tf_buf_clear(&w->words);
	tf_buf_clear(&w->scratch);
	words = tf_buf_need(&w->words, tf_index_bound(bytes));
	scratch = tf_buf_need(&w->scratch, tf_index_bound(bytes));
	if (!words || !scratch)
		return false;
	*a = (struct arranged){ .body = words };
	if (way == TF_PIECE_SPREAD)
		tf_words_spread(words, raw, bytes, lag, &a->parts);
	else
		tf_index_make(words, raw, bytes, scratch, &p->known, lag, &a->parts);
	return true;
}

static size_t pack_as(struct tf_writer *w, struct tf_packing *p, enum tf_piece_way way, uint8_t *at, const void *raw,
		      size_t bytes)
{
	size_t room = room_for(bytes), size;
	struct arranged a;

	if (way == TF_PIECE_PLAIN)
		return pack_frame(w, at, room, raw, bytes);
	if (!arrange(w, p, way, raw, bytes, &a))
		return SIZE_MAX;
	size = a.parts.end[a.parts.n - 1];
	return size < SMALL ? pack_frame(w, at, room, a.body, size) :
			      pack_parts(w, at, room, &a, p->arranging[way].dull);
}

/* Ways that were far from the best are left out for a while.  @sizes: 0 if not tried. */
static void judge_ways(struct tf_packing *p, const size_t *sizes, size_t best)
{
	for (int way = 0; way < TF_PIECE_WAYS; way++) {
		if (sizes[way])
			p->skip[way] = sizes[way] > best + best / 4 ? SKIP : 0;
	}
}

/* In all ways that are not left out; what is at @at is the best of them. */
static size_t pack_best(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const void *raw, size_t bytes)
{
	static const enum tf_piece_way ways[TF_PIECE_WAYS] = { TF_PIECE_SPREAD, TF_PIECE_INDEXED, TF_PIECE_PLAIN };
	size_t sizes[TF_PIECE_WAYS] = { 0 }, best = SIZE_MAX, room = room_for(bytes);
	const enum tf_piece_way was = p->way;

	p->known.n = 0;
	memset(p->arranging, 0, sizeof(p->arranging));
	for (int i = 0; i < TF_PIECE_WAYS; i++) {
		enum tf_piece_way way = ways[i];
		bool first = best == SIZE_MAX;

		if (way != was && p->skip[way] && p->skip[way]--)
			continue;
		sizes[way] = pack_as(w, p, way, at + (first ? 0 : room), raw, bytes);
		if (first ? sizes[way] == SIZE_MAX : sizes[way] >= best - best / SLOWER)
			continue;
		if (!first)
			memcpy(at, at + room, sizes[way]);
		best = sizes[way];
		p->way = (uint8_t)way;
	}
	judge_ways(p, sizes, best);
	return best;
}

/* Packs it in all ways, and says when to do so again: the longer the same way has been best, the later. */
static size_t pack_trial(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const void *raw, size_t bytes)
{
	const uint8_t was = p->way;
	size_t packed = pack_best(w, p, at, raw, bytes);

	if (p->way != was && p->gap > GAP)
		p->gap = GAP;
	else if (p->gap < GAP_MAX)
		p->gap = (uint8_t)(2 * p->gap + 1);
	p->wait = p->gap;
	return packed;
}

/* By itself. */
static size_t pack_alone(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const void *raw, size_t bytes,
			 enum tf_piece_way *way)
{
	size_t packed;

	if (p->wait) {
		p->wait--;
		packed = pack_as(w, p, p->way, at, raw, bytes);
	} else {
		packed = pack_trial(w, p, at, raw, bytes);
	}
	*way = p->way;
	if (packed != SIZE_MAX)
		return packed;
	*way = TF_PIECE_PLAIN;
	return tf_pack_plain(w, at, raw, bytes);
}

/* The list of copies. */
static size_t pack_list(struct tf_writer *w, uint8_t *at, const struct tf_far_parts *parts)
{
	struct arranged a = { .body = parts->list };

	tf_parts_add(&a.parts, parts->masks);
	tf_parts_add(&a.parts, parts->nlist - parts->masks);
	return pack_parts(w, at, ZSTD_compressBound(parts->nlist) + ZSTD_compressBound(0), &a, NULL);
}

/* What is left of a chunk. */
static size_t pack_rest(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const struct tf_far_parts *parts,
			enum tf_piece_way *way)
{
	if (parts->nrest >= TINY)
		return pack_alone(w, p, at, parts->rest, parts->nrest, way);
	*way = TF_PIECE_PLAIN;
	return tf_pack_plain(w, at, parts->rest, parts->nrest);
}

/* Is it worth being split?  @at: room for it as a whole. */
static void judge_far(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const void *raw, size_t bytes,
		      size_t packed)
{
	const struct tf_index_words known = p->known;
	size_t alone;

	p->known.n = 0;
	alone = pack_as(w, p, p->whole, at, raw, bytes);
	p->known = known;
	if (alone != SIZE_MAX)
		tf_far_judge(&p->far, &w->far_room, packed, alone);
}

/* As copies, and what is left; SIZE_MAX: that is not done any more. */
static size_t pack_far(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const void *raw, size_t bytes)
{
	struct tf_far_parts parts;
	size_t list, rest, packed;
	enum tf_piece_way way;

	if (!tf_far_split(&p->far, &w->far, &w->far_room, raw, bytes, &parts))
		return SIZE_MAX;
	list = pack_list(w, at + TF_FAR_HEAD, &parts);
	if (list == SIZE_MAX)
		return list;
	rest = pack_rest(w, p, at + TF_FAR_HEAD + list, &parts, &way);
	if (rest == SIZE_MAX)
		return rest;
	tf_far_put_head(at, &p->far, &parts, list, way);
	packed = TF_FAR_HEAD + list + rest;
	if (tf_far_is_due(&p->far))
		judge_far(w, p, at + packed, raw, bytes, packed);
	return packed;
}

size_t tf_pack_chunk(struct tf_writer *w, struct tf_packing *p, uint8_t *at, const void *raw, size_t bytes,
		     enum tf_piece_way *way)
{
	size_t packed;

	if (tf_far_is_used(&p->far)) {
		*way = TF_PIECE_FAR;
		packed = pack_far(w, p, at, raw, bytes);
		if (packed != SIZE_MAX || tf_far_is_used(&p->far))
			return packed;
	}
	packed = pack_alone(w, p, at, raw, bytes, way);
	p->whole = p->way;
	if (packed != SIZE_MAX)
		tf_far_consider(&p->far, &w->far_room, raw, bytes, packed);
	return packed;
}
