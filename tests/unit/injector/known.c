/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of files is kept as long as they stay the same, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/facts/known.h"

#define MANY 200

static char folder[] = "/tmp/sonde-known-XXXXXX";

static const char *copy_of(const char *from, const char *name)
{
	static char path[512];
	char bytes[4096];
	int in = open(from, O_RDONLY), out;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t)n), n);
	close(in);
	close(out);
	return path;
}

static void kept(void **state)
{
	const char *path = copy_of("/proc/self/exe", "kept");
	struct inj_known *k = inj_known_file(path), *same = inj_known_file(path);
	struct inj_symtab *tab = inj_known_symbols(k, path, false);
	struct inj_identity id, again;

	(void)state;
	assert_ptr_equal(k, same);
	assert_non_null(tab);
	assert_non_null(inj_symtab_find(tab, "main", NULL));
	assert_true(inj_known_identity(k, path, &id));
	inj_known_leave(k);
	inj_known_leave(same);
	k = inj_known_file(path);
	assert_ptr_equal(inj_known_symbols(k, path, false), tab);
	assert_true(inj_known_identity(k, path, &again));
	assert_true(inj_identity_equal(&id, &again));
	inj_known_leave(k);
	assert_int_equal(unlink(path), 0);
	assert_null(inj_known_file(path));
	inj_known_leave(NULL);
}

/* Who wants it still has what was read of it; who comes later does not. */
static void changed(void **state)
{
	const char *path = copy_of("/proc/self/exe", "changed");
	struct inj_known *k = inj_known_file(path), *other;
	struct inj_symtab *tab = inj_known_symbols(k, path, false);
	int fd = open(path, O_WRONLY | O_APPEND);

	(void)state;
	assert_non_null(tab);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	other = inj_known_file(path);
	assert_ptr_not_equal(other, k);
	assert_ptr_not_equal(inj_known_symbols(other, path, false), tab);
	assert_non_null(inj_symtab_find(tab, "main", NULL));
	inj_known_leave(k);
	inj_known_leave(other);
}

/* Symbols that are read after the file has been written are for nobody else. */
static void changed_before(void **state)
{
	const char *path = copy_of("/proc/self/exe", "before");
	struct inj_known *k = inj_known_file(path), *other;

	(void)state;
	copy_of("/dev/null", "before");
	assert_null(inj_known_symbols(k, path, false));
	inj_known_leave(k);
	other = inj_known_file(path);
	assert_ptr_not_equal(other, k);
	inj_known_leave(other);
}

static void plans(void **state)
{
	static const uint64_t addrs[] = { 500, 100, 300, 900, 200 };
	struct inj_known *k = inj_known_file("/proc/self/exe");
	struct inj_known_plan p = { 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		p.facts.addr = addrs[i];
		p.ncode = (uint32_t)i;
		inj_known_keep_plan(k, &p);
	}
	for (size_t i = 0; i < 5; i++) {
		assert_true(inj_known_plan(k, addrs[i], &p));
		assert_int_equal(p.ncode, i);
		assert_false(inj_known_plan(k, addrs[i] + 1, &p));
	}
	inj_known_leave(k);
}

static void images(void **state)
{
	struct inj_image one, other, third;
	struct inj_known *k;
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/modules/posixio.so", getenv("top_builddir"));
	k = inj_known_file(path);
	assert_non_null(k);
	assert_int_equal(inj_known_image(k, path, &one), INJ_IMAGE_OK);
	assert_int_equal(inj_known_image(k, path, &other), INJ_IMAGE_OK);
	assert_int_equal(memcmp(one.mem, other.mem, one.size), 0);
	memset(one.mem, 0xff, one.size);
	assert_int_equal(inj_known_image(k, path, &third), INJ_IMAGE_OK);
	inj_known_leave(k);
	assert_int_equal(memcmp(third.mem, other.mem, third.size), 0);
	assert_int_not_equal(memcmp(one.mem, other.mem, one.size), 0);
	inj_image_close(&one);
	inj_image_close(&other);
	inj_image_close(&third);
}

static void many(void **state)
{
	struct inj_known *wanted = inj_known_file("/proc/self/exe");
	struct inj_symtab *tab = inj_known_symbols(wanted, "/proc/self/exe", false);

	(void)state;
	for (int i = 0; i < MANY; i++) {
		struct inj_known *k;
		const char *path;
		char name[32];

		snprintf(name, sizeof(name), "%d", i);
		path = copy_of("/dev/null", name);
		k = inj_known_file(path);
		assert_non_null(k);
		assert_null(inj_known_symbols(k, path, true));
		inj_known_leave(k);
	}
	assert_ptr_equal(inj_known_symbols(wanted, "/proc/self/exe", false), tab);
	inj_known_leave(wanted);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept),	 cmocka_unit_test(changed), cmocka_unit_test(changed_before),
		cmocka_unit_test(plans), cmocka_unit_test(images),  cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
