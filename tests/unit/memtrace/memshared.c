// SPDX-License-Identifier: GPL-3.0-or-later
/* How nodes are asked for in memory that others write to as well: memtrace/shared.h. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memtrace/shared.h"

enum { IDS = 5000, THREADS = 4, ROUNDS = 200000 };

static struct mt_asks asks;
static uint32_t taken[MT_WAITING];

static int begin(void **state)
{
	(void)state;
	memset(&asks, 0, sizeof(asks));
	return 0;
}

/* As often as it takes; says how often that is. */
static int ask(uint32_t id)
{
	int n = 1;

	while (!mt_warm(&asks, id))
		assert_true(++n < 1000);
	return n;
}

static bool found(uint32_t id, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (taken[i] == id)
			return true;
	return false;
}

static void test_one(void **state)
{
	(void)state;
	assert_false(mt_any(&asks));
	assert_int_equal(ask(7), MT_HOT + 1);
	assert_true(mt_any(&asks));
	for (int i = 0; i < 300; i++)
		assert_false(mt_warm(&asks, 7));
	assert_int_equal(mt_take(&asks, IDS, taken, MT_WAITING), 1);
	assert_int_equal(taken[0], 7);
	assert_false(mt_any(&asks));
	assert_int_equal(mt_take(&asks, IDS, taken, MT_WAITING), 0);
	for (int i = 0; i < 300; i++)
		assert_false(mt_warm(&asks, 7));
}

static void test_never(void **state)
{
	(void)state;
	mt_never(&asks, 9);
	for (int i = 0; i < 600; i++)
		assert_false(mt_warm(&asks, 9));
	assert_false(mt_any(&asks));
}

/* Where there is no place, it is asked for another time, and no other is lost. */
static void test_many(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (uint32_t id = 1; id < IDS; id++)
		for (int i = 0; i <= MT_HOT; i++)
			n += mt_warm(&asks, id);
	assert_true(n > MT_WAITING / 2 && n <= MT_WAITING);
	for (uint32_t id = 1, left = IDS - 1; left;) {
		uint32_t got = mt_take(&asks, IDS, taken, 32);

		assert_true(got <= 32 && got <= left);
		left -= got;
		assert_true(left == 0 || got || mt_any(&asks));
		for (uint32_t k = 0; k < IDS; k++, id = id % (IDS - 1) + 1)
			mt_warm(&asks, id);
	}
}

static void test_some_at_a_time(void **state)
{
	uint32_t n = 0;

	(void)state;
	for (uint32_t id = 1; id <= 40; id++)
		ask(id);
	while (mt_any(&asks)) {
		uint32_t got = mt_take(&asks, IDS, taken + n, 7);

		assert_true(got <= 7);
		n += got;
	}
	assert_int_equal(n, 40);
	for (uint32_t id = 1; id <= 40; id++)
		assert_true(found(id, n));
}

/* The program may have written anything there. */
static void test_nonsense(void **state)
{
	uint32_t n;

	(void)state;
	for (uint32_t i = 0; i < MT_WAITING; i++)
		asks.id[i] = i % 3 ? UINT32_MAX - i : i % 2 ? IDS : 0;
	memset(asks.heat, 0xa5, sizeof(asks.heat));
	asks.id[77] = IDS - 1;
	asks.new = UINT32_MAX;
	n = mt_take(&asks, IDS, taken, MT_WAITING);
	assert_int_equal(n, 1);
	assert_int_equal(taken[0], IDS - 1);
	assert_false(mt_any(&asks));
	assert_true(mt_warm(&asks, 3));
	assert_int_equal(mt_take(&asks, IDS, taken, MT_WAITING), 1);
	assert_int_equal(mt_take(&asks, IDS, taken, 0), 0);
}

/* ---- threads ---- */

static void *interpret(void *seed)
{
	uint64_t x = (uint64_t)(uintptr_t)seed;

	for (int i = 0; i < ROUNDS; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		mt_warm(&asks, 1 + (uint32_t)(x >> 33) % (IDS - 1));
	}
	return NULL;
}

/* Whoever has been asked for is found, whenever that was. */
static void test_threads(void **state)
{
	static uint8_t times[IDS];
	pthread_t threads[THREADS];
	uint32_t n;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, interpret, (void *)(i + 1)), 0);
	for (int visits = 0; visits < 100000; visits++) {
		n = mt_any(&asks) ? mt_take(&asks, IDS, taken, 32) : 0;
		for (uint32_t i = 0; i < n; i++)
			times[taken[i]] += times[taken[i]] < 200;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (mt_any(&asks)) {
		n = mt_take(&asks, IDS, taken, 32);
		for (uint32_t i = 0; i < n; i++)
			times[taken[i]] += times[taken[i]] < 200;
	}
	for (uint32_t id = 1; id < IDS; id++)
		assert_true(asks.heat[id] < MT_ASKED || times[id] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_one, begin),
		cmocka_unit_test_setup(test_never, begin),
		cmocka_unit_test_setup(test_many, begin),
		cmocka_unit_test_setup(test_some_at_a_time, begin),
		cmocka_unit_test_setup(test_nonsense, begin),
		cmocka_unit_test_setup(test_threads, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
