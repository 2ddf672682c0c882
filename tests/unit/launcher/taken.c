/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the collector takes from threads (launcher/collect/taken.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/collect/taken.h"

#define MS UINT64_C(1000000)

static void parses(void **state)
{
	struct taken_times times;

	(void)state;
	assert_true(taken_parse("123456789012 34567 89\n", &times));
	assert_int_equal(times.ran, UINT64_C(123456789012));
	assert_int_equal(times.waited, 34567);
	assert_false(taken_parse("", &times));
	assert_false(taken_parse("12\n", &times));
	assert_false(taken_parse("x 1 2\n", &times));
}

/* A thread that had @ran and waited for @waited of the next 100 ms, while the collector worked for @worked. */
static uint64_t taken(struct taken *t, struct taken_all *all, uint64_t ran, uint64_t waited, uint64_t worked)
{
	struct taken_times times = { t->ran + ran, t->waited + waited };

	t->worked += worked;
	return taken_since(t, all, &times, t->at + 100 * MS);
}

static void begin(struct taken *t, struct taken_all *all)
{
	struct taken_times none = { 7 * MS, 3 * MS };

	*t = (struct taken){ 0 };
	assert_int_equal(taken_since(t, all, &none, 1000 * MS), 0);
}

static void no_more_than_either(void **state)
{
	struct taken_all all = { .cpus = 1 };
	struct taken t;

	(void)state;
	begin(&t, &all);
	assert_int_equal(taken(&t, &all, 100 * MS, 0, 30 * MS), 0);
	assert_int_equal(taken(&t, &all, 100 * MS, 40 * MS, 30 * MS), 30 * MS);
	assert_int_equal(taken(&t, &all, 100 * MS, 20 * MS, 30 * MS), 20 * MS);
	assert_int_equal(taken(&t, &all, 100 * MS, 20 * MS, 0), 0);
}

/* On two processors: one thread that has one, or two of them; then one that has a fifth, others the rest. */
static void its_part(void **state)
{
	struct taken_all all = { .cpus = 2 };
	struct taken a, b;

	(void)state;
	begin(&a, &all);
	assert_in_range(taken(&a, &all, 100 * MS, 50 * MS, 30 * MS), 15 * MS - 1, 15 * MS);
	begin(&b, &all);
	(void)taken(&b, &all, 100 * MS, 0, 0);
	assert_in_range(taken(&a, &all, 100 * MS, 50 * MS, 30 * MS), 30 * MS - 1, 30 * MS);
	taken_end(&b, &all);
	assert_in_range(taken(&a, &all, 20 * MS, 80 * MS, 30 * MS), 3 * MS - 1, 3 * MS);
	taken_end(&a, &all);
	assert_true(all.in_use > -1e-9 && all.in_use < 1e-9);
}

/* What the kernel tells of ourselves. */
static void looks(void **state)
{
	struct taken_all all = { 0 };
	struct taken t = { 0 };

	(void)state;
	assert_int_equal(taken_look(&t, &all, getpid(), getpid(), 1000 * MS), 0);
	if (access("/proc/self/schedstat", R_OK) != 0)
		skip();
	assert_true(all.cpus > 0);
	assert_int_equal(t.at, 1000 * MS);
	assert_int_equal(taken_look(&t, &all, getpid(), getpid(), 1010 * MS), 0);
	assert_int_equal(t.at, 1000 * MS);
	assert_int_equal(taken_look(&t, &all, -1, -1, 2000 * MS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses),
		cmocka_unit_test(no_more_than_either),
		cmocka_unit_test(its_part),
		cmocka_unit_test(looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
