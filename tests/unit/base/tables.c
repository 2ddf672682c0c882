/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays, binary search and hash tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

#define N 1000

static void arrays(void **state)
{
	uint32_t room = 0;
	uint8_t few = 200;
	char *none = NULL;
	size_t *v = NULL;

	(void)state;
	for (size_t n = 0; n < N; n++) {
		assert_true(array_room(v, room, n + 1));
		assert_true(room > n && room <= 2 * n + 16);
		v[n] = n;
		for (size_t i = 0; i <= n; i++)
			assert_int_equal(v[i], i);
	}
	assert_false(array_room(v, room, (size_t)UINT32_MAX + 1));
	assert_false(array_room(none, few, 201)); /* 400 are more than it can say */
	assert_null(none);
	assert_int_equal(few, 200);
	free(v);
}

static void searches(void **state)
{
	int v[40];

	(void)state;
	for (size_t n = 0; n <= 40; n++) {
		for (size_t i = 0; i < n; i++)
			v[i] = 2 * (int)i;
		for (int key = -1; key <= 2 * (int)n; key++) {
			size_t at = search_first(i, n, v[i] >= key), after = search_first(i, n, v[i] > key);

			assert_int_equal(at, (key + 1) / 2 < (int)n ? (size_t)(key + 1) / 2 : n);
			assert_int_equal(after - at, key >= 0 && key % 2 == 0 && key / 2 < (int)n);
		}
	}
}

static uint64_t *slot_of(uint64_t *table, size_t room, uint64_t hash, uint64_t key)
{
	return &table[hash_slot(i, room, hash, !table[i] || table[i] == key)];
}

static uint64_t same(uint64_t key)
{
	return key % 3; /* most of them collide */
}

static void finds_what_was_put(uint64_t (*hash)(uint64_t))
{
	size_t room = hash_room(N);
	uint64_t *table = calloc(room, sizeof(*table));

	assert_non_null(table);
	assert_int_equal(room & (room - 1), 0);
	assert_true(room >= 2 * N);
	for (uint64_t key = 1; key <= N; key++) {
		uint64_t *slot = slot_of(table, room, hash(key), key);

		assert_int_equal(*slot, 0);
		*slot = key;
	}
	for (uint64_t key = 1; key <= N; key++)
		assert_int_equal(*slot_of(table, room, hash(key), key), key);
	assert_int_equal(*slot_of(table, room, hash(N + 1), N + 1), 0);
	free(table);
}

static void tables(void **state)
{
	(void)state;
	finds_what_was_put(hash_word);
	finds_what_was_put(same);
	assert_int_equal(hash_next(15, 16), 0);
}

static void grows(void **state)
{
	uint64_t *table = NULL, *before;
	size_t room = 0;

	(void)state;
	for (size_t n = 1; n <= N; n++) {
		before = table;
		assert_true(hash_grow(table, room, n, old, *old, slot_of(table, room, same(*old), *old)));
		assert_true(room >= 2 * n && (room & (room - 1)) == 0);
		assert_int_equal(*slot_of(table, room, same(n), n), 0);
		*slot_of(table, room, same(n), n) = n;
		for (uint64_t key = 1; table != before && key <= n; key++)
			assert_int_equal(*slot_of(table, room, same(key), key), key);
	}
	free(table);
}

static void bytes(void **state)
{
	static const char text[] = "the quick brown fox jumps over the lazy dog";
	char copy[sizeof(text) + 1];

	(void)state;
	memcpy(copy + 1, text, sizeof(text)); /* not aligned */
	for (size_t n = 0; n < sizeof(text); n++) {
		assert_true(hash_bytes(text, n) == hash_bytes(copy + 1, n));
		for (size_t k = 0; k < n; k++) {
			copy[1 + k] ^= 1;
			assert_true(hash_bytes(text, n) != hash_bytes(copy + 1, n));
			copy[1 + k] ^= 1;
		}
		assert_true(hash_bytes(text, n) != hash_bytes(text, n + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays),
		cmocka_unit_test(searches),
		cmocka_unit_test(tables),
		cmocka_unit_test(grows),
		cmocka_unit_test(bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
