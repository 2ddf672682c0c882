// SPDX-License-Identifier: GPL-3.0-or-later
/* analysis/names/layout.h: this program's own types, against what the compiler makes of the same types without a member. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>

#include "analysis/names/layout.h"
#include "tests/unit/analysis/self.h"

#define N 7

struct inner {
	char c;
	double d;
};

struct thing {
	char tag;
	double x;
	short s;
	struct inner in[2];
	int n;
	char end;
};

struct thing_without_x {
	char tag;
	short s;
	struct inner in[2];
	int n;
	char end;
};

struct inner_without_d {
	char c;
};

struct thing_without_d {
	char tag;
	double x;
	short s;
	struct inner_without_d in[2];
	int n;
	char end;
};

struct aligned {
	long a;
	char b;
	long c;
} __attribute__((aligned(32)));

struct packed {
	char a;
	long b;
	short c;
	long d;
} __attribute__((packed));

struct bits {
	unsigned int one : 3, two : 7;
	int all;
	long more;
};

struct thing things[N];
struct thing single;
struct aligned aligneds[N];
struct packed packeds[N];
struct bits bitses[N];
struct thing table[3][5];
union {
	struct thing t;
	char text[8];
} either;

static struct nm_layout *layout(struct nm *nm, const void *data, struct nm_change *c)
{
	struct nm_layout *l;
	struct nm_place place;

	assert_true(nm_find_static(nm, (uint64_t)(uintptr_t)data, 1, &place));
	assert_int_equal(place.begin, (uint64_t)(uintptr_t)data);
	assert_true(nm_layout_new(nm, place.name->variable, c, 1, &l));
	return l;
}

static struct nm_change split(const char *type, const char *member)
{
	return (struct nm_change){ .what = NM_SPLIT, .type = type, .member = member };
}

/* All of it goes somewhere, nothing to the same place, and back to where it was. */
static void check_all(const struct nm_layout *l, uint64_t size)
{
	for (uint64_t at = 0; at < size; at++) {
		const struct nm_moved to = nm_layout_move(l, size, at);

		assert_true(to.bytes >= 1);
		if (to.array == NM_PADDING)
			continue;
		assert_int_equal(nm_layout_back(l, size, to.array, to.offset), at);
		assert_true(to.offset < (to.array ? nm_layout_array_bytes(l, size, to.array) : nm_layout_bytes(l, size)));
		for (uint64_t k = 1; k < to.bytes; k++) {
			const struct nm_moved next = nm_layout_move(l, size, at + k);

			assert_int_equal(next.array, to.array);
			assert_int_equal(next.offset, to.offset + k);
			assert_int_equal(next.bytes, to.bytes - k);
		}
	}
}

static void moves(const struct nm_layout *l, uint64_t size, uint64_t from, uint32_t array, uint64_t to)
{
	const struct nm_moved m = nm_layout_move(l, size, from);

	assert_int_equal(m.array, array);
	assert_int_equal(m.offset, to);
}

static void test_split(void **state)
{
	struct nm_change c = split("thing", "x");
	struct nm_layout *l = layout(*state, things, &c);

	assert_non_null(l);
	assert_true(c.done && c.has_type);
	assert_int_equal(nm_layout_bytes(l, sizeof(things)), N * sizeof(struct thing_without_x));
	assert_int_equal(nm_layout_arrays(l), 1);
	assert_int_equal(nm_layout_array_bytes(l, sizeof(things), 1), N * sizeof(double));
	for (uint64_t i = 0; i < N; i++) {
		const uint64_t old = i * sizeof(struct thing), new = i * sizeof(struct thing_without_x);

		moves(l, sizeof(things), old + offsetof(struct thing, x) + 3, 1, i * sizeof(double) + 3);
		moves(l, sizeof(things), old + offsetof(struct thing, tag), 0, new + offsetof(struct thing_without_x, tag));
		moves(l, sizeof(things), old + offsetof(struct thing, s), 0, new + offsetof(struct thing_without_x, s));
		moves(l, sizeof(things), old + offsetof(struct thing, in[1].d), 0, new + offsetof(struct thing_without_x, in[1].d));
		moves(l, sizeof(things), old + offsetof(struct thing, n), 0, new + offsetof(struct thing_without_x, n));
		moves(l, sizeof(things), old + offsetof(struct thing, end), 0, new + offsetof(struct thing_without_x, end));
	}
	check_all(l, sizeof(things));
	nm_layout_free(l);
}

static void test_nested(void **state)
{
	struct nm_change c = split("struct inner", "d");
	struct nm_layout *l = layout(*state, things, &c);

	assert_non_null(l);
	assert_int_equal(nm_layout_bytes(l, sizeof(things)), N * sizeof(struct thing_without_d));
	assert_int_equal(nm_layout_array_bytes(l, sizeof(things), 1), 2 * N * sizeof(double));
	for (uint64_t i = 0; i < N; i++) {
		const uint64_t old = i * sizeof(struct thing), new = i * sizeof(struct thing_without_d);

		moves(l, sizeof(things), old + offsetof(struct thing, in[1].d), 1, (2 * i + 1) * sizeof(double));
		moves(l, sizeof(things), old + offsetof(struct thing, in[1].c), 0, new + offsetof(struct thing_without_d, in[1].c));
		moves(l, sizeof(things), old + offsetof(struct thing, n), 0, new + offsetof(struct thing_without_d, n));
	}
	check_all(l, sizeof(things));
	nm_layout_free(l);
	l = layout(*state, &single, &c);
	moves(l, sizeof(single), offsetof(struct thing, in[1].d), 1, sizeof(double));
	check_all(l, sizeof(single));
	nm_layout_free(l);
	l = layout(*state, table, &c);
	moves(l, sizeof(table), 7 * sizeof(struct thing) + offsetof(struct thing, in[0].d), 1, 14 * sizeof(double));
	check_all(l, sizeof(table));
	nm_layout_free(l);
}

static void test_soa(void **state)
{
	struct arrays {
		char tag[N];
		double x[N];
		short s[N];
		struct inner in[N][2];
		int n[N];
		char end[N];
	};
	struct nm_change c = { .what = NM_SOA, .type = "thing" };
	struct nm_layout *l = layout(*state, things, &c);

	assert_non_null(l);
	assert_true(c.done);
	assert_int_equal(nm_layout_bytes(l, sizeof(things)), sizeof(struct arrays));
	for (uint64_t i = 0; i < N; i++) {
		const uint64_t old = i * sizeof(struct thing);

		moves(l, sizeof(things), old + offsetof(struct thing, tag), 0, offsetof(struct arrays, tag) + i);
		moves(l, sizeof(things), old + offsetof(struct thing, x), 0, offsetof(struct arrays, x) + i * sizeof(double));
		moves(l, sizeof(things), old + offsetof(struct thing, s), 0, offsetof(struct arrays, s) + i * sizeof(short));
		moves(l, sizeof(things), old + offsetof(struct thing, in[1].d), 0,
		      offsetof(struct arrays, in) + i * 2 * sizeof(struct inner) + sizeof(struct inner) + offsetof(struct inner, d));
		moves(l, sizeof(things), old + offsetof(struct thing, end), 0, offsetof(struct arrays, end) + i);
	}
	check_all(l, sizeof(things));
	nm_layout_free(l);
	c.done = false;
	l = layout(*state, &single, &c);
	assert_null(l); /* no array of it */
	assert_true(c.has_type && !c.done);
}

static void test_odd(void **state)
{
	struct nm_change c = split("aligned", "b");
	struct nm_layout *l = layout(*state, aligneds, &c);

	assert_non_null(l);
	assert_int_equal(nm_layout_bytes(l, sizeof(aligneds)), N * 32);
	moves(l, sizeof(aligneds), 32 + offsetof(struct aligned, c), 0, 32 + sizeof(long));
	check_all(l, sizeof(aligneds));
	nm_layout_free(l);
	c = split("packed", "b");
	l = layout(*state, packeds, &c);
	assert_int_equal(nm_layout_bytes(l, sizeof(packeds)), N * (1 + 2 + 8));
	moves(l, sizeof(packeds), sizeof(struct packed) + offsetof(struct packed, d), 0, 11 + 3);
	check_all(l, sizeof(packeds));
	nm_layout_free(l);
	c = split("bits", "all");
	l = layout(*state, bitses, &c);
	moves(l, sizeof(bitses), offsetof(struct bits, more), 0, 8);
	check_all(l, sizeof(bitses));
	nm_layout_free(l);
	/* what has bytes in common with others is not taken out, nor what is in a union */
	c = split("bits", "one");
	assert_null(layout(*state, bitses, &c));
	assert_true(c.has_type && !c.done);
	c = split("thing", "x");
	assert_null(layout(*state, &either, &c));
	c = split("other", "x");
	assert_null(layout(*state, things, &c));
	assert_false(c.has_type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_split, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
		cmocka_unit_test_setup_teardown(test_soa, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
