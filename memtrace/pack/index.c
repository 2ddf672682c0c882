/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "tracefmt/format.h"
#include "memtrace/pack/index.h"
#include "memtrace/pack/words.h"

enum {
	SLOTS_LOG = 12, SLOTS = 1 << SLOTS_LOG,
	RUN = 64, STEP = 4,	/* so many words in a row are counted, of so many times as many */
	SELDOM = 4096,		/* a word that is seen less than once in so many is none to have a number */
	WORSE = 16,		/* words are chosen anew when one in so many more is not among them */
};

struct counted {
	uint32_t word, times;
};

/* By what slot_of() says. */
struct slots {
	uint32_t words[SLOTS];
	uint8_t numbers[SLOTS];
};

static uint32_t slot_of(uint32_t w)
{
	return w * UINT32_C(0x9e3779b1) >> (32 - SLOTS_LOG);
}

/* In each slot the word that is seen most often, if that is half of the time (Boyer and Moore, 1981). */
static void count(struct counted *v, const uint8_t *from, size_t words)
{
	memset(v, 0, SLOTS * sizeof(*v));
	for (size_t i = 0; i < words; i += (i + 1) % RUN ? 1 : (STEP - 1) * RUN + 1) {
		uint32_t w = tf_get32(from + 4 * i);
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

/* The words that get a number, each in another slot. */
static void choose(struct mt_index_words *known, const uint8_t *from, size_t words)
{
	struct counted v[SLOTS];
	uint32_t n = 0, least = (uint32_t)(words / STEP / SELDOM) + 2;

	count(v, from, words);
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (v[i].times >= least)
			v[n++] = v[i];
	}
	qsort(v, n, sizeof(*v), by_times);
	known->n = n < MT_INDEX_WORDS ? n : MT_INDEX_WORDS;
	for (uint32_t i = 0; i < known->n; i++)
		known->word[i] = v[i].word;
}

static void number(struct slots *slots, const struct mt_index_words *known)
{
	memset(slots->words, 0, sizeof(slots->words));
	memset(slots->numbers, MT_INDEX_OTHER, sizeof(slots->numbers));
	for (uint32_t i = 0; i < known->n; i++) {
		uint32_t slot = slot_of(known->word[i]);

		slots->words[slot] = known->word[i];
		slots->numbers[slot] = (uint8_t)i;
	}
}

size_t mt_index_bound(size_t bytes)
{
	return MT_INDEX_BEGIN + 4 * MT_INDEX_WORDS + bytes / 4 + mt_words_size(bytes);
}

/* The others go to @others; says how many there are. */
static size_t put_numbers(uint8_t *to, uint8_t *others, const uint8_t *from, size_t words, const struct slots *slots)
{
	size_t n = 0;

	for (size_t i = 0; i < words; i++) {
		uint32_t w = tf_get32(from + 4 * i), slot = slot_of(w);
		uint8_t k = slots->words[slot] == w ? slots->numbers[slot] : MT_INDEX_OTHER;

		to[i] = k;
		memcpy(others + 4 * n, &w, 4);
		n += k == MT_INDEX_OTHER;
	}
	return n;
}

/* Are they still the words to know?  @others of @words are not among them. */
static void judge(struct mt_index_words *known, bool chosen, size_t others, size_t words)
{
	uint32_t share = words ? (uint32_t)(others * MT_INDEX_SHARE / words) : 0;

	if (chosen)
		known->others = share;
	else if (share > known->others + MT_INDEX_SHARE / WORSE)
		known->n = 0;
}

size_t mt_index_make(uint8_t *to, const uint8_t *from, size_t bytes, uint8_t *scratch,
		     struct mt_index_words *known, struct mt_words_lag *lag, struct mt_parts *parts)
{
	size_t words = bytes / 4, others;
	bool chosen = known->n == 0;
	uint8_t *at = to + MT_INDEX_BEGIN;
	struct slots slots;
	uint32_t n;

	if (chosen)
		choose(known, from, words);
	n = known->n;
	number(&slots, known);
	for (uint32_t i = 0; i < n; i++, at += 4)
		tf_put32(at, known->word[i]);
	others = put_numbers(at, scratch, from, words, &slots);
	judge(known, chosen, others, words);
	at += words;
	memcpy(scratch + 4 * others, from + 4 * words, bytes % 4);
	tf_put32(to, n);
	tf_put32(to + 4, (uint32_t)others);
	*parts = (struct mt_parts){ 0 };
	mt_parts_add(parts, (size_t)(at - to));
	mt_words_spread(at, scratch, 4 * others + bytes % 4, lag, parts);
	return parts->end[parts->n - 1];
}

/* What a number stands for. */
enum { KNOWN = 0, OTHER = 1, WRONG = 2 };
struct meaning {
	uint32_t word, kind;
};

static void read_meanings(struct meaning *v, const uint8_t *known, uint32_t n)
{
	for (uint32_t i = 0; i < 256; i++) {
		v[i].kind = i < n ? KNOWN : i == MT_INDEX_OTHER ? OTHER : WRONG;
		v[i].word = i < n ? tf_get32(known + 4 * i) : 0;
	}
}

/* At most @words of @others are read, which has one more.  False: they are not @nothers, or a number is wrong. */
static bool put_words(uint8_t *to, size_t words, const uint8_t *numbers, const struct meaning *meanings,
		      const uint8_t *others, size_t nothers)
{
	uint32_t kinds = 0;
	size_t n = 0;

	for (size_t i = 0; i < words; i++) {
		const struct meaning m = meanings[numbers[i]];
		uint32_t w = tf_get32(others + 4 * n);

		w = m.kind ? w : m.word;
		memcpy(to + 4 * i, &w, 4);
		n += m.kind & OTHER;
		kinds |= m.kind;
	}
	return !(kinds & WRONG) && n == nothers;
}

bool mt_index_undo(uint8_t *to, size_t bytes, const uint8_t *from, size_t size, uint8_t *scratch)
{
	size_t words = bytes / 4, front, nothers;
	struct meaning meanings[256];
	uint32_t n;

	if (size < MT_INDEX_BEGIN)
		return false;
	n = tf_get32(from);
	nothers = tf_get32(from + 4);
	front = MT_INDEX_BEGIN + 4 * (size_t)n + words;
	if (n > MT_INDEX_WORDS || nothers > words || size != front + mt_words_size(4 * nothers + bytes % 4))
		return false;
	read_meanings(meanings, from + MT_INDEX_BEGIN, n);
	if (!mt_words_gather(scratch, 4 * nothers + bytes % 4, from + front) ||
	    !put_words(to, words, from + front - words, meanings, scratch, nothers))
		return false;
	memcpy(to + 4 * words, scratch + 4 * nothers, bytes % 4);
	return true;
}
