// SPDX-License-Identifier: GPL-3.0-or-later
/* What other schedules would make of a loop's chunks; rows of equal places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "launcher/report/omp/omp.h"

/* Iteration i takes i + 1; 12 of them, in chunks of 2. */
static void ascending(void **state)
{
	struct omp_chunk v[6];
	double would[OMP_SCHEDULES];

	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		v[i] = (struct omp_chunk){ 2 * i, 2 * i + 2, 4 * i + 3 };
	omp_compare(v, 6, 2, 2, 0, would);
	assert_true(would[OMP_STATIC] == 15 + 19 + 23);
	assert_true(would[OMP_STATIC_K] == 7 + 15 + 23);
	assert_true(would[OMP_STATIC_4K] == 19 + 23); /* 8 iterations, and 4 */
	assert_true(would[OMP_DYNAMIC_K] == 7 + 15 + 23);
	assert_true(would[OMP_DYNAMIC_16K] == 78); /* one has it all */
	assert_true(would[OMP_GUIDED_K] >= 39 && would[OMP_GUIDED_K] < 78);
	omp_compare(v, 6, 1, 2, 10, would);
	assert_true(would[OMP_STATIC] == 78);
	assert_true(would[OMP_DYNAMIC_K] == 78 + 6 * 10);
}

/* Chunks may be cut by what is compared with them. */
static void cut(void **state)
{
	const struct omp_chunk v[] = { { 0, 10, 100 }, { 10, 11, 50 } };
	double would[OMP_SCHEDULES];

	(void)state;
	omp_compare(v, 2, 2, 1, 0, would);
	assert_true(would[OMP_STATIC] == 40 + 50); /* six iterations, and five */
	assert_true(would[OMP_STATIC_K] == 50 + 50);
	omp_compare(v, 2, 2, UINT64_C(1) << 60, 0, would);
	assert_true(would[OMP_DYNAMIC_16K] == 150 && would[OMP_STATIC_K] == 150);
	omp_compare(&(struct omp_chunk){ 0, UINT64_C(1) << 60, 1000 }, 1, 2, 1, 0, would);
	assert_true(would[OMP_STATIC] == 500 && would[OMP_DYNAMIC_K] == 0); /* too many to be tried */
	omp_compare(v, 2, 20, 1, 0, would);
	assert_true(would[OMP_STATIC] == 50);
	assert_true(would[OMP_DYNAMIC_K] == 50);
}

static void rows(void **state)
{
	const struct omp_place a = { "f", "x.c", 3, "app", 16 }, again = { "f", "x.c", 3, "app", 32 };
	const struct omp_place b = { "f", "", 0, "app", 16 }, c = { "f", "", 0, "app", 32 };
	struct omp_rows r = { 0 };

	(void)state;
	omp_row(&r, OMP_LOOP, &a, "static", 1)->count++;
	omp_row(&r, OMP_LOOP, &again, "static", 1)->count++;
	assert_int_equal(r.n, 1);
	assert_int_equal(r.v[0].count, 2);
	omp_row(&r, OMP_LOOP, &a, "static", 2);
	omp_row(&r, OMP_LOOP, &a, "dynamic", 1);
	omp_row(&r, OMP_REGION, &a, "", 0);
	omp_row(&r, OMP_REGION, &b, "", 0);
	omp_row(&r, OMP_REGION, &c, "", 0);
	assert_int_equal(r.n, 6);
	assert_true(omp_imbalance(&r.v[1]) == 0);
	r.v[1].most = 3;
	r.v[1].mean = 2;
	assert_true(omp_imbalance(&r.v[1]) == 0.5);
	omp_rows_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ascending),
		cmocka_unit_test(cut),
		cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
