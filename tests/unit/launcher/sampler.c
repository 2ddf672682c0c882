/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is reported of sampled memory accesses (launcher/collect/sampler.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launcher/collect/sampler.h"

#define MS 1000000
#define HZ 2e9
#define TICKS_OF_MS 2000000

static const struct sample_times five = { .by = RING_SAMPLE_COST, .burst = 50000 };
static const struct sampler sampler = { .hz = HZ, .by = RING_SAMPLE_COST, .burst = 50000, .every = TICKS_OF_MS };
static struct ring_head head;

static struct sonde_trace_sampled result(uint64_t now)
{
	struct sampled_sums sums = { 0 };

	sampled_add(&sums, &sampler, &head, now);
	return sampled_result(&five, &sums);
}

/* A thread of 100 ms; the phase that is not over has lasted for 6 ms. */
static void open_phases(void **state)
{
	struct sonde_trace_sampled s;

	(void)state;
	head = (struct ring_head){
		.first_tsc = 1000,
		.sample = {
			.bursts = 3, .on_ticks = 4 * TICKS_OF_MS, .cost = 3 * MS, .plain = 60 * MS,
			.began = 1000 + 94 * TICKS_OF_MS,
		},
	};
	s = result(1000 + 100 * TICKS_OF_MS);
	assert_int_equal(s.lived, 100 * TICKS_OF_MS);
	assert_int_equal(s.on, 4 * TICKS_OF_MS);
	assert_int_equal(s.cost_ns, 3 * MS);
	assert_int_equal(s.plain_ns, 60 * MS);
	head.sample.phase = RING_PHASE_ON;
	s = result(1000 + 100 * TICKS_OF_MS);
	assert_int_equal(s.on, 10 * TICKS_OF_MS);
	assert_int_equal(s.cost_ns, 9 * MS);
	head.sample.phase = RING_PHASE_OFF;
	s = result(1000 + 100 * TICKS_OF_MS);
	assert_int_equal(s.on, 4 * TICKS_OF_MS);
	assert_int_equal(s.plain_ns, 66 * MS);
}

/* A phase cannot have begun before the thread, nor later than now. */
static void damaged_times(void **state)
{
	(void)state;
	head = (struct ring_head){ .first_tsc = 1000, .sample = { .phase = RING_PHASE_ON } };
	assert_int_equal(result(3000).on, 0);
	head.sample.began = 5000;
	assert_int_equal(result(3000).on, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_phases),
		cmocka_unit_test(damaged_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
