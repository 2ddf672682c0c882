/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <emmintrin.h>
#include <string.h>

#include "tracefmt/format.h"
#include "memtrace/pack/words.h"

enum {
	SAMPLE = 256,		/* words of a block that its lag is chosen by */
	GOOD = SAMPLE / 4,	/* cost of a lag that no better one is looked for */
	AGAIN = 16,		/* blocks in which a lag is kept that is not good, while it is no worse than it was */
	REST = 3, REST_MAX = 63, /* blocks that none is looked for in, after one that has none; twice as many the next time */
	LANES = 4,		/* words of a vector */
	GROUP = 16,		/* words that are spread at a time */
};

/* ---- vectors of words ---- */

static __m128i load(const uint8_t *from)
{
	return _mm_loadu_si128((const __m128i *)from);
}

static void store(uint8_t *to, __m128i v)
{
	_mm_storeu_si128((__m128i *)to, v);
}

static __m128i zigzag4(__m128i d)
{
	return _mm_xor_si128(_mm_slli_epi32(d, 1), _mm_srai_epi32(d, 31));
}

static __m128i unzigzag4(__m128i z)
{
	const __m128i sign = _mm_sub_epi32(_mm_setzero_si128(), _mm_and_si128(z, _mm_set1_epi32(1)));

	return _mm_xor_si128(_mm_srli_epi32(z, 1), sign);
}

/* Words, or what they are more than those @lag words earlier. */
static __m128i words4(const uint8_t *from, size_t lag)
{
	return lag ? zigzag4(_mm_sub_epi32(load(from), load(from - 4 * lag))) : load(from);
}

/*
 * Of the six bits that number the bytes of @r, the upper two the vector, this takes the uppermost one to the lower end and
 * moves the others up.
 */
static void rotate(__m128i r[4])
{
	const __m128i a = r[0], b = r[1], c = r[2], d = r[3];

	r[0] = _mm_unpacklo_epi8(a, c);
	r[1] = _mm_unpackhi_epi8(a, c);
	r[2] = _mm_unpacklo_epi8(b, d);
	r[3] = _mm_unpackhi_epi8(b, d);
}

/* ---- lags ---- */

/* Bytes of SAMPLE differences that are not zero; of words from @at on, which has @lag words before it. */
static unsigned int cost(const uint8_t *from, size_t at, size_t lag)
{
	const __m128i zero = _mm_setzero_si128();
	__m128i zeros = zero;
	uint32_t lanes[LANES];

	for (size_t i = 0; i < SAMPLE; i += LANES) {
		__m128i z = words4(from + 4 * (at + i), lag);

		for (int byte = 0; byte < 4; byte++) {
			zeros = _mm_sub_epi32(zeros, _mm_cmpeq_epi32(z, zero));
			z = _mm_srli_epi32(z, 8);
		}
	}
	store((uint8_t *)lanes, zeros);
	return 4 * SAMPLE - (lanes[0] + lanes[1] + lanes[2] + lanes[3]);
}

static void rest(struct mt_words_lag *l)
{
	unsigned int blocks = (REST + 1u) << l->vain;

	l->rest = (uint8_t)(blocks - 1);
	if (l->rest < REST_MAX)
		l->vain++;
}

static void search(struct mt_words_lag *l, const uint8_t *from, size_t at)
{
	l->words = 0;
	l->cost = cost(from, at, 0) / 8 * 7; /* by chance, one of many lags is always a little better than none */
	for (size_t lag = 1; lag <= MT_WORDS_LAG; lag++) {
		unsigned int c = cost(from, at, lag);

		if (c < l->cost)
			*l = (struct mt_words_lag){ .words = (uint8_t)lag, .cost = c, .rest = AGAIN };
	}
	if (!l->words)
		rest(l);
}

/* For the @n words from @at on. */
static void choose_lag(struct mt_words_lag *l, const uint8_t *from, size_t at, size_t n)
{
	size_t middle = at + n / 2;
	unsigned int now;

	if (n < 2 * SAMPLE)
		return;
	if (l->words) {
		now = cost(from, middle, l->words);
		if (now <= GOOD)
			return;
		if (now > l->cost + l->cost / 8)
			l->rest = 0;
	}
	if (l->rest)
		l->rest--;
	else
		search(l, from, middle);
}

/* ---- blocks ---- */

/* @to: where the first word's lowest byte goes; that of the next plane is @plane bytes later. */
static void spread_word(uint8_t *to, size_t plane, const uint8_t *from, size_t at, size_t lag)
{
	uint32_t w = tf_get32(from + 4 * at);

	if (lag)
		w = tf_zigzag32(w - (at >= lag ? tf_get32(from + 4 * (at - lag)) : 0));
	for (int byte = 0; byte < 4; byte++)
		to[byte * plane] = (uint8_t)(w >> 8 * byte);
}

static void spread_group(uint8_t *to, size_t plane, const uint8_t *from, size_t lag)
{
	__m128i r[4];

	for (size_t i = 0; i < 4; i++)
		r[i] = words4(from + 16 * i, lag);
	for (int i = 0; i < 4; i++)
		rotate(r);
	for (size_t byte = 0; byte < 4; byte++)
		store(to + byte * plane, r[byte]);
}

static void spread_block(uint8_t *to, size_t plane, const uint8_t *from, size_t at, size_t n, size_t lag)
{
	size_t i = 0;

	for (; i < n && at + i < lag; i++)
		spread_word(to + i, plane, from, at + i, lag);
	for (; i + GROUP <= n; i += GROUP)
		spread_group(to + i, plane, from + 4 * (at + i), lag);
	for (; i < n; i++)
		spread_word(to + i, plane, from, at + i, lag);
}

static void gather_word(uint8_t *to, const uint8_t *from, size_t plane, size_t lag)
{
	uint32_t w = 0;

	for (int byte = 0; byte < 4; byte++)
		w |= (uint32_t)from[byte * plane] << 8 * byte;
	tf_put32(to, lag ? tf_unzigzag32(w) : w);
}

static void gather_group(uint8_t *to, const uint8_t *from, size_t plane, size_t lag)
{
	__m128i r[4];

	for (size_t byte = 0; byte < 4; byte++)
		r[byte] = load(from + byte * plane);
	rotate(r);
	rotate(r);
	for (size_t i = 0; i < 4; i++)
		store(to + 16 * i, lag ? unzigzag4(r[i]) : r[i]);
}

/* Differences become words. */
static void add_up(uint8_t *to, size_t at, size_t n, size_t lag)
{
	for (size_t i = at < lag ? lag - at : 0; i < n; i++) {
		uint8_t *w = to + 4 * (at + i);

		tf_put32(w, tf_get32(w) + tf_get32(w - 4 * lag));
	}
}

static void gather_block(uint8_t *to, const uint8_t *from, size_t plane, size_t at, size_t n, size_t lag)
{
	size_t i = 0;

	for (; i + GROUP <= n; i += GROUP)
		gather_group(to + 4 * (at + i), from + i, plane, lag);
	for (; i < n; i++)
		gather_word(to + 4 * (at + i), from + i, plane, lag);
	if (lag)
		add_up(to, at, n, lag);
}

static size_t block_at(size_t at, size_t words)
{
	return words - at < MT_WORDS_BLOCK ? words - at : MT_WORDS_BLOCK;
}

void mt_words_spread(uint8_t *to, const uint8_t *from, size_t bytes, struct mt_words_lag *lag, struct mt_parts *parts)
{
	size_t words = bytes / 4, front = mt_words_size(bytes) - bytes;
	uint8_t *lags = to, *body = to + front;

	for (size_t at = 0; at < words; at += MT_WORDS_BLOCK) {
		size_t n = block_at(at, words);

		choose_lag(lag, from, at, n);
		*lags++ = lag->words;
		spread_block(body + at, words, from, at, n, lag->words);
	}
	memcpy(body + 4 * words, from + 4 * words, bytes % 4);
	mt_parts_add(parts, front + words);
	mt_parts_add(parts, words);
	mt_parts_add(parts, words);
	mt_parts_add(parts, words + bytes % 4);
}

bool mt_words_gather(uint8_t *to, size_t bytes, const uint8_t *from)
{
	size_t words = bytes / 4;
	const uint8_t *lags = from, *body = from + (mt_words_size(bytes) - bytes);

	for (size_t at = 0; at < words; at += MT_WORDS_BLOCK) {
		size_t lag = *lags++;

		if (lag > MT_WORDS_LAG)
			return false;
		gather_block(to, body + at, words, at, block_at(at, words), lag);
	}
	memcpy(to + 4 * words, body + 4 * words, bytes % 4);
	return true;
}
