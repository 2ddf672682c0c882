// SPDX-License-Identifier: GPL-3.0-or-later
/* What is done when there is no room left for code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memexpand_dice.h"
#include "memtrace/compile/x86-64/compile.h"

enum { FULL_AREA = 1 << 16 };

static bool write_here(struct mtc_compiler *c, size_t at, const uint8_t *code, size_t bytes)
{
	memcpy(c->area + at, code, bytes);
	return true;
}

/* Nodes one by one, with so much room; says whether it was enough. */
static bool fill_area(const struct mt_code *code, uint32_t nnodes, uint64_t *table, size_t room)
{
	static uint8_t area[FULL_AREA + 64];
	struct mtc_compiler c = { .put = write_here, .alignment = 64 };

	memset(area, 0xa5, sizeof(area));
	assert_true(mtc_begin(&c, code, area, (uint64_t)(uintptr_t)area, room));
	mtc_use(&c, MT_COUNT, table, (const uint8_t *)table);
	mtc_refresh(&c);
	for (uint32_t id = MXT_FIRST; id < MXT_FIRST + nnodes; id++) {
		const struct mt_node *node = mt_find(code, id);
		uint64_t before = table[MT_IDS + id], used = c.used;
		bool possible = node->compiles, done = possible && mtc_compile(&c, MT_COUNT, &node, 1);

		assert_true(!possible || done || c.full);
		assert_true(done || (c.used == used && table[MT_IDS + id] == before));
		assert_true(!done || table[MT_IDS + id] != c.gates.leave);
		assert_true(c.used <= room && area[room] == 0xa5 && area[sizeof(area) - 1] == 0xa5);
	}
	mtc_end(&c);
	return !c.full;
}

/* Where there is no more room nothing is compiled, and nothing leads there. */
static void test_full(void **state)
{
	uint64_t *table = calloc(1, MT_TABLE);

	(void)state;
	assert_non_null(table);
	for (uint64_t seed = 1; seed < 9; seed++) {
		struct mxt_description d = { 0 };
		struct mt_code *code;
		size_t room = MTC_GATES;

		mxd_seed(seed << 32, false);
		mxd_anything(&d);
		mxt_compiled = false;
		code = mxt_code(&d);
		assert_false(fill_area(code, d.nnodes, table, room));
		while (!fill_area(code, d.nnodes, table, room))
			assert_true((room += 40) < FULL_AREA);
		mt_code_free(code);
	}
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
