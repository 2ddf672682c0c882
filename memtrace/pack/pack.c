/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <zstd.h>

#include "memtrace/pack/pack.h"
#include "memtrace/pack/words.h"
#include "tracefmt/buffer.h"

enum {
	LEVEL = 1, MIN_MATCH = 7,	/* shorter matches take longer than they are worth */
	DULL = -1,		/* level of what hardly gets smaller */
	HARDLY = 10,		/* by less than one part in so many */
	DULL_CHUNKS = 31,	/* until it may have become worth more */
	SLOWER = 16,		/* one of the later kinds, which take longer, has to be smaller by one part in so many */
	SKIP = 3,		/* trials that a kind that was much larger is left out of */
	GAP = 15, GAP_MAX = 127,	/* chunks between trials: when another kind is best; when it was the same for long */
	SMALL = 1 << 16,	/* bytes whose parts are not worth a frame each */
};

struct arranged {
	const uint8_t *body;
	struct mt_parts parts;
};

/* A chunk of the kind that takes most, in frames. */
static size_t room_for(size_t bytes)
{
	return ZSTD_compressBound(mt_index_bound(bytes)) + (MT_PARTS - 1) * ZSTD_compressBound(0);
}

void mt_packer_free(struct mt_packer *k)
{
	tf_buf_free(&k->words);
	tf_buf_free(&k->scratch);
	ZSTD_freeCCtx(k->frames);
	ZSTD_freeCCtx(k->dull);
}

/* What is packed, and the same of another kind to compare with. */
size_t mt_pack_room(size_t bytes)
{
	return 2 * room_for(bytes);
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

static size_t pack_frame(struct mt_packer *k, uint8_t *at, size_t room, const uint8_t *body, size_t bytes)
{
	return pack_in(need_context(&k->frames, LEVEL), at, room, body, bytes);
}

/* @dull: chunks in which it is not worth much time; NULL: that is not asked. */
static size_t pack_part(struct mt_packer *k, uint8_t *at, size_t room, const uint8_t *body, size_t bytes, uint8_t *dull)
{
	size_t packed;

	if (dull && *dull) {
		--*dull;
		return pack_in(need_context(&k->dull, DULL), at, room, body, bytes);
	}
	packed = pack_frame(k, at, room, body, bytes);
	if (dull && packed != SIZE_MAX && packed > bytes - bytes / HARDLY)
		*dull = DULL_CHUNKS;
	return packed;
}

size_t mt_pack_plain(struct mt_packer *k, uint8_t *at, const void *raw, size_t bytes)
{
	return pack_frame(k, at, ZSTD_compressBound(bytes), raw, bytes);
}

/* One frame after another.  @dull: of each, or NULL. */
static size_t pack_parts(struct mt_packer *k, uint8_t *at, size_t room, const struct arranged *a, uint8_t *dull)
{
	size_t sum = 0, begin = 0;

	for (unsigned int i = 0; i < a->parts.n; i++) {
		size_t end = a->parts.end[i], packed;

		if (end == begin)
			continue;
		packed = pack_part(k, at + sum, room - sum, a->body + begin, end - begin, dull ? &dull[i] : NULL);
		if (packed == SIZE_MAX)
			return packed;
		sum += packed;
		begin = end;
	}
	return sum;
}

/* False: no memory. */
static bool arrange(struct mt_packer *k, struct mt_packing *p, enum tf_piece_kind kind, const void *raw, size_t bytes,
		    struct arranged *a)
{
	struct mt_words_lag *lag = &p->arranging[kind].lag;
	uint8_t *words, *scratch;

	tf_buf_clear(&k->words);
	tf_buf_clear(&k->scratch);
	words = tf_buf_need(&k->words, mt_index_bound(bytes));
	scratch = tf_buf_need(&k->scratch, mt_index_bound(bytes));
	if (!words || !scratch)
		return false;
	*a = (struct arranged){ .body = words };
	if (kind == TF_PIECE_SPREAD)
		mt_words_spread(words, raw, bytes, lag, &a->parts);
	else
		mt_index_make(words, raw, bytes, scratch, &p->known, lag, &a->parts);
	return true;
}

static size_t pack_as(struct mt_packer *k, struct mt_packing *p, enum tf_piece_kind kind, uint8_t *at, const void *raw,
		      size_t bytes)
{
	size_t room = room_for(bytes), size;
	struct arranged a;

	if (kind == TF_PIECE_PLAIN)
		return pack_frame(k, at, room, raw, bytes);
	if (!arrange(k, p, kind, raw, bytes, &a))
		return SIZE_MAX;
	size = a.parts.end[a.parts.n - 1];
	return size < SMALL ? pack_frame(k, at, room, a.body, size) :
			      pack_parts(k, at, room, &a, p->arranging[kind].dull);
}

/* Kinds that were much larger than the best are left out for a while.  @sizes: 0 if not tried. */
static void judge_kinds(struct mt_packing *p, const size_t *sizes, size_t best)
{
	for (int kind = 0; kind < TF_PIECE_ALONE; kind++) {
		if (sizes[kind])
			p->skip[kind] = sizes[kind] > best + best / 4 ? SKIP : 0;
	}
}

/* In all kinds that are not left out; what is at @at is the best of them. */
static size_t pack_best(struct mt_packer *k, struct mt_packing *p, uint8_t *at, const void *raw, size_t bytes)
{
	static const enum tf_piece_kind kinds[TF_PIECE_ALONE] = { TF_PIECE_SPREAD, TF_PIECE_INDEXED, TF_PIECE_PLAIN };
	size_t sizes[TF_PIECE_ALONE] = { 0 }, best = SIZE_MAX, room = room_for(bytes);
	const enum tf_piece_kind was = p->kind;

	p->known.n = 0;
	memset(p->arranging, 0, sizeof(p->arranging));
	for (int i = 0; i < TF_PIECE_ALONE; i++) {
		enum tf_piece_kind kind = kinds[i];
		bool first = best == SIZE_MAX;

		if (kind != was && p->skip[kind] && p->skip[kind]--)
			continue;
		sizes[kind] = pack_as(k, p, kind, at + (first ? 0 : room), raw, bytes);
		if (first ? sizes[kind] == SIZE_MAX : sizes[kind] >= best - best / SLOWER)
			continue;
		if (!first)
			memcpy(at, at + room, sizes[kind]);
		best = sizes[kind];
		p->kind = (uint8_t)kind;
	}
	judge_kinds(p, sizes, best);
	return best;
}

/* Packs it as all kinds, and decides when to do so again: the longer the same kind has been best, the later. */
static size_t pack_trial(struct mt_packer *k, struct mt_packing *p, uint8_t *at, const void *raw, size_t bytes)
{
	const uint8_t was = p->kind;
	size_t packed = pack_best(k, p, at, raw, bytes);

	if (p->kind != was && p->gap > GAP)
		p->gap = GAP;
	else if (p->gap < GAP_MAX)
		p->gap = (uint8_t)(2 * p->gap + 1);
	p->wait = p->gap;
	return packed;
}

/* By itself. */
static size_t pack_alone(struct mt_packer *k, struct mt_packing *p, uint8_t *at, const void *raw, size_t bytes,
			 enum tf_piece_kind *kind)
{
	size_t packed;

	if (p->wait) {
		p->wait--;
		packed = pack_as(k, p, p->kind, at, raw, bytes);
	} else {
		packed = pack_trial(k, p, at, raw, bytes);
	}
	*kind = p->kind;
	if (packed != SIZE_MAX)
		return packed;
	*kind = TF_PIECE_PLAIN;
	return mt_pack_plain(k, at, raw, bytes);
}

/* Together with what is before it; SIZE_MAX: that is not done any more. */
static size_t pack_in_group(struct mt_packer *k, struct mt_packing *p, uint8_t *at, const void *raw, size_t bytes,
			    enum tf_piece_kind *kind)
{
	bool first;
	size_t packed = mt_group_pack(&p->group, k->windows, at, room_for(bytes), raw, bytes, &first);

	*kind = first ? TF_PIECE_GROUP : TF_PIECE_GROUP_NEXT;
	return packed;
}

size_t mt_pack_chunk(struct mt_packer *k, struct mt_packing *p, uint8_t *at, const void *raw, size_t bytes,
		     enum tf_piece_kind *kind)
{
	size_t packed = SIZE_MAX;

	if (mt_group_is_open(&p->group))
		packed = pack_in_group(k, p, at, raw, bytes, kind);
	if (packed != SIZE_MAX)
		return packed;
	packed = pack_alone(k, p, at, raw, bytes, kind);
	if (packed != SIZE_MAX)
		mt_group_consider(&p->group, k->windows, raw, bytes, packed);
	return packed;
}
