/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a stream goes through memory, from its profile: launcher/advise/walk.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launcher/advise/advise.h"

#define INSN 0x1000
#define BASE UINT64_C(0x100000)
#define SIZE 8

static struct memprofile *profile;
static struct memprofile_thread *thread;

static void begin(void)
{
	profile = memprofile_new(NULL);
	assert_non_null(profile);
	thread = memprofile_begin(profile);
	assert_non_null(thread);
}

static void load(uint64_t addr)
{
	const struct mt_access a = { .addr = addr, .size = SIZE, .kind = MD_LOAD, .insn = INSN };

	assert_true(memprofile_take(thread, &a, 1));
}

static struct advise_walk end(void)
{
	struct advise_walk w;

	assert_true(memprofile_end(thread));
	w = advise_walk_of(memprofile_insn(profile, 0));
	memprofile_free(profile);
	return w;
}

/* @outer passes of @inner steps. */
static struct advise_walk walk(uint64_t outer, uint64_t inner, int64_t outer_by, int64_t inner_by)
{
	begin();
	for (uint64_t i = 0; i < outer; i++)
		for (uint64_t k = 0; k < inner; k++)
			load(BASE + i * (uint64_t)outer_by + k * (uint64_t)inner_by);
	return end();
}

static void columns(void **state)
{
	const struct advise_walk w = walk(50, 100, SIZE, 4160);

	(void)state;
	assert_int_equal(w.by, 4160);
	assert_true(w.share > 0.98 && w.random < 0.03);
	assert_true(w.run > 99 && w.run < 101);
	assert_true(w.passes);
	assert_int_equal(w.again, SIZE);
}

static void columns_backwards(void **state)
{
	const struct advise_walk w = walk(50, 100, -SIZE, -4160);

	(void)state;
	assert_int_equal(w.by, -4160);
	assert_true(w.passes);
	assert_int_equal(w.again, -SIZE);
}

/* The same line of a matrix again and again, as in a product. */
static void same_row(void **state)
{
	const struct advise_walk w = walk(50, 100, 0, SIZE);

	(void)state;
	assert_int_equal(w.by, SIZE);
	assert_true(w.passes);
	assert_int_equal(w.again, 0);
}

/* A part of each row. */
static void parts_of_rows(void **state)
{
	const struct advise_walk w = walk(50, 100, 4160, SIZE);

	(void)state;
	assert_int_equal(w.by, SIZE);
	assert_true(w.passes);
	assert_int_equal(w.again, 4160);
}

/* All of it in one pass: there is no other. */
static void once(void **state)
{
	const struct advise_walk w = walk(1, 100, 0, SIZE);

	(void)state;
	assert_int_equal(w.by, SIZE);
	assert_false(w.passes);
}

static void anywhere(void **state)
{
	uint32_t dice = 1;
	struct advise_walk w;

	(void)state;
	begin();
	for (int i = 0; i < 10000; i++) {
		dice = dice * 1664525u + 1013904223u;
		load(BASE + (dice >> 8) * UINT64_C(64));
	}
	w = end();
	assert_true(w.random > 0.99 && w.share < 0.01);
}

static void one_access(void **state)
{
	struct advise_walk w;

	(void)state;
	begin();
	load(BASE);
	w = end();
	assert_false(w.passes);
	assert_true(w.share == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns),	 cmocka_unit_test(columns_backwards), cmocka_unit_test(same_row),
		cmocka_unit_test(parts_of_rows), cmocka_unit_test(once),	      cmocka_unit_test(anywhere),
		cmocka_unit_test(one_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
