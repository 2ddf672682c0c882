// SPDX-License-Identifier: GPL-3.0-or-later
/* What a budget decides: whose calls are counted, whose are recorded again, and when all are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launcher/collect/budget.h"

enum { RARE, WARM, HOT, HOTTER, FUNCTIONS };

/* 10 ms, a call costs 50 ns: of 5 %, half is for calls, 250 us, that is 5000 of them. */
static const struct budget_window window = { .now = 1000000000, .plain = 10e6, .call = 50 };

static struct budget begin(void)
{
	struct budget b;

	budget_begin(&b, 0.05);
	assert_true(budget_functions(&b, FUNCTIONS));
	return b;
}

static void decide(struct budget *b, struct budget_window w, const uint64_t calls[FUNCTIONS])
{
	for (int i = 0; i < FUNCTIONS; i++)
		b->fn[i].calls = calls[i];
	assert_true(budget_decide(b, &w));
}

static void what_fits_is_recorded(void **state)
{
	struct budget b = begin();

	(void)state;
	decide(&b, window, (const uint64_t[]){ 1000, 1000, 1500, 1500 });
	assert_int_equal(b.nchanged, 0);
	budget_end(&b);
}

static void the_hottest_are_counted(void **state)
{
	struct budget b = begin();

	(void)state;
	decide(&b, window, (const uint64_t[]){ 10, 2000, 4000, 100000 });
	assert_int_equal(b.nchanged, 2);
	assert_int_equal(b.changed[0], HOTTER);
	assert_int_equal(b.changed[1], HOT);
	assert_true(b.fn[HOTTER].counted && b.fn[HOT].counted);
	assert_false(b.fn[WARM].counted || b.fn[RARE].counted);
	budget_end(&b);
}

/* Recording took all of the window, as far as is known: half of that CPU time is taken for the program's. */
static void half_of_a_window_is_the_programs(void **state)
{
	struct budget_window w = window;
	struct budget b = begin();

	(void)state;
	w.plain = 0;
	w.cpu = 20e6;
	decide(&b, w, (const uint64_t[]){ 1000, 1000, 1500, 1500 });
	assert_int_equal(b.nchanged, 0);
	w.spent = 0.6e6; /* of 0.5 ms */
	decide(&b, w, (const uint64_t[]){ 10, 2000, 4000, 100000 });
	assert_int_equal(b.nchanged, 2);
	assert_false(budget_wants_burst(&b));
	w.spent = 0.3e6;
	decide(&b, w, (const uint64_t[]){ 10, 2000, 4000, 100000 });
	assert_true(budget_wants_burst(&b));
	budget_end(&b);
}

static void one_that_is_rare_is_recorded_again(void **state)
{
	struct budget_window later = window;
	struct budget b = begin();

	(void)state;
	decide(&b, window, (const uint64_t[]){ 10, 10, 100000, 200000 });
	assert_int_equal(b.nchanged, 2);
	/* not at once */
	later.now += 1000000;
	decide(&b, later, (const uint64_t[]){ 10, 10, 100, 200000 });
	assert_int_equal(b.nchanged, 0);
	later.now += 1000000000;
	decide(&b, later, (const uint64_t[]){ 10, 10, 100, 200000 });
	assert_int_equal(b.nchanged, 1);
	assert_int_equal(b.changed[0], HOT);
	assert_false(b.fn[HOT].counted);
	assert_true(b.fn[HOTTER].counted);
	budget_end(&b);
}

/* It is counted for longer each time. */
static void one_that_changes_is_left_alone(void **state)
{
	struct budget_window w = window;
	struct budget b = begin();
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		decide(&b, w, (const uint64_t[]){ 0, 0, 0, 100000 });
		assert_true(b.fn[HOTTER].counted);
		assert_true(b.fn[HOTTER].again - w.now >= last);
		last = b.fn[HOTTER].again - w.now;
		w.now = b.fn[HOTTER].again;
		decide(&b, w, (const uint64_t[]){ 0, 0, 0, 10 });
		assert_false(b.fn[HOTTER].counted);
	}
	assert_in_range(last, UINT64_C(1000000000), UINT64_C(60000000000));
	budget_end(&b);
}

static void bursts_are_paid_for(void **state)
{
	struct budget_window w = window;
	struct budget b = begin();

	(void)state;
	assert_false(budget_wants_burst(&b));
	w.spent = 50e6; /* what was recorded before anything was known is given away */
	decide(&b, w, (const uint64_t[]){ 0, 0, 0, 1000000 });
	assert_true(budget_wants_burst(&b));
	w.spent = 1e6; /* of 0.5 ms */
	decide(&b, w, (const uint64_t[]){ 0, 0, 0, 1000000 });
	assert_false(budget_wants_burst(&b));
	w.spent = 0;
	decide(&b, w, (const uint64_t[]){ 0, 0, 0, 1000000 });
	assert_true(budget_wants_burst(&b));
	budget_end(&b);
}

static void bursts_differ(void **state)
{
	uint64_t least = UINT64_MAX, most = 0;
	struct budget b = begin();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t ns = budget_burst(&b);
		double chance = budget_chance(&b);

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
		assert_true(chance >= 0 && chance <= 1);
	}
	assert_in_range(least, 10000, 1000000);
	assert_true(most > least && most <= 5000000);
	budget_end(&b);
}

static void new_functions_are_recorded(void **state)
{
	struct budget b = begin();

	(void)state;
	decide(&b, window, (const uint64_t[]){ 0, 0, 0, 1000000 });
	assert_true(budget_functions(&b, FUNCTIONS + 1000));
	assert_true(b.fn[HOTTER].counted);
	for (int i = FUNCTIONS; i < FUNCTIONS + 1000; i++)
		assert_true(!b.fn[i].counted && !b.fn[i].calls);
	budget_end(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_recorded),
		cmocka_unit_test(the_hottest_are_counted),
		cmocka_unit_test(half_of_a_window_is_the_programs),
		cmocka_unit_test(one_that_is_rare_is_recorded_again),
		cmocka_unit_test(one_that_changes_is_left_alone),
		cmocka_unit_test(bursts_are_paid_for),
		cmocka_unit_test(bursts_differ),
		cmocka_unit_test(new_functions_are_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
