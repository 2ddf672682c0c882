// SPDX-License-Identifier: GPL-3.0-or-later
/* Descriptions of systems: what is read from them, and what is said of those that are wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "analysis/cache/system.h"

static void test_whole(void **unused)
{
	static const char text[] = "name: one\n"
				   "about: the first\n"
				   "tlbs:\n"
				   "  - { name: T, entries: 48, ways: full, page: 4K }\n"
				   "caches:\n"
				   "  - { name: L1, size: 48K, ways: 12, line: 64, policy: tree-plru, write: through, ways: 8 }\n";
	static const char good[] = "name: one\n"
				   "about: the first\n"
				   "tlbs:\n"
				   "  - { name: T, entries: 48, ways: full, page: 4K, latency: 0 }\n"
				   "caches:\n"
				   "  - { name: L1, size: 32K, ways: 8, line: 64, policy: tree-plru, write: through, prefetch: stride, latency: 4 }\n"
				   "  - { name: L2, size: 1M, ways: 16, line: 128, policy: random, seed: 5, latency: 14 }\n"
				   "  - { name: L3, size: 2M, ways: 16, line: 128, policy: QLRU_H11_M2_R1_U3_UMO, holds: inclusive, latency: 50 }\n"
				   "memory: 300\n"
				   "walk: 30\n"
				   "---\n"
				   "name: two\n"
				   "caches: [ { name: C, size: 8, ways: 1, line: 8, policy: opt } ]\n";
	struct cache_systems list = { 0 };
	char error[CACHE_ERROR_MAX], name[CACHE_POLICY_MAX];

	(void)unused;
	assert_false(cache_systems_parse(&list, text, strlen(text), error));
	assert_string_equal(error, "line 6, column 83: ways is given twice");
	assert_true(cache_systems_parse(&list, good, strlen(good), error));
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0].name, "one");
	assert_string_equal(list.v[0].about, "the first");
	assert_null(list.v[0].source);
	assert_int_equal(list.v[0].ncaches, 3);
	assert_int_equal(list.v[0].ntlbs, 1);
	assert_int_equal(list.v[0].level[0].lines, 512);
	assert_int_equal(list.v[0].level[0].policy, CACHE_TREE_PLRU);
	assert_true(list.v[0].level[0].through);
	assert_int_equal(list.v[0].level[0].prefetch, CACHE_STRIDE);
	assert_true(cache_prefetches(&list.v[0]));
	assert_false(cache_prefetches(&list.v[1]));
	assert_true(cache_has_policy(&list.v[1], CACHE_OPT));
	cache_policy_name(&list.v[1].level[0], name);
	assert_string_equal(name, "opt");
	assert_int_equal(list.v[0].level[1].line, 128);
	assert_int_equal(list.v[0].level[1].policy, CACHE_RANDOM);
	assert_int_equal(list.v[0].level[1].seed, 5);
	assert_false(list.v[0].level[1].through);
	cache_policy_name(&list.v[0].level[1], name);
	assert_string_equal(name, "random");
	cache_policy_name(&list.v[0].level[2], name);
	assert_string_equal(name, "QLRU_H11_M2_R1_U3_UMO");
	assert_int_equal(list.v[0].level[2].holds, CACHE_INCLUSIVE);
	assert_string_equal(list.v[0].level[3].name, "T");
	assert_int_equal(list.v[0].level[3].lines, 48);
	assert_int_equal(list.v[0].level[3].ways, 48);
	assert_int_equal(list.v[0].level[3].line, 4096);
	assert_true(cache_has_latencies(&list.v[0]));
	assert_true(cache_has_tlb_latencies(&list.v[0]));
	assert_int_equal(list.v[0].memory, 300);
	assert_int_equal(list.v[0].walk, 30);
	assert_int_equal(list.v[0].level[1].latency, 14);
	assert_string_equal(list.v[1].name, "two");
	assert_false(cache_has_latencies(&list.v[1]));
	assert_false(cache_has_tlb_latencies(&list.v[1]));
	cache_systems_free(&list);
}

#define CACHES(level) "name: x\ncaches:\n  - { " level " }\n"

static void test_errors(void **unused)
{
	static const struct {
		const char *text, *error;
	} wrong[] = {
		{ "", "line 1, column 1: no system is described" },
		{ "name: [", "line 2, column 1: did not find expected node content" },
		{ "just words", "line 1, column 1: a mapping with 'name:' belongs here" },
		{ "name: x", "line 1, column 1: 'caches:' is missing" },
		{ "name: x\ncache: 3", "line 2, column 1: nothing is called 'cache' here" },
		{ "name: x\ncaches: 3", "line 2, column 9: a list belongs here" },
		{ "name: x\ncaches: []", "line 2, column 9: a list belongs here" },
		{ "name: [ x ]\ncaches: []", "line 1, column 7: a value, not a list or a mapping, belongs here" },
		{ "name: ''\n", "line 1, column 7: a text of 1 to 200 bytes belongs here" },
		{ CACHES("name: L1, size: 32K, ways: 8"), "line 3, column 5: 'line:' is missing" },
		{ CACHES("name: L1, size: 32k, ways: 8, line: 64"),
		  "line 3, column 23: '32k': a number as 64, 32K, 1M or 1G belongs here" },
		{ CACHES("name: L1, size: 99999999999999999999, ways: 8, line: 64"),
		  "line 3, column 23: '99999999999999999999': a number as 64, 32K, 1M or 1G belongs here" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 60"), "line 3, column 5: the line is no power of two from 8 on" },
		{ CACHES("name: L1, size: 32K, ways: 0, line: 64"),
		  "line 3, column 5: it is not a whole number of sets of 0 lines" },
		{ CACHES("name: L1, size: 32K, ways: 7, line: 64"),
		  "line 3, column 5: it is not a whole number of sets of 7 lines" },
		{ CACHES("name: L1, size: 0, ways: full, line: 64"), "line 3, column 5: it does not hold 1 to 67108864 lines" },
		{ CACHES("name: L1, size: 1024G, ways: 8, line: 64"),
		  "line 3, column 5: it does not hold 1 to 67108864 lines" },
		{ CACHES("name: L1, size: 48K, ways: 12, line: 64, policy: tree-plru"),
		  "line 3, column 5: tree-plru needs ways that are a power of two up to 64" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, policy: mru"),
		  "line 3, column 55: 'mru': lru, fifo, random, tree-plru, nmru, opt or one like QLRU_H00_M1_R0_U1 belongs here" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, write: around"),
		  "line 3, column 54: 'around': back or through belongs here" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64 }\n  - { name: L2, size: 1M, ways: 8, line: 32"),
		  "line 4, column 5: the line is smaller than that of L1" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, policy: QLRU_H00_M1_R0_U2"),
		  "line 3, column 55: 'QLRU_H00_M1_R0_U2': lru, fifo, random, tree-plru, nmru, opt or one like QLRU_H00_M1_R0_U1 belongs here" },
		{ CACHES("name: L1, size: 64K, ways: 64, line: 64, policy: QLRU_H00_M1_R0_U1"),
		  "line 3, column 5: QLRU needs 2 to 32 ways" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64") "tlbs: [ { name: T, entries: 8, ways: full, page: 4K, policy: QLRU_H00_M1_R0_U1 } ]",
		  "line 4, column 9: QLRU is for caches alone" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, holds: inclusive"),
		  "line 3, column 5: the first level cannot be inclusive" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, holds: all"),
		  "line 3, column 54: 'all': any, inclusive or exclusive belongs here" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, write: through }\n  - { name: L2, size: 1M, ways: 8, line: 64, holds: exclusive"),
		  "line 4, column 5: an exclusive level and L1 need lines of one size, and write-back" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, prefetch: all"),
		  "line 3, column 57: 'all': none, next-line or stride belongs here" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64 }\n  - { name: L2, size: 1M, ways: 8, line: 64, holds: exclusive, prefetch: stride"),
		  "line 4, column 5: an exclusive level holds what has left L1: it prefetches nothing" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64 }\n  - { name: L2, size: 1M, ways: 8, line: 64, holds: inclusive, policy: opt"),
		  "line 4, column 5: a level with policy opt is neither inclusive nor exclusive" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, policy: opt }\n  - { name: L2, size: 1M, ways: 8, line: 64, holds: exclusive"),
		  "line 4, column 5: it cannot be exclusive: L1 has policy opt" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, policy: opt }\n  - { name: L2, size: 1M, ways: 8, line: 64 }\n"
			 "  - { name: L3, size: 1M, ways: 8, line: 64, holds: inclusive"),
		  "line 1, column 1: L3 is inclusive: no level before it can have policy opt" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, policy: opt }\n  - { name: L2, size: 1M, ways: 8, line: 64, prefetch: stride"),
		  "line 1, column 1: there is no prefetcher beside policy opt" },
		{ CACHES("name: L1, size: 32K, ways: 8, line: 64, prefetch: stride") "cores: 2",
		  "line 1, column 1: with cores, there is neither policy opt nor a prefetcher" },
	};
	struct cache_systems list = { 0 };
	char error[CACHE_ERROR_MAX];

	(void)unused;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(cache_systems_parse(&list, wrong[i].text, strlen(wrong[i].text), error));
		assert_string_equal(error, wrong[i].error);
		assert_int_equal(list.n, 0);
	}
	cache_systems_free(&list);
}

#define CORES(level, rest) CACHES("name: L1, size: 32K, ways: 8, line: 64 }\n  - { name: L2, size: 1M, ways: 16, " level) rest

static void test_cores(void **unused)
{
	static const char good[] = CORES("line: 64, shared: all", "cores: 8\nthreads: [3, 0]\n");
	static const struct { const char *text, *error; } wrong[] = {
		{ CORES("line: 64, shared: 2", ""), "line 1, column 1: L2 is shared, but 'cores:' is missing" },
		{ CORES("line: 64, shared: 3", "cores: 4"), "line 1, column 1: 4 cores cannot have L2 by 3" },
		{ CORES("line: 64, shared: 0", "cores: 4"), "line 4, column 55: at least one core has it" },
		{ CORES("line: 128, shared: 4", "cores: 4"), "line 1, column 1: with cores, all caches need lines of one size" },
		{ CORES("line: 64", "cores: 65"), "line 5, column 8: 1 to 64 cores belong here" },
		{ CORES("line: 64", "cores: 4\nthreads: [4]"), "line 1, column 1: there is no core 4" },
		{ CORES("line: 64", "cores: 4\nthreads: [64]"), "line 6, column 11: up to 64 threads, and cores from 0 to 63" },
		{ CORES("line: 64", "cores: 4\nthreads: 4"), "line 6, column 10: a list of cores belongs here" },
		{ CORES("line: 64", "threads: [0]"), "line 1, column 1: threads are placed, but 'cores:' is missing" },
	};
	struct cache_systems list = { 0 };
	char error[CACHE_ERROR_MAX];

	(void)unused;
	assert_true(cache_systems_parse(&list, good, strlen(good), error));
	assert_int_equal(list.v[0].cores, 8);
	assert_int_equal(list.v[0].level[0].shared, 1);
	assert_int_equal(list.v[0].level[1].shared, 8);
	assert_true(cache_is_coherent(&list.v[0], 0));
	assert_false(cache_is_coherent(&list.v[0], 1));
	assert_int_equal(cache_core_of(&list.v[0], 0), 3);
	assert_int_equal(cache_core_of(&list.v[0], 1), 0);
	assert_int_equal(cache_core_of(&list.v[0], 10), 2);
	cache_systems_free(&list);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(cache_systems_parse(&list, wrong[i].text, strlen(wrong[i].text), error));
		assert_string_equal(error, wrong[i].error);
	}
	cache_systems_free(&list);
}

static void test_levels(void **unused)
{
	char text[2000] = "name: x\ncaches:\n", error[CACHE_ERROR_MAX];
	struct cache_systems list = { 0 };

	(void)unused;
	for (unsigned int i = 0; i <= CACHE_CACHES; i++)
		strcat(text, "  - { name: C, size: 1K, ways: 2, line: 64 }\n");
	assert_false(cache_systems_parse(&list, text, strlen(text), error));
	assert_string_equal(error, "line 7, column 5: more than 4 levels");
	/* a bad document takes those before it with it */
	strcpy(text, CACHES("name: L1, size: 32K, ways: 8, line: 64") "---\nname: y\n");
	assert_false(cache_systems_parse(&list, text, strlen(text), error));
	assert_int_equal(list.n, 0);
	cache_systems_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_cores),
		cmocka_unit_test(test_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
