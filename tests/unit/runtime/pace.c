/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long memory accesses are recorded (runtime/memory/mempace.c), in a thread whose CPU time is computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/memory/memory.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define PERCENT 10000

struct rt_config sonde_rt_config;
static struct ring_control control;
static struct ring_head head;
static struct rt_thread thread;
static uint64_t cpu;

uint64_t rt_cpu_clock(void)
{
	return cpu;
}

static void begin(uint64_t share)
{
	memset(&thread, 0, sizeof(thread));
	memset(&head, 0, sizeof(head));
	thread.ring = &head;
	control.sample_burst = share;
	sonde_rt_config.control = (uint64_t)&control;
	cpu = 12345 * US;
}

/* What is written in a burst, and how often the collector takes the burst's time for it. */
static uint64_t bytes_a_us;
static unsigned int packs;

static uint64_t bytes_of(uint64_t burst)
{
	return burst / US * bytes_a_us;
}

/* Of which the thread has the processor for one part in @parts of the time; returns the burst's CPU time. */
static uint64_t cycle(unsigned int overshoot, unsigned int parts)
{
	uint64_t burst = rt_pace_on(&thread) * overshoot, left;

	cpu += burst;
	thread.pace.bytes = bytes_of(burst);
	head.sample.packed += burst * packs;
	for (left = rt_pace_off(&thread); left; left = rt_pace_left(&thread))
		cpu += left / parts + 1;
	return burst;
}

static void check_share(uint64_t share, unsigned int overshoot, unsigned int parts)
{
	uint64_t began, in_bursts = 0, most, cost;

	begin(share);
	began = cpu;
	for (unsigned int i = 0; i < 100; i++)
		in_bursts += cycle(overshoot, parts);
	cost = head.sample.cost + head.sample.packed;
	most = (cpu - began - in_bursts) * share / 1000000;
	assert_in_range(cost, most - most / 100, most + US);
	assert_int_equal(head.sample.on_cpu, in_bursts);
	assert_int_equal(head.sample.off_cpu, cpu - began - in_bursts);
}

/* Of the CPU time of all bursts: what is taken for cost, in percent. */
static uint64_t percent(void)
{
	return (100 * head.sample.cost + head.sample.on_cpu / 2) / head.sample.on_cpu;
}

static void keeps_to_the_share(void **state)
{
	static const uint64_t shares[] = { PERCENT / 10, PERCENT, 5 * PERCENT, 30 * PERCENT, 100 * PERCENT };

	(void)state;
	for (unsigned int i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		check_share(shares[i], 1, 1);
		check_share(shares[i], 7, 1);	/* bursts end late */
		check_share(shares[i], 1, 10);	/* pauses end before the thread has run */
		packs = 3;
		check_share(shares[i], 1, 1);	/* the collector's work is the greater part */
		packs = 0;
	}
}

static void costs_what_is_written(void **state)
{
	(void)state;
	check_share(5 * PERCENT, 1, 1);
	assert_int_equal(percent(), 10);
	bytes_a_us = 1024;
	check_share(5 * PERCENT, 1, 1);
	assert_int_equal(percent(), 50);
	bytes_a_us = 10240;
	check_share(5 * PERCENT, 1, 1);
	assert_int_equal(percent(), 67);
	bytes_a_us = 0;
	begin(5 * PERCENT);
	thread.mem_here = 1;
	(void)cycle(1, 1);
	assert_int_equal(percent(), 100);
}

static void begins_with_short_bursts(void **state)
{
	(void)state;
	begin(50 * PERCENT);
	assert_int_equal(cycle(1, 1), 20 * US);
	assert_int_equal(cycle(1, 1), 40 * US);
	for (unsigned int i = 0; i < 20; i++)
		(void)cycle(1, 1);
	assert_int_equal(cycle(1, 1), 5 * MS);
}

/* A handler's return to code that records begins a burst before the pause is over: that is paid for later. */
static void pays_for_early_bursts(void **state)
{
	const uint64_t part = 10; /* of a burst that writes nothing is cost */
	uint64_t left;

	(void)state;
	begin(10 * PERCENT);
	cpu += rt_pace_on(&thread);
	assert_int_equal(rt_pace_off(&thread), 200 * US / part);
	cpu += 5 * US;
	cpu += rt_pace_on(&thread);
	left = rt_pace_off(&thread);
	assert_int_equal(left, 15 * US + 400 * US / part);
	cpu += left;
	assert_int_equal(rt_pace_left(&thread), 0);
}

/* What the thread does in the runtime without being switched is paid for, too. */
static void pays_for_visits(void **state)
{
	uint64_t left;

	(void)state;
	begin(10 * PERCENT);
	cpu += rt_pace_on(&thread);
	left = rt_pace_off(&thread);
	rt_pace_visit(&thread);
	assert_true(rt_pace_left(&thread) > left);
	assert_int_equal(head.sample.cost, 2 * US + 1 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_to_the_share),
		cmocka_unit_test(costs_what_is_written),
		cmocka_unit_test(begins_with_short_bursts),
		cmocka_unit_test(pays_for_early_bursts),
		cmocka_unit_test(pays_for_visits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
