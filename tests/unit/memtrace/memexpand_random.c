// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The machine that expands memory streams, on random descriptions: loops that can be computed in closed form, and
 * nodes of anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memexpand_dice.h"
#include "tests/unit/part.h"

enum { VISITS = 3000 };

/* A node, with a cut or a signal somewhere. */
static bool run_node(struct mxt_program *p, uint32_t handler)
{
	if (!mxd_roll(20))
		mxt_chunk(p, MD_CHUNK_MORE);
	if (!mxd_roll(20)) {
		uint32_t op = mxd_roll(p->d->nodes[p->node].nops);

		/* Flags are not among what tells one iteration from another. */
		op -= op + 1 == p->d->nodes[p->node].nops && op;
		mxt_run_to(p, op);
		mxt_signal(p, handler, true);
	}
	return mxt_run_node(p);
}

/* False: it takes too long for a test. */
static bool run_loop(struct mxt_program *p)
{
	bool next = false;

	p->node = 0;
	for (uint32_t visits = 0; !next && visits < VISITS; visits++)
		next = run_node(p, 3);
	return next;
}

static void check(const struct mxt_description *d, struct mxt_program *p, uint64_t *checked)
{
	struct mt_code *code;

	mxt_chunk(p, MD_CHUNK_END);
	if (p->ambiguous)
		return;
	code = mxt_code(d);
	mxt_check(code, p, 1 + mxd_roll(8));
	mxt_check(code, p, 500);
	mxt_check_repeats(code, p, 1 + mxd_roll(100));
	mxt_check_counts(code, p);
	mt_code_free(code);
	++*checked;
}

static void test_loops(void **state)
{
	uint64_t checked = 0;

	(void)state;
	for (uint64_t seed = 0; seed < PART_OF(6000); seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;

		mxd_seed(seed << 32, false);
		mxd_loop(&d);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		if (run_loop(&p) && run_loop(&p))
			check(&d, &p, &checked);
		mxt_free(&p);
	}
	assert_true(checked > PART_OF(2000));
}

/* ---- anything ---- */

/* Some node with a header. */
static uint32_t next_node(const struct mxt_description *d)
{
	uint32_t n;

	do
		n = mxd_roll(MXD_HANDLER);
	while (!(d->nodes[n].flags & MD_NODE_HEADER));
	return n;
}

static bool run_anything(struct mxt_program *p)
{
	uint32_t rounds = 30;
	bool next = true;

	for (uint32_t visits = 0; visits < 600 && !p->ambiguous; visits++) {
		if (next && !rounds--)
			return true;
		if (next)
			p->node = next_node(p->d);
		next = run_node(p, MXD_HANDLER);
	}
	return false;
}

static void check_random(void (*describe)(struct mxt_description *), uint64_t seeds)
{
	uint64_t checked = 0;

	for (uint64_t seed = 0; seed < seeds; seed++) {
		struct mxt_description d = { 0 };
		struct mxt_program p;

		mxd_seed(~seed << 32, seed & 1);
		describe(&d);
		mxt_start(&p, &d, seed);
		p.value = mxd_value;
		if (run_anything(&p))
			check(&d, &p, &checked);
		mxt_free(&p);
	}
	assert_true(checked > seeds / 3);
}

static void test_anything(void **state)
{
	(void)state;
	check_random(mxd_anything, PART_OF(3000));
}

static void test_long(void **state)
{
	(void)state;
	check_random(mxd_long, PART_OF(1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_anything),
		cmocka_unit_test(test_long),
	};
	int failed = cmocka_run_group_tests_name("interpreted", tests, NULL, NULL);

	mxt_compiled = true;
	return failed + cmocka_run_group_tests_name("compiled", tests, NULL, NULL);
}
