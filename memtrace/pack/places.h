/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places in a memory stream that are chosen by what stands there, so that the same words have the same places wherever they
 * come again (Manber, Finding Similar Files in a Large File System, 1994), and hashes of what stands there.
 */
#ifndef SONDE_MEMTRACE_PACK_PLACES_H
#define SONDE_MEMTRACE_PACK_PLACES_H

#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

#define TF_PLACES_LANES 4	/* words that are looked at at a time */
#define TF_PLACES_WORDS 8	/* words from a place on that are hashed */
/* Words from a place on that are read for it and the others looked at with it. */
#define TF_PLACES_AHEAD (TF_PLACES_LANES + TF_PLACES_WORDS)

/* Not where there are zeros. */
#define TF_PLACES_MARK 0x55555555u

/* Which of four words are, a bit for each: one in 2^@rate, by itself and the two behind it.  More with a smaller @rate. */
static inline unsigned int tf_places(const uint8_t *words, unsigned int rate)
{
	const __m128i b = _mm_loadu_si128((const __m128i *)(words + 4));
	const __m128i c = _mm_loadu_si128((const __m128i *)(words + 8));
	const int top = (int)(~UINT32_C(0) << (32 - rate));
	__m128i a = _mm_loadu_si128((const __m128i *)words);

	a = _mm_add_epi32(a, _mm_or_si128(_mm_slli_epi32(b, 7), _mm_srli_epi32(b, 25)));
	a = _mm_xor_si128(a, _mm_or_si128(_mm_slli_epi32(c, 17), _mm_srli_epi32(c, 15)));
	a = _mm_xor_si128(a, _mm_srli_epi32(a, 15));
	a = _mm_add_epi32(a, _mm_slli_epi32(a, 9));
	a = _mm_xor_si128(a, _mm_srli_epi32(a, 13));
	a = _mm_add_epi32(a, _mm_slli_epi32(a, 5));
	a = _mm_cmpeq_epi32(_mm_and_si128(a, _mm_set1_epi32(top)), _mm_set1_epi32((int)(TF_PLACES_MARK & (uint32_t)top)));
	return (unsigned int)_mm_movemask_ps(_mm_castsi128_ps(a));
}

static inline uint64_t tf_place_hash(const uint8_t *words)
{
	uint64_t h = 0, v;

	for (int i = 0; i < TF_PLACES_WORDS; i += 2) {
		memcpy(&v, words + 4 * i, 8);
		h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return h * UINT64_C(0xd6e8feb86659fd93);
}

#endif
