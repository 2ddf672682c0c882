/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A page's time line: nothing is lost when short calls become one, and there are never more slices than there may be. */
#include "launcher/html/slices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { TRACKS = 3, DEPTHS = 4, LIMIT = 500 };

struct sums {
	uint64_t calls, busy;
};

static struct slice call(uint64_t start, uint64_t took, uint32_t name)
{
	return (struct slice){ .start = start, .end = start + took, .busy = took, .lead = took, .calls = 1, .name = name };
}

static void add(struct slices *s, size_t track, uint32_t depth, uint64_t start, uint64_t took, uint32_t name)
{
	const struct slice c = call(start, took, name);

	assert_true(slices_add(s, track, depth, &c));
	assert_true(s->n <= s->limit);
}

/* In order, none over another one, and what is in them. */
static struct sums check_row(const struct slice_row *row)
{
	struct sums sums = { 0 };
	uint64_t end = 0;

	for (size_t i = 0; i < row->n; i++) {
		const struct slice *v = &row->v[i];

		assert_true(v->start >= end && v->end >= v->start);
		assert_true(v->busy <= v->end - v->start && v->lead <= v->busy);
		end = v->end;
		sums.calls += v->calls;
		sums.busy += v->busy;
	}
	return sums;
}

static void all_that_fits_is_exact(void **state)
{
	struct slices s;

	(void)state;
	assert_true(slices_begin(&s, 1, 10, DEPTHS));
	for (uint32_t i = 0; i < 10; i++)
		add(&s, 0, 0, 10 * i, i % 5, i);
	assert_int_equal(s.shift, 0);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(s.track[0].row[0].v[i].start, 10 * i);
		assert_int_equal(s.track[0].row[0].v[i].calls, 1);
		assert_int_equal(s.track[0].row[0].v[i].name, i);
	}
	slices_free(&s);
}

static void nothing_is_lost(void **state)
{
	struct sums given[TRACKS][DEPTHS] = { 0 };
	struct slices s;
	uint64_t random = 1;

	(void)state;
	assert_true(slices_begin(&s, TRACKS, LIMIT, DEPTHS));
	for (size_t t = 0; t < TRACKS; t++) {
		uint64_t at = 0;

		for (int i = 0; i < 20000; i++) {
			uint64_t took;

			random = random * 6364136223846793005u + 1442695040888963407u;
			took = i % 1000 == 7 ? 1000000 : random >> 57;
			at += random >> 40 & 63;
			for (uint32_t d = 0; d < DEPTHS; d++) {
				add(&s, t, d, at, took, (uint32_t)(random >> 33 & 3));
				given[t][d].calls++;
				given[t][d].busy += took;
			}
			at += took;
		}
	}
	assert_true(s.shift > 0 && s.n > LIMIT / 8);
	for (size_t t = 0; t < TRACKS; t++) {
		for (uint32_t d = 0; d < DEPTHS; d++) {
			struct sums found = check_row(&s.track[t].row[d]);

			assert_int_equal(found.calls, given[t][d].calls);
			assert_int_equal(found.busy, given[t][d].busy);
		}
	}
	slices_free(&s);
}

/* A long one stays as it is; of the short ones the name that has most of the time is kept. */
static void names_of_most_time(void **state)
{
	struct slices s;
	const struct slice *v;

	(void)state;
	assert_true(slices_begin(&s, 1, 100, DEPTHS));
	add(&s, 0, 0, 0, 5, 1);
	add(&s, 0, 0, 6, 30, 2);
	add(&s, 0, 0, 40, 10, 3);
	add(&s, 0, 0, 64, 1000, 4);
	add(&s, 0, 0, 1100, 2, 5);
	add(&s, 0, 0, 1103, 2, 5);
	slices_reduce(&s, 3);
	assert_int_equal(s.shift, 6);
	v = s.track[0].row[0].v;
	assert_int_equal(v[0].calls, 3);
	assert_int_equal(v[0].name, 2);
	assert_true(v[0].lead < v[0].busy);
	assert_int_equal(v[1].calls, 1);
	assert_int_equal(v[1].end, 1064);
	assert_int_equal(v[2].name, 5);
	assert_int_equal(v[2].lead, v[2].busy);
	slices_free(&s);
}

/* Where even rows of one slice are too many, the deepest go. */
static void too_many_rows(void **state)
{
	struct slices s;

	(void)state;
	assert_true(slices_begin(&s, 8, 20, 16));
	for (size_t t = 0; t < 8; t++)
		for (uint32_t d = 0; d < 17; d++)
			add(&s, t, d, 100 * d, 10, 1);
	assert_int_equal(s.depths, 2);
	assert_int_equal(s.n + s.deeper, 8 * 17);
	slices_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_fits_is_exact),
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(names_of_most_time),
		cmocka_unit_test(too_many_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
