/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of chunks: when one is worth it, and their zstd frames. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "memtrace/pack/group.h"
#include "tracefmt/format.h"

enum {
	/* parameters of zstd */
	LEVEL = 1, MIN_MATCH = 7, /* as for chunks that are packed by themselves */
	HASH_LOG = 16,		/* larger than theirs: there is more before a chunk */
	LONG_MATCH = 20,	/* bytes: the shortest match of those far back; in these, single words may differ */
	LONG_RATE_LOG = 8,	/* log2: such matches are looked for at one byte in so many */

	/* when a group is opened */
	DENSE = 25,		/* not if less than 1 byte in 25 is left when chunks are packed by themselves: that is small enough */
	DEAR = 5,		/* without knowing whether the stream repeats itself, if more than 1 byte in 5 is left */
	EARLY = 1 << 20,	/* not within so many words from the stream's begin */

	/* whether a stream repeats itself: some of its words, "places", are remembered by a hash of what follows them */
	PLACES_LOG = 16,	/* log2 of the table of places */
	RATE_LOG = 11,		/* log2: one word in so many is a place */
	CONTEXT = 8,		/* words from a place on that are hashed */
	BLOCK = 4096,		/* words that are looked through at once */
	ENOUGH = 1024,		/* so many places make a decision: the stream repeats itself if ... */
	SHARE = 8,		/* ... 1 in 8 of them was seen before, as far back as the one before it, ... */
	DRIFT = 64,		/* ... give or take so many words, ... */
	NEAR = 1 << 18,		/* ... and not so near, where chunks by themselves have it as well, */
	FAR = 1 << (MT_GROUP_WINDOW - 2), /* nor further than the window: words */
};

struct mt_group_place {
	uint32_t hash, at; /* of the words there; index of the first in the stream */
};

static void close_group(struct mt_group *g, unsigned int *windows)
{
	if (!g->zstd)
		return;
	ZSTD_freeCCtx(g->zstd);
	g->zstd = NULL;
	__atomic_fetch_sub(windows, 1, __ATOMIC_RELAXED);
}

void mt_group_free(struct mt_group *g, unsigned int *windows)
{
	close_group(g, windows);
	free(g->places);
	g->places = NULL;
}

static bool set(ZSTD_CCtx *zstd, ZSTD_cParameter parameter, int value)
{
	return !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, parameter, value));
}

static void open_group(struct mt_group *g, unsigned int *windows)
{
	g->bytes = 0;
	if (g->zstd)
		return;
	if (__atomic_fetch_add(windows, 1, __ATOMIC_RELAXED) < MT_GROUP_WINDOWS)
		g->zstd = ZSTD_createCCtx();
	if (!g->zstd) {
		__atomic_fetch_sub(windows, 1, __ATOMIC_RELAXED);
		return;
	}
	if (!set(g->zstd, ZSTD_c_compressionLevel, LEVEL) || !set(g->zstd, ZSTD_c_minMatch, MIN_MATCH) ||
	    !set(g->zstd, ZSTD_c_hashLog, HASH_LOG) || !set(g->zstd, ZSTD_c_windowLog, MT_GROUP_WINDOW) ||
	    !set(g->zstd, ZSTD_c_enableLongDistanceMatching, 1) ||
	    !set(g->zstd, ZSTD_c_ldmMinMatch, LONG_MATCH) || !set(g->zstd, ZSTD_c_ldmHashRateLog, LONG_RATE_LOG))
		close_group(g, windows);
}

/* ---- whether a stream repeats itself ---- */

/*
 * Places are chosen by what stands there, so that the same words have the same places wherever they come again (Manber,
 * Finding Similar Files in a Large File System, 1994).  Not where there are zeros.
 */
TF_VECTORIZE static void find_places(uint8_t *are, const uint32_t *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v = w[i] + (w[i + 1] << 7) + (w[i + 2] << 19);

		v ^= v >> 15;
		v += v << 9;
		v ^= v >> 13;
		are[i] = v >> (32 - RATE_LOG) == 0x2aa;
	}
}

/* Phrases that are only frequent are not seen again as far back as others. */
static void look_at(struct mt_group *g, const uint32_t *words, uint32_t at)
{
	uint64_t hash = XXH64(words, CONTEXT * sizeof(*words), 0);
	struct mt_group_place *p = &g->places[hash >> (64 - PLACES_LOG)];
	uint32_t back = at - p->at;

	g->looked++;
	if (p->hash == (uint32_t)hash && back > NEAR && back <= FAR) {
		g->seen += back - g->back + DRIFT <= 2 * DRIFT;
		g->back = back;
	}
	*p = (struct mt_group_place){ .hash = (uint32_t)hash, .at = at };
}

static void look(struct mt_group *g, const uint8_t *chunk, size_t bytes)
{
	uint32_t w[BLOCK + CONTEXT];
	uint8_t are[BLOCK];
	size_t words = bytes / 4;

	for (size_t at = 0; at + CONTEXT < words; at += BLOCK) {
		size_t n = words - at - CONTEXT < BLOCK ? words - at - CONTEXT : BLOCK;

		memcpy(w, chunk + 4 * at, 4 * (n + CONTEXT));
		find_places(are, w, n);
		for (size_t i = 0; i < n; i++) {
			if (are[i])
				look_at(g, w + i, (uint32_t)(g->words + at + i));
		}
	}
	g->words += words;
}

static bool repeats(const struct mt_group *g)
{
	return SHARE * (uint64_t)g->seen >= g->looked;
}

/* What was looked at since the last decision says whether the stream goes on in a group. */
static void decide(struct mt_group *g, unsigned int *windows)
{
	if (repeats(g))
		open_group(g, windows);
	else
		close_group(g, windows);
	g->looked = g->seen = 0;
}

void mt_group_consider(struct mt_group *g, unsigned int *windows, const void *chunk, size_t bytes, size_t packed)
{
	if (packed <= bytes / DENSE || g->words < EARLY) {
		g->words += bytes / 4;
		close_group(g, windows);
		return;
	}
	if (!g->places)
		g->places = calloc((size_t)1 << PLACES_LOG, sizeof(*g->places));
	if (!g->places)
		return;
	look(g, chunk, bytes);
	if (g->looked >= ENOUGH)
		decide(g, windows);
	else if (!g->tried && packed > bytes / DEAR)
		open_group(g, windows);
	g->tried = true;
}

/* ---- chunks ---- */

size_t mt_group_pack(struct mt_group *g, unsigned int *windows, void *at, size_t room, const void *chunk, size_t bytes,
		     bool *first)
{
	ZSTD_outBuffer out = { .dst = at, .size = room };
	ZSTD_inBuffer in = { .src = chunk, .size = bytes };

	*first = g->bytes == 0;
	if (*first)
		ZSTD_CCtx_reset(g->zstd, ZSTD_reset_session_only);
	if (ZSTD_compressStream2(g->zstd, &out, &in, ZSTD_e_flush) != 0 || in.pos != bytes) {
		close_group(g, windows);
		return SIZE_MAX;
	}
	g->bytes += bytes;
	look(g, chunk, bytes);
	if (g->bytes >= UINT64_C(1) << MT_GROUP_WINDOW && !repeats(g))
		close_group(g, windows);
	return out.pos;
}
