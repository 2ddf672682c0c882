/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "tracefmt/memorywords.h"

#define SAMPLE 256		/* words of a block that its lag is chosen by */
#define GOOD (SAMPLE / 4)	/* cost of a lag that no better one is looked for */
#define REST 3			/* blocks that none is looked for in, behind one that has none */

static uint32_t word(const uint8_t *from, size_t i)
{
	uint32_t w;

	memcpy(&w, from + 4 * i, 4);
	return w;
}

static void put_word(uint8_t *to, size_t i, uint32_t w)
{
	memcpy(to + 4 * i, &w, 4);
}

static uint32_t zigzag(uint32_t d)
{
	return d << 1 ^ (0 - (d >> 31));
}

static uint32_t unzigzag(uint32_t z)
{
	return z >> 1 ^ (0 - (z & 1));
}

/* ---- lags ---- */

/* Bytes of SAMPLE differences that are not zero; of words from @at on, which has @lag words in front of it. */
static unsigned int cost(const uint8_t *from, size_t at, size_t lag)
{
	const uint8_t *a = from + 4 * at, *b = a - 4 * lag;
	unsigned int sum = 0;

	for (size_t i = 0; i < SAMPLE; i++) {
		uint32_t z = lag ? zigzag(word(a, i) - word(b, i)) : word(a, i);

		sum += (z != 0) + (z >> 8 != 0) + (z >> 16 != 0) + (z >> 24 != 0);
	}
	return sum;
}

/* @hint: the lag of the block in front. */
static size_t choose_lag(const uint8_t *from, size_t at, size_t n, size_t hint)
{
	size_t middle = at + n / 2, best = 0;
	unsigned int least;

	if (n < 2 * SAMPLE)
		return hint;
	if (hint && cost(from, middle, hint) <= GOOD)
		return hint;
	/* by chance, one of many lags is always a little better than none */
	least = cost(from, middle, 0) / 8 * 7;
	for (size_t lag = 1; lag <= TF_WORDS_LAG; lag++) {
		unsigned int c = cost(from, middle, lag);

		if (c < least) {
			least = c;
			best = lag;
		}
	}
	return best;
}

/* ---- blocks ---- */

static void spread_block(uint8_t *to, const uint8_t *from, size_t at, size_t n, size_t lag)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t w = word(from, at + i);

		if (lag)
			w = zigzag(w - (at + i >= lag ? word(from, at + i - lag) : 0));
		to[i] = (uint8_t)w;
		to[n + i] = (uint8_t)(w >> 8);
		to[2 * n + i] = (uint8_t)(w >> 16);
		to[3 * n + i] = (uint8_t)(w >> 24);
	}
}

static void gather_block(uint8_t *to, const uint8_t *from, size_t at, size_t n, size_t lag)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t w = from[i] | (uint32_t)from[n + i] << 8 | (uint32_t)from[2 * n + i] << 16 |
			     (uint32_t)from[3 * n + i] << 24;

		if (lag)
			w = unzigzag(w) + (at + i >= lag ? word(to, at + i - lag) : 0);
		put_word(to, at + i, w);
	}
}

static size_t block_at(size_t at, size_t words)
{
	return words - at < TF_WORDS_BLOCK ? words - at : TF_WORDS_BLOCK;
}

void tf_words_spread(uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t words = bytes / 4, lag = 0, rest = 0;
	uint8_t *lags = to, *body = to + (tf_words_size(bytes) - bytes);

	for (size_t at = 0; at < words; at += TF_WORDS_BLOCK) {
		size_t n = block_at(at, words);

		if (rest) {
			rest--;
		} else {
			lag = choose_lag(from, at, n, lag);
			rest = lag ? 0 : REST;
		}
		*lags++ = (uint8_t)lag;
		spread_block(body + 4 * at, from, at, n, lag);
	}
	memcpy(body + 4 * words, from + 4 * words, bytes % 4);
}

bool tf_words_gather(uint8_t *to, size_t bytes, const uint8_t *from)
{
	size_t words = bytes / 4;
	const uint8_t *lags = from, *body = from + (tf_words_size(bytes) - bytes);

	for (size_t at = 0; at < words; at += TF_WORDS_BLOCK) {
		size_t lag = *lags++;

		if (lag > TF_WORDS_LAG)
			return false;
		gather_block(to, body + 4 * at, at, block_at(at, words), lag);
	}
	memcpy(to + 4 * words, body + 4 * words, bytes % 4);
	return true;
}
