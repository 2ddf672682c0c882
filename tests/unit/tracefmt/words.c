// SPDX-License-Identifier: GPL-3.0-or-later
/* Words of memory streams, rearranged and back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tracefmt/format.h"
#include "memtrace/pack/index.h"
#include "memtrace/pack/words.h"

#define BYTES (5 * MT_WORDS_BLOCK * 4)

static uint32_t words[BYTES / 4];
static uint8_t spread[2 * BYTES], scratch[2 * BYTES], back[BYTES + 64];
static struct mt_words_lag carried;

/* All of it, in parts. */
static void check_parts(const struct mt_parts *parts, unsigned int n, size_t size)
{
	size_t begin = 0;

	assert_int_equal(parts->n, n);
	for (unsigned int i = 0; i < n; begin = parts->end[i++])
		assert_true(parts->end[i] >= begin);
	assert_int_equal(begin, size);
}

static void there_and_back(size_t bytes)
{
	size_t size = mt_words_size(bytes);
	struct mt_parts parts = { 0 };

	memset(spread, 0xa5, sizeof(spread));
	memset(back, 0xa5, sizeof(back));
	mt_words_spread(spread, (const uint8_t *)words, bytes, &carried, &parts);
	check_parts(&parts, 4, size);
	assert_int_equal(spread[size], 0xa5);
	assert_true(mt_words_gather(back, bytes, spread));
	assert_memory_equal(back, words, bytes);
	assert_int_equal(back[bytes], 0xa5);
}

/* Periods, with jumps, of some more or fewer words than whole blocks. */
static void test_round_trip(void **state)
{
	(void)state;
	srandom(1);
	for (unsigned int period = 1; period <= 100; period += period < 5 ? 1 : 19) {
		size_t n = (size_t)random() % BYTES;

		for (size_t i = 0; i < BYTES / 4; i++)
			words[i] = i % period == 1 ? 0x77 :
				   i < period || random() % 50 == 0 ? (uint32_t)random() * 3 :
				   words[i - period] - (uint32_t)(i % 3);
		there_and_back(n);
		there_and_back(n / 64);
		there_and_back(BYTES - period % 5);
	}
	for (size_t n = 0; n < 20; n++)
		there_and_back(n);
}

static size_t not_zero(size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += spread[i] != 0;
	return n;
}

/* What repeats with a stride is nearly all zeros; what does not is not made more. */
static void test_finds_lag(void **state)
{
	(void)state;
	carried = (struct mt_words_lag){ 0 };
	for (size_t i = 0; i < BYTES / 4; i++)
		words[i] = i < 37 ? (uint32_t)random() : words[i - 37] + 1;
	there_and_back(BYTES);
	assert_int_equal(spread[2], 37);
	assert_true(not_zero(BYTES) < BYTES / 3);
	for (size_t i = 0; i < BYTES / 4; i++)
		words[i] = (uint32_t)random() & 0xffff;
	there_and_back(BYTES);
	assert_int_equal(spread[2], 0);
	assert_true(not_zero(BYTES) <= BYTES / 2 + 8);
}

static void test_refuses(void **state)
{
	(void)state;
	memset(spread, 0, sizeof(spread));
	assert_true(mt_words_gather(back, BYTES, spread));
	spread[4] = MT_WORDS_LAG;
	assert_true(mt_words_gather(back, BYTES, spread));
	spread[4] = MT_WORDS_LAG + 1;
	assert_false(mt_words_gather(back, BYTES, spread));
}

/* ---- numbers for words ---- */

static struct mt_index_words known;

static size_t numbers_and_back(size_t bytes)
{
	struct mt_parts parts;
	size_t size;

	memset(spread, 0xa5, sizeof(spread));
	memset(back, 0xa5, sizeof(back));
	size = mt_index_make(spread, (const uint8_t *)words, bytes, scratch, &known, &carried, &parts);
	assert_true(size <= mt_index_bound(bytes));
	check_parts(&parts, 5, size);
	assert_int_equal(spread[size], 0xa5);
	memset(scratch, 0xa5, sizeof(scratch));
	assert_true(mt_index_undo(back, bytes, spread, size, scratch));
	assert_memory_equal(back, words, bytes);
	assert_int_equal(back[bytes], 0xa5);
	return size;
}

/* Few words, many, all the same, none twice; some of each. */
static void test_numbers(void **state)
{
	static const uint32_t kinds[] = { 1, 3, 200, 256, 1000, 0 };

	(void)state;
	srandom(2);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t i = 0; i < BYTES / 4; i++)
			words[i] = random() % 5 == 0 || !kinds[k] ? (uint32_t)random() :
				   (uint32_t)random() % kinds[k] * 0x10203;
		numbers_and_back(BYTES);
		for (size_t n = 0; n < 20; n++)
			numbers_and_back(n);
		for (int i = 0; i < 20; i++)
			numbers_and_back((size_t)random() % BYTES);
	}
}

/* What consists of few words is a byte for each. */
static void test_few_words(void **state)
{
	(void)state;
	known.n = 0;
	for (size_t i = 0; i < BYTES / 4; i++)
		words[i] = (uint32_t)(i * i % 251) * 0x1000193;
	assert_true(numbers_and_back(BYTES) < BYTES / 4 + 4 * MT_INDEX_WORDS + 100);
}

static void make_words(uint32_t from, unsigned int others)
{
	for (size_t i = 0; i < BYTES / 4; i++)
		words[i] = i % 100 < others ? (uint32_t)random() : from + (uint32_t)(i % 50);
}

/* The words are the same while they fit, and others when they do not. */
static void test_words_are_kept(void **state)
{
	struct mt_index_words before;

	(void)state;
	known.n = 0;
	make_words(1000, 10);
	numbers_and_back(BYTES);
	before = known;
	assert_true(before.n >= 50);
	assert_in_range(before.others, 90, 120);
	make_words(1000, 14);
	numbers_and_back(BYTES);
	assert_memory_equal(&known, &before, sizeof(known));
	make_words(2000, 10);
	assert_true(numbers_and_back(BYTES) > BYTES);
	assert_int_equal(known.n, 0);
	assert_true(numbers_and_back(BYTES) < BYTES / 2);
	assert_in_range(known.others, 90, 120);
}

/* A stream that changes its stride, and one whose differences do not get worse. */
static void test_lag_is_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < BYTES / 4; i++) {
		size_t lag = i < BYTES / 8 ? 7 : 11;

		words[i] = i < 20 ? (uint32_t)random() : words[i - lag] + (uint32_t)random() % 3000;
	}
	carried = (struct mt_words_lag){ 0 };
	there_and_back(BYTES);
	for (size_t block = 0; block < 5; block++)
		assert_int_equal(spread[block], block < 2 ? 7 : 11);
}

/* Where there is none, one is looked for more and more seldom; from the next chunk on, too. */
static void test_lag_is_looked_for(void **state)
{
	(void)state;
	carried = (struct mt_words_lag){ 0 };
	for (size_t i = 0; i < BYTES / 4; i++)
		words[i] = (uint32_t)random();
	there_and_back(BYTES);
	there_and_back(BYTES);
	for (size_t i = 20; i < BYTES / 4; i++)
		words[i] = words[i - 7] + (uint32_t)random() % 3000;
	there_and_back(BYTES);	/* looked for in blocks 0, 4, 12, 28 */
	for (size_t block = 0; block < 5; block++)
		assert_int_equal(spread[block], block < 2 ? 0 : 7);
	there_and_back(BYTES);
	assert_int_equal(spread[0], 7);
}

static void test_wrong_numbers(void **state)
{
	struct mt_parts parts;
	size_t size;

	(void)state;
	for (size_t i = 0; i < BYTES / 4; i++)
		words[i] = (uint32_t)(i % 100 ? i % 7 : i * 12345);
	known.n = 0;
	size = mt_index_make(spread, (const uint8_t *)words, BYTES, scratch, &known, &carried, &parts);
	assert_true(mt_index_undo(back, BYTES, spread, size, scratch));
	assert_false(mt_index_undo(back, BYTES, spread, size - 1, scratch));
	assert_false(mt_index_undo(back, BYTES - 4, spread, size, scratch));
	for (size_t at = 0; at < MT_INDEX_BEGIN; at++) {	/* how many of each there are */
		spread[at] ^= 1;
		assert_false(mt_index_undo(back, BYTES, spread, size, scratch));
		spread[at] ^= 1;
	}
	/* a number that no word has; one word too few; one too many */
	assert_int_equal(tf_get32(spread), 7);
	for (size_t at = MT_INDEX_BEGIN + 4 * 7; at < MT_INDEX_BEGIN + 4 * 7 + 300; at++) {
		uint8_t was = spread[at];

		spread[at] = was == MT_INDEX_OTHER ? 0 : MT_INDEX_OTHER;
		assert_false(mt_index_undo(back, BYTES, spread, size, scratch));
		spread[at] = 7;
		assert_false(mt_index_undo(back, BYTES, spread, size, scratch));
		spread[at] = was;
	}
	for (size_t n = 0; n < MT_INDEX_BEGIN; n++)
		assert_false(mt_index_undo(back, 0, spread, n, scratch));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_finds_lag),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_few_words),
		cmocka_unit_test(test_words_are_kept),
		cmocka_unit_test(test_lag_is_kept),
		cmocka_unit_test(test_lag_is_looked_for),
		cmocka_unit_test(test_wrong_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
