/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is told of sampled memory accesses (launcher/collect/sampler.c). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "launcher/collect/sampler.h"

#define MS 1000000
#define HZ 2e9

static const struct sample_times five = { .by = RING_SAMPLE_COST, .burst = 50000 };
static const struct sampler sampler = { .hz = HZ, .by = RING_SAMPLE_COST, .burst = 50000, .every = 2000000 };

/* A cycle of 1 ms that costs @cost, as a thread tells of it. */
static void cycle(struct ring_cost *c, int64_t cost, int64_t counting)
{
	int64_t x = cost / 1024, y = MS / 1024;

	c->cycles++;
	c->cost += cost;
	c->plain += MS;
	c->cost2 += x * x;
	c->both += x * y;
	c->plain2 += y * y;
	c->counting += counting;
}

static struct sonde_trace_sampled told(const struct ring_head *head, uint64_t now)
{
	struct sampled_sums sums = { 0 };

	sampled_add(&sums, &sampler, head, now);
	return sampled_result(&five, &sums);
}

static double half_of(const struct sonde_trace_sampled *s)
{
	return (double)s->cost_half_ns / (double)s->plain_ns;
}

/* 4 and 6 %: the standard error of n cycles is 1 % / sqrt(n - 1). */
static void interval(void **state)
{
	static const struct {
		unsigned int n;
		double t; /* tables of Student's distribution */
	} cases[] = { { 4, 3.182 }, { 10, 2.262 }, { 1000, 1.962 } };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct ring_head *head = calloc(1, sizeof(*head));
		struct sonde_trace_sampled s;
		double is = cases[i].t * 0.01 / sqrt(cases[i].n - 1);

		assert_non_null(head);
		for (unsigned int k = 0; k < cases[i].n; k++)
			cycle(&head->sample.cost, k % 2 ? 40000 : 60000, 0);
		s = told(head, 0);
		assert_in_range(s.cost_ns, cases[i].n * 50000 - 10, cases[i].n * 50000 + 10);
		if (fabs(half_of(&s) - is) > 0.06 * is) /* sums are of 1024 ns */
			fail_msg("%u cycles: %.4f instead of %.4f", cases[i].n, half_of(&s), is);
		free(head);
	}
}

static void too_few(void **state)
{
	struct ring_head *head = calloc(1, sizeof(*head));

	(void)state;
	assert_non_null(head);
	cycle(&head->sample.cost, 50000, 0);
	cycle(&head->sample.cost, 60000, 0);
	assert_int_equal(told(head, 0).plain_ns, 0);
	free(head);
}

/* What counting costs is not known better than that. */
static void counting(void **state)
{
	struct ring_head *head = calloc(1, sizeof(*head));
	struct sonde_trace_sampled s;

	(void)state;
	assert_non_null(head);
	for (unsigned int k = 0; k < 100; k++)
		cycle(&head->sample.cost, 50000, 20000);
	s = told(head, 0);
	assert_true(fabs(half_of(&s) - 0.02) < 0.001);
	free(head);
}

/* The last pause is not over, 6 ms behind its begin. */
static void open_pause(void **state)
{
	struct ring_head *head = calloc(1, sizeof(*head));
	struct sonde_trace_sampled s;

	(void)state;
	assert_non_null(head);
	for (unsigned int k = 0; k < 3; k++)
		cycle(&head->sample.cost, 50000, 0);
	head->sample.cost.open_cost = 70000;
	head->sample.cost.open_plain = MS;
	head->sample.free_began = 1000;
	head->sample.until = UINT64_C(1) << 40;
	s = told(head, 1000 + 12 * MS);
	assert_int_equal(s.plain_ns / 1000, 3000);
	head->sample.phase = RING_PHASE_OFF;
	s = told(head, 1000 + 12 * MS);
	assert_in_range(s.plain_ns, 10 * MS - 10, 10 * MS + 10);
	assert_in_range(s.cost_ns, 219990, 220010);
	free(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interval),
		cmocka_unit_test(too_few),
		cmocka_unit_test(counting),
		cmocka_unit_test(open_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
