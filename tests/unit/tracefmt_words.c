// SPDX-License-Identifier: GPL-3.0-or-later
/* Words of memory streams, rearranged and back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tracefmt/memorywords.h"

#define BYTES (5 * TF_WORDS_BLOCK * 4)

static uint32_t words[BYTES / 4];
static uint8_t spread[BYTES + 64], back[BYTES + 64];

static void there_and_back(size_t bytes)
{
	size_t size = tf_words_size(bytes);

	memset(spread, 0xa5, sizeof(spread));
	memset(back, 0xa5, sizeof(back));
	tf_words_spread(spread, (const uint8_t *)words, bytes);
	assert_int_equal(spread[size], 0xa5);
	assert_true(tf_words_gather(back, bytes, spread));
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
	assert_true(tf_words_gather(back, BYTES, spread));
	spread[4] = TF_WORDS_LAG;
	assert_true(tf_words_gather(back, BYTES, spread));
	spread[4] = TF_WORDS_LAG + 1;
	assert_false(tf_words_gather(back, BYTES, spread));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_finds_lag),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
