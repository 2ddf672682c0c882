/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "tracefmt/format.h"
#include "tracefmt/memoryindex.h"
#include "tracefmt/memorywords.h"

enum {
	SLOTS_LOG = 12, SLOTS = 1 << SLOTS_LOG,
	STEP = 4,		/* one of so many words is counted */
	SELDOM = 4096,		/* a word that is seen less than once in so many is none to have a number */
};

struct counted {
	uint32_t word, times;
};

struct slot {
	uint32_t word;
	uint8_t number;
};

static uint32_t word(const uint8_t *from, size_t i)
{
	uint32_t w;

	memcpy(&w, from + 4 * i, 4);
	return w;
}

static uint32_t slot_of(uint32_t w)
{
	return w * UINT32_C(0x9e3779b1) >> (32 - SLOTS_LOG);
}

/* In each slot the word that is seen most often, if that is half of the time (Boyer and Moore, 1981). */
static void count(struct counted *v, const uint8_t *from, size_t words)
{
	memset(v, 0, SLOTS * sizeof(*v));
	for (size_t i = 0; i < words; i += STEP) {
		uint32_t w = word(from, i);
		struct counted *c = &v[slot_of(w)];

		if (c->word == w)
			c->times++;
		else if (c->times <= 1)
			*c = (struct counted){ .word = w, .times = 1 };
		else
			c->times--;
	}
}

static int by_times(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if (x->times != y->times)
		return x->times < y->times ? 1 : -1;
	return (x->word > y->word) - (x->word < y->word);
}

/* The words that get a number, to the front of @v. */
static uint32_t choose(struct counted *v, size_t words)
{
	uint32_t n = 0, least = (uint32_t)(words / STEP / SELDOM) + 2;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (v[i].times >= least)
			v[n++] = v[i];
	}
	qsort(v, n, sizeof(*v), by_times);
	return n < TF_INDEX_WORDS ? n : TF_INDEX_WORDS;
}

static void number(struct slot *slots, const struct counted *v, uint32_t n)
{
	memset(slots, 0, SLOTS * sizeof(*slots));
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i].number = TF_INDEX_OTHER;
	for (uint32_t i = 0; i < n; i++)
		slots[slot_of(v[i].word)] = (struct slot){ .word = v[i].word, .number = (uint8_t)i };
}

size_t tf_index_bound(size_t bytes)
{
	return TF_INDEX_BEGIN + 4 * TF_INDEX_WORDS + bytes / 4 + tf_words_size(bytes);
}

/* The others go to @others; says how many there are. */
static size_t put_numbers(uint8_t *to, uint8_t *others, const uint8_t *from, size_t words, const struct slot *slots)
{
	size_t n = 0;

	for (size_t i = 0; i < words; i++) {
		uint32_t w = word(from, i);
		const struct slot *s = &slots[slot_of(w)];

		to[i] = s->word == w ? s->number : TF_INDEX_OTHER;
		memcpy(others + 4 * n, &w, 4);
		n += to[i] == TF_INDEX_OTHER;
	}
	return n;
}

size_t tf_index_make(uint8_t *to, const uint8_t *from, size_t bytes, uint8_t *scratch)
{
	size_t words = bytes / 4, others;
	struct slot slots[SLOTS];
	struct counted v[SLOTS];
	uint8_t *at = to + TF_INDEX_BEGIN;
	uint32_t n;

	count(v, from, words);
	n = choose(v, words);
	number(slots, v, n);
	for (uint32_t i = 0; i < n; i++, at += 4)
		tf_put32(at, v[i].word);
	others = put_numbers(at, scratch, from, words, slots);
	at += words;
	memcpy(scratch + 4 * others, from + 4 * words, bytes % 4);
	tf_put32(to, n);
	tf_put32(to + 4, (uint32_t)others);
	tf_words_spread(at, scratch, 4 * others + bytes % 4);
	return (size_t)(at - to) + tf_words_size(4 * others + bytes % 4);
}

static bool put_words(uint8_t *to, size_t words, const uint8_t *numbers, const uint32_t *known, uint32_t nknown,
		      const uint8_t *others, size_t nothers)
{
	bool bad = false;

	for (size_t i = 0; i < words; i++) {
		uint8_t k = numbers[i];

		if (k != TF_INDEX_OTHER) {
			bad |= k >= nknown;
			memcpy(to + 4 * i, &known[k], 4);
			continue;
		}
		if (!nothers--)
			return false;
		memcpy(to + 4 * i, others, 4);
		others += 4;
	}
	return !bad && nothers == 0;
}

bool tf_index_undo(uint8_t *to, size_t bytes, const uint8_t *from, size_t size, uint8_t *scratch)
{
	size_t words = bytes / 4, front, nothers;
	uint32_t known[256] = { 0 }, n;
	const uint8_t *numbers;

	if (size < TF_INDEX_BEGIN)
		return false;
	n = tf_get32(from);
	nothers = tf_get32(from + 4);
	front = TF_INDEX_BEGIN + 4 * (size_t)n + words;
	if (n > TF_INDEX_WORDS || nothers > words || size != front + tf_words_size(4 * nothers + bytes % 4))
		return false;
	for (uint32_t i = 0; i < n; i++)
		known[i] = tf_get32(from + TF_INDEX_BEGIN + 4 * i);
	numbers = from + TF_INDEX_BEGIN + 4 * n;
	if (!tf_words_gather(scratch, 4 * nothers + bytes % 4, from + front) ||
	    !put_words(to, words, numbers, known, n, scratch, nothers))
		return false;
	memcpy(to + 4 * words, scratch + 4 * nothers, bytes % 4);
	return true;
}
