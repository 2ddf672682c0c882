/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cache of what is known of an ELF file's code: what was stored is found again, for the same code only; a file that
 * is damaged in any byte, cut off anywhere, or of somebody else's making is as good as none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injector/facts/analysis.h"

enum { NFACTS = 5, FILE_MAX = 1 << 16 };

static char folder[] = "/tmp/sonde-cache-XXXXXX";
static const char *const object = "/proc/self/exe";
static const struct inj_code_key key = { .identity = { .build_id = "010203", .code = 4 }, .symbols = 5 };

static void describe(struct inj_facts *facts, size_t n, uint64_t first)
{
	memset(facts, 0, n * sizeof(*facts));
	for (size_t i = 0; i < n; i++) {
		facts[i].addr = first + i * 32;
		facts[i].size = 20 + i;
		facts[i].avail = 32;
		facts[i].keep.gpr = (uint32_t)(1 << i);
		facts[i].nentries = 1;
		facts[i].entries[0] = facts[i].addr + 3;
	}
}

/* Only addresses, as who asks has them. */
static bool load(const struct inj_code_key *k, struct inj_facts *facts, size_t n, uint64_t first)
{
	memset(facts, 0, n * sizeof(*facts));
	for (size_t i = 0; i < n; i++)
		facts[i].addr = first + i * 32;
	return inj_cache_load(folder, object, k, facts, n);
}

static void name_of_file(char name[512])
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	size_t n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, 512, "%s/%s", folder, e->d_name);
		n++;
	}
	closedir(dir);
	assert_int_equal(n, 1);	/* and nothing temporary */
}

static size_t read_file(const char *name, uint8_t *bytes)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = read(fd, bytes, FILE_MAX);

	close(fd);
	assert_in_range(n, 1, FILE_MAX - 1);
	return (size_t)n;
}

static void write_file(const char *name, const uint8_t *bytes, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void test_found_again(void **state)
{
	struct inj_facts facts[NFACTS], more[NFACTS], found[2 * NFACTS];
	struct stat st;
	char name[512];

	(void)state;
	assert_false(load(&key, found, NFACTS, 0x1000));
	describe(facts, NFACTS, 0x1000);
	inj_cache_store(folder, object, &key, facts, NFACTS);
	assert_true(load(&key, found, NFACTS, 0x1000));
	assert_memory_equal(found, facts, sizeof(facts));
	assert_false(load(&key, found, NFACTS + 1, 0x1000));	/* one is missing */
	assert_int_equal(found[0].size, 0);			/* ... and nothing was filled in */

	describe(more, NFACTS, 0x1000 + NFACTS * 32);
	inj_cache_store(folder, object, &key, more, NFACTS);
	assert_true(load(&key, found, 2 * NFACTS, 0x1000));
	assert_memory_equal(found, facts, sizeof(facts));
	assert_memory_equal(found + NFACTS, more, sizeof(more));

	name_of_file(name);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_other_code(void **state)
{
	struct inj_code_key other[3] = { key, key, key };
	struct inj_facts facts[NFACTS];

	(void)state;
	other[0].identity.build_id[2 * INJ_BUILD_ID_MAX - 1] = '1';
	other[1].identity.code++;
	other[2].symbols++;
	for (size_t i = 0; i < 3; i++)
		assert_false(load(&other[i], facts, NFACTS, 0x1000));
	assert_true(load(&key, facts, NFACTS, 0x1000));
	describe(facts, NFACTS, 0x1000);
	inj_cache_store(folder, object, &other[1], facts, NFACTS);	/* built anew */
	assert_false(load(&key, facts, NFACTS, 0x1000));
	assert_true(load(&other[1], facts, NFACTS, 0x1000));
	inj_cache_store(folder, object, &key, facts, NFACTS);
}

static void test_damaged(void **state)
{
	static uint8_t bytes[FILE_MAX], changed[FILE_MAX];
	struct inj_facts facts[NFACTS];
	char name[512];
	size_t len;

	(void)state;
	name_of_file(name);
	len = read_file(name, bytes);
	for (size_t i = 0; i < len; i++) {
		memcpy(changed, bytes, len);
		changed[i] ^= 0x81;
		write_file(name, changed, len);
		if (load(&key, facts, NFACTS, 0x1000))
			fail_msg("byte %zu of %zu was changed", i, len);
	}
	for (size_t i = 0; i < len; i++) {
		write_file(name, bytes, i);
		if (load(&key, facts, NFACTS, 0x1000))
			fail_msg("%zu bytes of %zu are enough", i, len);
	}
	describe(facts, NFACTS, 0x1000);
	inj_cache_store(folder, object, &key, facts, NFACTS);	/* it is replaced */
	assert_true(load(&key, facts, NFACTS, 0x1000));
}

static void test_nowhere(void **state)
{
	struct inj_facts facts[NFACTS];

	(void)state;
	describe(facts, NFACTS, 0x1000);
	inj_cache_store("/nonexistent", object, &key, facts, NFACTS);
	assert_false(inj_cache_load("/nonexistent", object, &key, facts, NFACTS));
	inj_cache_store(folder, "/nonexistent", &key, facts, NFACTS);
	assert_false(inj_cache_load(folder, "/nonexistent", &key, facts, NFACTS));
	assert_false(inj_cache_load(NULL, object, &key, facts, NFACTS));
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char name[512];

	(void)state;
	name_of_file(name);
	unlink(name);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_again),
		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_nowhere),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
