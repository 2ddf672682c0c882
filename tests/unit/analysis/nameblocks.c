// SPDX-License-Identifier: GPL-3.0-or-later
/* analysis/names: blocks of the heap, against a list of all that ever were; which block it was where time does not say it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>

#include "analysis/names/live.h"
#include "analysis/names/names.h"

static uint64_t seed = 1;

static uint64_t random_below(uint64_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (seed >> 33) % n;
}

/* ---- those of one time ---- */

enum { UNITS = 4000 };

/* Blocks in a space of so many units, each of which knows its block. */
static void test_live(void **state)
{
	static uint32_t owner[UNITS]; /* 1 + site */
	static uint64_t begin[UNITS];
	struct nm_live live = { 0 };
	size_t most = 0;

	(void)state;
	for (uint32_t round = 0; round < 60000; round++) {
		uint64_t at = random_below(UNITS), n = 1 + random_below(round % 50 ? 4 : 100);
		const struct nm_block *found = nm_live_find(&live, 16 * at + random_below(16));

		assert_int_equal(found ? found->site + 1 : 0, owner[at]);
		if (owner[at] && random_below(3)) {
			uint64_t first = begin[at];

			assert_true(nm_live_remove(&live, 16 * first));
			for (uint64_t k = first; k < UNITS && owner[k] && begin[k] == first; k++)
				owner[k] = 0;
			continue;
		}
		if (at + n > UNITS)
			continue;
		/* what it overlaps goes */
		for (uint64_t k = at; k < at + n; k++) {
			uint64_t first = begin[k];

			if (!owner[k])
				continue;
			for (uint64_t i = first; i < UNITS && owner[i] && begin[i] == first; i++)
				owner[i] = 0;
		}
		assert_true(nm_live_add(&live, &(struct nm_block){ 16 * at, (uint32_t)(16 * n), round }));
		for (uint64_t k = at; k < at + n; k++) {
			owner[k] = round + 1;
			begin[k] = at;
		}
		most = live.blocks > most ? live.blocks : most;
	}
	assert_in_range(most, 512, UNITS); /* several leaves */
	assert_false(nm_live_remove(&live, 16 * UNITS));
	nm_live_free(&live);
	assert_null(nm_live_find(&live, 0));
}

static void test_sizes(void **state)
{
	const uint64_t sizes[] = { 1, 4095, 0x7fffffff, 0x80000000, UINT64_C(1) << 40, UINT64_C(1) << 47 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct nm_block b = { .size = nm_block_size(sizes[i]) };
		uint64_t bytes = nm_block_bytes(&b);

		if (sizes[i] < UINT64_C(1) << 43)
			assert_in_range(bytes, sizes[i], sizes[i] + 4095);
	}
}

/* ---- with time ---- */

#define HEAP 0x10000000u

static struct nm *names;
static uint32_t site[4];

static void begin(void)
{
	static const char *const what[4] = { "malloc", "calloc", "realloc", "free" };

	names = nm_new(&(struct nm_options){ 0 });
	assert_non_null(names);
	for (unsigned int i = 0; i < 4; i++) {
		struct nm_site s = { .what = what[i], .function = "f", .line = (int)i + 1 };

		assert_true(nm_add_site(names, &s, &site[i]));
	}
}

static void allocated(int tid, uint64_t time, unsigned int from, uint64_t addr, uint64_t size)
{
	assert_true(nm_add_block(names, &(struct nm_call){ 1, tid, time, site[from] }, addr, size));
}

static void freed(int tid, uint64_t time, uint64_t addr)
{
	assert_true(nm_free_block(names, &(struct nm_call){ 1, tid, time, site[3] }, addr, false));
}

static const struct nm_variable *at(struct nm_thread *t, uint64_t addr)
{
	const struct mt_access a = { .addr = addr, .size = 1, .insn = 0x1000 + random_below(4) };
	struct nm_place place;

	assert_true(nm_find(t, &a, &place));
	return place.name->variable;
}

static void test_time(void **state)
{
	struct nm_thread *t;

	(void)state;
	begin();
	allocated(1, 100, 0, HEAP, 64);
	freed(1, 200, HEAP);
	allocated(1, 300, 1, HEAP + 16, 64);
	freed(1, 400, HEAP + 16);
	allocated(1, 500, 1, HEAP, 64);
	allocated(2, 250, 2, 2 * HEAP, 8);

	/* another thread, of which only chunks are known */
	t = nm_begin(names, 1, 3);
	nm_chunk(t, 0, 10, 50);
	assert_int_equal(at(t, HEAP)->kind, NM_UNKNOWN);
	nm_chunk(t, 0, 110, 190);
	assert_string_equal(at(t, HEAP + 63)->name, "malloc");
	assert_int_equal(at(t, HEAP + 64)->kind, NM_UNKNOWN);
	assert_int_equal(at(t, HEAP - 1)->kind, NM_UNKNOWN);
	/* it may have been freed by then, but nothing else was there */
	nm_chunk(t, 0, 120, 250);
	assert_string_equal(at(t, HEAP + 63)->name, "malloc");
	/* one or the other; outside of what both have, it is known */
	nm_chunk(t, 0, 130, 350);
	assert_int_equal(at(t, HEAP + 20)->kind, NM_AMBIGUOUS);
	assert_string_equal(at(t, HEAP + 3)->name, "malloc");
	assert_string_equal(at(t, HEAP + 70)->name, "calloc");
	assert_string_equal(at(t, 2 * HEAP)->name, "realloc");
	/* two blocks, but one name */
	nm_chunk(t, 0, 310, 1000);
	assert_string_equal(at(t, HEAP + 20)->name, "calloc");
	nm_chunk(t, 0, 600, UINT64_MAX);
	assert_string_equal(at(t, HEAP)->name, "calloc");
	assert_int_equal(at(t, HEAP)->kind, NM_HEAP);
	assert_int_equal(at(t, HEAP)->line, 2);
	nm_end(t);

	/* other processes have other memory */
	t = nm_begin(names, 2, 1);
	nm_chunk(t, 0, 110, 190);
	assert_int_equal(at(t, HEAP)->kind, NM_UNKNOWN);
	nm_end(t);
	nm_free(names);
}

/* Many allocations in a stretch: the same answers as by looking at each. */
static void test_many(void **state)
{
	enum { EVENTS = 3000, ADDRESSES = 64 };
	static struct { uint64_t addr, size, from, to; unsigned int site; } was[EVENTS];
	size_t open[ADDRESSES], n = 0;
	struct nm_thread *t;

	(void)state;
	begin();
	for (size_t i = 0; i < ADDRESSES; i++)
		open[i] = EVENTS;
	for (uint64_t time = 1; time < EVENTS; time++) {
		size_t slot = random_below(ADDRESSES);

		if (open[slot] < EVENTS) {
			was[open[slot]].to = time;
			freed((int)random_below(3), time, was[open[slot]].addr);
			open[slot] = EVENTS;
			continue;
		}
		was[n].addr = HEAP + 256 * slot + 16 * random_below(4);
		was[n].size = 16 + 16 * random_below(12);
		was[n].from = time;
		was[n].to = UINT64_MAX;
		was[n].site = (unsigned int)random_below(3);
		allocated((int)random_below(3), time, was[n].site, was[n].addr, was[n].size);
		open[slot] = n++;
	}
	t = nm_begin(names, 1, 77);
	for (uint64_t from = 0; from < EVENTS; from += 1 + random_below(40)) {
		uint64_t next = from + 1 + random_below(random_below(2) ? 10 : 500);

		nm_chunk(t, 0, from, next);
		for (unsigned int k = 0; k < 50; k++) {
			uint64_t addr = HEAP + random_below(256 * ADDRESSES);
			const struct nm_variable *v = at(t, addr);
			unsigned int sites = 0, last = 0;

			/* freed at the very time of @from: over */
			for (size_t i = 0; i < n; i++) {
				if (addr < was[i].addr || addr - was[i].addr >= was[i].size || was[i].from >= next || was[i].to <= from)
					continue;
				sites |= 1u << was[i].site;
				last = was[i].site;
			}
			if (!sites)
				assert_int_equal(v->kind, NM_UNKNOWN);
			else if (sites & (sites - 1))
				assert_int_equal(v->kind, NM_AMBIGUOUS);
			else
				assert_int_equal(v->line, last + 1);
		}
	}
	nm_end(t);
	nm_free(names);
}

/* Nonsense is left out. */
static void test_nonsense(void **state)
{
	struct nm_thread *t;

	(void)state;
	begin();
	allocated(1, 1, 0, 0, 10);
	allocated(1, 1, 0, UINT64_MAX, 10);
	allocated(1, 1, 0, UINT64_MAX >> 16, UINT64_MAX);
	allocated(1, 1, 0, HEAP, 0);
	freed(1, 2, HEAP);
	freed(1, 2, UINT64_MAX);
	assert_true(nm_add_block(names, &(struct nm_call){ 1, 1, 1, 99 }, HEAP, 10));
	t = nm_begin(names, 1, 1);
	nm_chunk(t, 0, 5, 6);
	assert_int_equal(at(t, HEAP)->kind, NM_UNKNOWN);
	assert_int_equal(at(t, UINT64_MAX)->kind, NM_UNKNOWN);
	nm_end(t);
	nm_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live), cmocka_unit_test(test_sizes), cmocka_unit_test(test_time), cmocka_unit_test(test_many),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests_name("nameblocks", tests, NULL, NULL);
}
