// SPDX-License-Identifier: GPL-3.0-or-later
/* This machine's caches: which cores have them together, of what kernels of other machines say. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "launcher/cache/cache.h"
#include "launcher/common/caches.h"

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", text) > 0);
	assert_int_equal(fclose(f), 0);
}

static void put_cache(const char *root, unsigned int cpu, unsigned int index, const char *type, const char *level,
		      const char *size, const char *shared)
{
	const char *const names[] = { "type", "level", "size", "shared_cpu_list", "coherency_line_size", "ways_of_associativity" };
	const char *const texts[] = { type, level, size, shared, "64", index == 3 ? "0" : "8" };
	char path[200];

	snprintf(path, sizeof(path), "%s/cpu%u", root, cpu);
	mkdir(path, 0777);
	strcat(path, "/cache");
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/cpu%u/cache/index%u", root, cpu, index);
	mkdir(path, 0777);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/cpu%u/cache/index%u/%s", root, cpu, index, names[i]);
		put(path, texts[i]);
	}
}

/* A processor's: first caches of @core, third ones of @die. */
static void put_cpu(const char *root, unsigned int cpu, const char *core, const char *die)
{
	put_cache(root, cpu, 0, "Data", "1", "32K", core);
	put_cache(root, cpu, 1, "Instruction", "1", "64K", core);
	put_cache(root, cpu, 2, "Unified", "2", "512K", core);
	put_cache(root, cpu, 3, "Unified", "3", "8192K", die);
}

static void begin(const char *root, const char *online)
{
	char path[64];

	assert_int_equal(mkdir(root, 0777), 0);
	snprintf(path, sizeof(path), "%s/online", root);
	put(path, online);
}

/* Two dies of two cores with two threads each. */
static void test_dies(void **unused)
{
	static const char *const cores[] = { "0,4", "1,5", "2,6", "3,7" }, *const dies[] = { "0-1,4-5", "2-3,6-7" };
	char *text;

	(void)unused;
	begin("dies", "0-7");
	for (unsigned int cpu = 0; cpu < 8; cpu++)
		put_cpu("dies", cpu, cores[cpu % 4], dies[cpu % 4 / 2]);
	text = host_describe("dies");
	assert_non_null(text);
	assert_string_equal(text, "name: host\nabout: this machine\nsource: dies\ncores: 4\ncaches:\n"
				  "  - { name: L1, size: 32K, ways: 8, line: 64, shared: 1 }\n"
				  "  - { name: L2, size: 512K, ways: 8, line: 64, shared: 1 }\n"
				  "  - { name: L3, size: 8192K, ways: full, line: 64, shared: 2 }\n");
	free(text);
}

/* Where cores are not alike, or the kernel does not say what they share, nothing is said of them. */
static void test_unlike(void **unused)
{
	char *text;

	(void)unused;
	begin("unlike", "0-2");
	put_cpu("unlike", 0, "0-1", "0-2");
	put_cpu("unlike", 1, "0-1", "0-2");
	put_cpu("unlike", 2, "2", "0-2");
	text = host_describe("unlike");
	assert_non_null(text);
	assert_null(strstr(text, "cores"));
	assert_null(strstr(text, "shared"));
	assert_non_null(strstr(text, "name: L3"));
	free(text);
	put_cpu("unlike", 2, "2,", "0-2");
	text = host_describe("unlike");
	assert_non_null(text);
	assert_null(strstr(text, "cores"));
	free(text);
}

/* 96 cores with a cache by 6: no more than can be described. */
static void test_many(void **unused)
{
	char *text;

	(void)unused;
	begin("many", "0-95");
	for (unsigned int cpu = 0; cpu < 96; cpu++) {
		char core[16], die[16];

		snprintf(core, sizeof(core), "%u", cpu);
		snprintf(die, sizeof(die), "%u-%u", cpu / 6 * 6, cpu / 6 * 6 + 5);
		put_cpu("many", cpu, core, die);
	}
	text = host_describe("many");
	assert_non_null(text);
	assert_non_null(strstr(text, "cores: 60\n"));
	assert_non_null(strstr(text, "ways: full, line: 64, shared: 6 }"));
	free(text);
	assert_null(host_describe("nothing"));
}

/* Where the kernel says nothing, what the C library knows. */
static void test_here(void **unused)
{
	char *text = host_here(), *kernel = host_describe(CACHES_CPUS);
	struct caches_level l;

	(void)unused;
	assert_false(caches_library(0, &l));
	assert_false(caches_library(4, &l));
	if (caches_library(1, &l)) {
		assert_true(l.ways * l.line <= l.bytes);
		assert_non_null(text);
	}
	if (kernel)
		assert_string_equal(text, kernel);
	else if (text)
		assert_non_null(strstr(text, "source: the C library\ncaches:\n  - { name: L1, size: "));
	free(text);
	free(kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dies),
		cmocka_unit_test(test_unlike),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
