// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Bounds of invalidations and transfers: for few accesses of three cores, all orders that are possible are gone through, with the
 * states of the protocol (MESI).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "analysis/cache/order.h"
#include "analysis/cache/level.h"

#define CORES 3
#define MOST 4 /* accesses of a core */
#define ROUNDS 1500

enum state { INVALID, SHARED, EXCLUSIVE, MODIFIED };

struct made {
	uint64_t from, to;
	bool store;
};

struct all {
	struct made v[CORES][MOST];
	unsigned int n[CORES];
	struct cache_order_line got;
	uint64_t orders, least[2], most[2]; /* of invalidations, transfers, that were found */
};

static uint64_t state = 88172645463325252;

static uint64_t any(uint64_t below)
{
	return cache_random(&state) % below;
}

struct at {
	unsigned int done[CORES];
	enum state states[CORES];
	uint64_t time, counts[2];
};

static struct at access_by(struct at at, unsigned int core, bool store)
{
	const bool had = at.states[core] != INVALID;
	bool others = false;

	for (unsigned int c = 0; c < CORES; c++) {
		if (c == core || at.states[c] == INVALID)
			continue;
		others = true;
		at.counts[0] += store;
		at.counts[1] += at.states[c] == MODIFIED;
		if (store || !had)
			at.states[c] = store ? INVALID : SHARED;
	}
	if (store)
		at.states[core] = MODIFIED;
	else if (!had)
		at.states[core] = others ? SHARED : EXCLUSIVE;
	return at;
}

static void go_on(struct all *a, struct at at)
{
	bool over = true;

	for (unsigned int c = 0; c < CORES; c++) {
		const struct made *m = &a->v[c][at.done[c]];
		struct at next;

		if (at.done[c] == a->n[c])
			continue;
		over = false;
		if (m->to < at.time)
			continue; /* it was made before */
		next = access_by(at, c, m->store);
		next.done[c]++;
		next.time = m->from > at.time ? m->from : at.time;
		go_on(a, next);
	}
	if (!over)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		const struct cache_bounds *b = i ? &a->got.transfers : &a->got.invalidated;

		assert_in_range(at.counts[i], b->least, b->most);
		a->least[i] = !a->orders || at.counts[i] < a->least[i] ? at.counts[i] : a->least[i];
		a->most[i] = at.counts[i] > a->most[i] ? at.counts[i] : a->most[i];
	}
	a->orders++;
}

/* Returns whether the line is told. */
static bool take(struct all *a)
{
	struct cache_order *o = cache_order_new();
	bool told;

	assert_non_null(o);
	for (unsigned int c = 0; c < CORES; c++)
		for (unsigned int i = 0; i < a->n[c]; i++)
			assert_true(cache_order_take(o, c, 5, a->v[c][i].store, a->v[c][i].from, a->v[c][i].to));
	told = cache_order_line(o, 0, &a->got);
	assert_false(cache_order_line(o, 1, &a->got) && told);
	if (told)
		assert_true(cache_order_line(o, 0, &a->got));
	else
		memset(&a->got, 0, sizeof(a->got));
	cache_order_free(o);
	return told;
}

/* Chunks of a few accesses each, between times that go on by up to @step. */
static void make(struct all *a, uint64_t step)
{
	*a = (struct all){ 0 };
	for (unsigned int c = 0; c < CORES; c++) {
		uint64_t from = any(step), to = from + any(step);

		a->n[c] = any(8) ? (unsigned int)any(MOST + 1) : MOST;
		for (unsigned int i = 0; i < a->n[c]; i++) {
			if (any(2)) {
				from = to;
				to = from + any(step);
			}
			a->v[c][i] = (struct made){ .from = from, .to = to, .store = any(2) };
		}
	}
}

static void test_orders(void **unused)
{
	uint64_t exact = 0;

	(void)unused;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct all a;

		make(&a, 2 + any(30));
		take(&a);
		go_on(&a, (struct at){ 0 });
		assert_true(a.orders > 0);
		exact += a.least[0] == a.got.invalidated.least && a.most[0] == a.got.invalidated.most;
	}
	assert_true(exact > ROUNDS / 3);
}

/* Times that tell all. */
static void test_known(void **unused)
{
	(void)unused;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct all a = { 0 };

		for (uint64_t time = 1; time <= 10; time++) {
			const unsigned int c = (unsigned int)any(CORES);

			if (a.n[c] < MOST)
				a.v[c][a.n[c]++] = (struct made){ .from = 2 * time, .to = 2 * time, .store = any(3) == 0 };
		}
		take(&a);
		go_on(&a, (struct at){ 0 });
		assert_int_equal(a.orders, 1);
		assert_int_equal(a.got.invalidated.least, a.got.invalidated.most);
		assert_int_equal(a.got.transfers.least, a.got.transfers.most);
	}
}

/* More times than are kept of a line. */
static void test_many(void **unused)
{
	struct cache_order *o = cache_order_new();
	struct cache_order_line line;

	(void)unused;
	assert_non_null(o);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(cache_order_take(o, i & 1, 7, true, i, i));
	assert_true(cache_order_take(o, 0, 8, true, 5, 5)); /* one core's */
	assert_true(cache_order_line(o, 0, &line));
	assert_int_equal(line.line, 7);
	assert_int_equal(line.caches, 3);
	assert_int_equal(line.accesses, 1000);
	assert_in_range(999, line.invalidated.least, line.invalidated.most);
	assert_in_range(999, line.transfers.least, line.transfers.most);
	assert_true(line.invalidated.least > 100);
	assert_false(cache_order_line(o, 1, &line));
	cache_order_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
