// SPDX-License-Identifier: GPL-3.0-or-later
/* When windows are switched: a program that uses one processor, and whose bursts cost what they are made to. */
#include "launcher/collect/bursts.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#define MS 1000000

/* Time passes until the next switch, all of it used. */
static double run_to_switch(struct bursts *b, struct bursts_now *n)
{
	double from = n->cpu;
	int64_t wait;

	while ((wait = bursts_wait(b, n)) > 0) {
		n->now += wait;
		n->cpu += (double)wait;
	}
	return n->cpu - from;
}

static void pay(struct bursts *b, struct bursts_now *n, double price, double burst)
{
	n->cost += price + burst;
	bursts_switched(b, n, price, burst > 0);
}

static void a_short_program_is_left_alone(void **state)
{
	struct bursts_now n = { .now = 1000 * INT64_C(1000000000) };
	struct bursts b;

	(void)state;
	bursts_begin(&b, 0.05);
	assert_int_equal(b.state, BURSTS_FIRST);
	assert_true(run_to_switch(&b, &n) >= 20 * MS);
}

/* Also of bursts whose work is only done after them. */
static void the_share_is_kept(void **state)
{
	struct bursts_now n = { 0 };
	double began, spent;
	struct bursts b;

	(void)state;
	bursts_begin(&b, 0.05);
	(void)run_to_switch(&b, &n);
	pay(&b, &n, 0.3 * MS, 0);
	assert_int_equal(b.state, BURSTS_OFF);
	began = n.cpu;
	spent = n.cost;
	for (int i = 0; i < 50; i++) {
		(void)run_to_switch(&b, &n);
		pay(&b, &n, 0.3 * MS, 0);
		assert_int_equal(b.state, BURSTS_ON);
		assert_true(run_to_switch(&b, &n) >= 4 * MS);
		pay(&b, &n, 0.3 * MS, 3 * MS);
		n.cost += 2 * MS;
	}
	(void)run_to_switch(&b, &n);
	assert_true((n.cost - spent) / (n.cpu - began) < 0.05);
	assert_true((n.cost - spent) / (n.cpu - began) > 0.04);
}

static void dear_switches_make_long_bursts(void **state)
{
	double length[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		static const double prices[] = { 0.1 * MS, 1 * MS, 1000.0 * MS };
		struct bursts_now n = { 0 };
		struct bursts b;

		bursts_begin(&b, 0.05);
		(void)run_to_switch(&b, &n);
		pay(&b, &n, prices[i], 0);
		(void)run_to_switch(&b, &n);
		pay(&b, &n, prices[i], 0);
		length[i] = run_to_switch(&b, &n);
	}
	assert_true(length[0] < length[1] && length[1] < length[2]);
	assert_true(length[2] < 25 * MS);
}

/* Nobody uses CPU time: a burst is over some time nevertheless, a pause is not. */
static void idle_programs(void **state)
{
	struct bursts_now n = { .now = 1 };
	struct bursts b;

	(void)state;
	bursts_begin(&b, 0.05);
	(void)run_to_switch(&b, &n);
	pay(&b, &n, 0.3 * MS, 0);
	n.now += INT64_C(1000000000000);
	assert_true(bursts_wait(&b, &n) > 0);
	(void)run_to_switch(&b, &n);
	pay(&b, &n, 0.3 * MS, 0);
	assert_true(bursts_wait(&b, &n) > 0);
	n.now += 100 * MS;
	assert_int_equal(bursts_wait(&b, &n), 0);
}

static void empty_bursts_become_rare(void **state)
{
	struct bursts_now n = { 0 };
	double first = 0, pause = 0;
	struct bursts b;

	(void)state;
	bursts_begin(&b, 0.05);
	(void)run_to_switch(&b, &n);
	pay(&b, &n, 0.3 * MS, 0);
	for (int i = 0; i < 20; i++) {
		pause = run_to_switch(&b, &n);
		first = i ? first : pause;
		pay(&b, &n, 0.3 * MS, 0);
		(void)run_to_switch(&b, &n);
		pay(&b, &n, 0.3 * MS, 0);
	}
	assert_true(pause > 8 * first && pause < 100 * first);
	(void)run_to_switch(&b, &n);
	pay(&b, &n, 0.3 * MS, 0);
	(void)run_to_switch(&b, &n);
	pay(&b, &n, 0.3 * MS, 0.3 * MS);
	assert_true(run_to_switch(&b, &n) < pause / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_program_is_left_alone),
		cmocka_unit_test(the_share_is_kept),
		cmocka_unit_test(dear_switches_make_long_bursts),
		cmocka_unit_test(idle_programs),
		cmocka_unit_test(empty_bursts_become_rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
