/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a file can have a symbol of a name: this program's own file, pieces of it, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/image/elffile.h"

#define SELF "/proc/self/exe"

int elfnames_defined_here(void);

int elfnames_defined_here(void)
{
	return 1;
}

static void own_names(void **state)
{
	(void)state;
	assert_true(inj_elf_may_define(SELF, "main"));
	assert_true(inj_elf_may_define(SELF, "elfnames_defined_here"));
	assert_true(inj_elf_may_define(SELF, "defined_here")); /* a name's end may be another's name */
	assert_false(inj_elf_may_define(SELF, "elfnames_defined"));
	assert_false(inj_elf_may_define(SELF, "elfnames_defined_nowhere"));
}

/* The first @bytes, with the byte at @at changed (-1: none). */
static bool may_define(size_t bytes, long at)
{
	char name[] = "/tmp/elfnames.XXXXXX";
	FILE *from = fopen(SELF, "re");
	int fd = mkstemp(name);
	char *all = malloc(bytes + 1);
	bool may;

	assert_true(from && fd >= 0 && all);
	bytes = fread(all, 1, bytes, from);
	if (at >= 0)
		all[at] ^= 0x7f;
	assert_int_equal(write(fd, all, bytes), (ssize_t)bytes);
	may = inj_elf_may_define(name, "elfnames_defined_nowhere");
	unlink(name);
	close(fd);
	fclose(from);
	free(all);
	return may;
}

/* What cannot be known is no reason not to look. */
static void damaged(void **state)
{
	(void)state;
	assert_true(inj_elf_may_define("/nonexistent", "main"));
	assert_true(inj_elf_may_define("/proc/self/cmdline", "main"));
	assert_false(may_define((size_t)1 << 28, -1));
	assert_true(may_define(0, -1));
	assert_true(may_define(sizeof(Elf64_Ehdr), -1));
	assert_true(may_define(8192, -1)); /* without its sections */
	assert_true(may_define((size_t)1 << 28, 0));
	assert_true(may_define((size_t)1 << 28, offsetof(Elf64_Ehdr, e_shoff) + 7));
	assert_true(may_define((size_t)1 << 28, offsetof(Elf64_Ehdr, e_shentsize)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_names),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
