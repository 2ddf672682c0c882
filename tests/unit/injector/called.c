/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions earlier recordings called: what was noted is there the next time, of that ELF file alone; a file that is damaged
 * in any byte, or cut off anywhere, says nothing; what is not used any more gives way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injector/facts/called.h"

enum { FNS = 130, LARGE = 1 << 23 };

static const char program[] = "/bin/true";
static char folder[] = "/tmp/sonde-called-XXXXXX";

static int begin(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int end(void **state)
{
	char command[512];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static char *file(void)
{
	char pattern[512], *name;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/called-*", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	name = strdup(found.gl_pathv[0]);
	globfree(&found);
	return name;
}

static void note(uint64_t key, uint32_t nfns, uint32_t fn, bool called)
{
	struct inj_called *c = inj_called_open(folder, program);
	struct inj_called_file *f = inj_called_of(c, key, nfns);

	assert_non_null(f);
	inj_called_note(f, fn, called);
	assert_int_equal(inj_called_before(f, fn), called);
	inj_called_close(c);
}

/* How many functions. */
static size_t known(uint64_t key, uint32_t nfns)
{
	struct inj_called *c = inj_called_open(folder, program);
	const struct inj_called_file *f = inj_called_of(c, key, nfns);
	size_t n = 0;

	for (uint32_t i = 0; i < nfns; i++)
		n += inj_called_before(f, i);
	inj_called_close(c);
	return n;
}

static void is_there_again(void **state)
{
	(void)state;
	assert_null(inj_called_open(NULL, program));
	assert_int_equal(known(1, FNS), 0);
	note(1, FNS, 0, true);
	note(1, FNS, FNS - 1, true);
	note(2, 64, 63, true);
	assert_int_equal(known(1, FNS), 2);
	assert_int_equal(known(2, 64), 1);
	assert_int_equal(known(1, FNS - 1), 0);
	assert_int_equal(known(3, FNS), 0);
	note(1, FNS, 0, false);
	assert_int_equal(known(1, FNS), 1);
}

static void is_whole_or_nothing(void **state)
{
	char *name = file(), byte;
	struct stat st;
	int fd = open(name, O_RDWR);

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t i = 0; i < st.st_size; i++) {
		assert_int_equal(pread(fd, &byte, 1, i), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, i), 1);
		assert_int_equal(known(1, FNS), 0);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, i), 1);
	}
	assert_int_equal(known(1, FNS), 1);
	for (off_t len = st.st_size - 1; len >= 0; len--) {
		assert_int_equal(ftruncate(fd, len), 0);
		assert_int_equal(known(1, FNS), 0);
	}
	close(fd);
	free(name);
}

static void is_bounded(void **state)
{
	char *name;
	struct stat st;

	(void)state;
	for (uint64_t key = 10; key < 20; key++)
		note(key, LARGE, 5, true);
	name = file();
	assert_int_equal(stat(name, &st), 0);
	assert_true(st.st_size < 5 << 20);
	assert_int_equal(known(19, LARGE), 1);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_there_again),
		cmocka_unit_test(is_whole_or_nothing),
		cmocka_unit_test(is_bounded),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
