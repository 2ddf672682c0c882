/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is kept of an ELF file's code: it says the same as the file does, for that very file only; a file that is damaged in any
 * byte, cut off anywhere, or of another file, is as good as none; who wants the same at the same time gets it.
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injector/facts/kept.h"

enum { STEP = 1009, PROCESSES = 4 };

static char folder[] = "/tmp/sonde-kept-XXXXXX";
static struct inj_kept_source source = { .cache_dir = folder, .threads = 2 };
static char object[64], name[4096];

static void copy(const char *from, const char *to)
{
	char command[2 * sizeof(name) + 64];

	snprintf(command, sizeof(command), "cp %s %s && sleep 0.2", from, to);
	assert_int_equal(system(command), 0);
}

static int begin(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(object, sizeof(object), "%s/object", folder);
	copy("/bin/true", object);
	source.path = object;
	assert_true(inj_kept_name(&source, name, sizeof(name)));
	return 0;
}

static int end(void **state)
{
	char command[512];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static bool there(void)
{
	return access(name, F_OK) == 0;
}

/* ---- the same ---- */

static void compare(const struct inj_kept *k, const struct inj_codefacts *facts, const struct tramp_code *code)
{
	const struct tramp_facts *a = &k->facts.facts, *b = &facts->facts;
	struct tramp_flow x = { 0 }, y = { 0 };

	assert_int_equal(a->nfns, b->nfns);
	assert_int_equal(k->facts.text_lo, facts->text_lo);
	assert_int_equal(k->facts.text_hi, facts->text_hi);
	assert_int_equal(k->facts.nsigaction, facts->nsigaction);
	for (uint32_t i = 0; i < b->nfns; i++) {
		assert_memory_equal(&a->fns[i], &b->fns[i], sizeof(b->fns[i]));
		assert_string_equal(k->facts.fn[i].name, facts->fn[i].name);
		assert_int_equal(k->facts.fn[i].flags, facts->fn[i].flags);
		assert_int_equal(tramp_code_owner(k->code, i), tramp_code_owner(code, i));
		assert_int_equal(tramp_flow_build(&x, k->code, i), TRAMP_CODE_OK);
		assert_int_equal(tramp_flow_build(&y, code, i), TRAMP_CODE_OK);
		tramp_flow_live(&x);
		tramp_flow_live(&y);
		assert_int_equal(x.flags, y.flags);
		assert_int_equal(x.nblocks, y.nblocks);
		assert_int_equal(x.nops, y.nops);
		for (uint32_t b2 = 0; b2 < x.nblocks; b2++)
			assert_memory_equal(&x.blocks[b2], &y.blocks[b2], sizeof(x.blocks[b2]));
		if (k->waits[i])
			assert_true(tramp_code_one_entry(code, i, &y));
	}
	tramp_flow_free(&x);
	tramp_flow_free(&y);
}

static void says_the_same(void **state)
{
	struct inj_codefacts facts;
	struct inj_symtab *tab;
	struct tramp_code *code;
	struct inj_kept *k;
	size_t waiting = 0;

	(void)state;
	assert_int_equal(inj_symtab_open(object, 0, &tab), INJ_OK);
	assert_int_equal(inj_codefacts_read(object, tab, &facts), INJ_OK);
	assert_int_equal(tramp_code_new(&facts.facts, &code), TRAMP_CODE_OK);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(there(), round);
		k = round ? inj_kept_open(&source) : inj_kept_look(&source);
		assert_non_null(k);
		assert_true(there());
		assert_true(inj_kept_check(k));
		compare(k, &facts, code);
		for (size_t i = 0; i < facts.facts.nfns; i++)
			waiting += k->waits[i];
		assert_true(waiting > facts.facts.nfns / 2);
		inj_kept_free(k);
	}
	tramp_code_free(code);
	inj_codefacts_free(&facts);
	inj_symtab_close(tab);
}

static void without_a_folder(void **state)
{
	struct inj_kept_source alone = { .path = object, .threads = 1 };
	struct inj_kept *k = inj_kept_look(&alone);

	(void)state;
	assert_non_null(k);
	assert_true(inj_kept_check(k));
	inj_kept_free(k);
	alone.path = "/nowhere";
	assert_null(inj_kept_look(&alone));
}

/* ---- damaged ---- */

static uint8_t *bytes;
static size_t size;

static void read_all(void)
{
	struct stat st;
	FILE *f;

	inj_kept_free(inj_kept_look(&source));
	assert_int_equal(stat(name, &st), 0);
	size = (size_t)st.st_size;
	bytes = malloc(size);
	f = fopen(name, "r");
	assert_non_null(f);
	assert_int_equal(fread(bytes, 1, size, f), size);
	fclose(f);
}

/* A new file each time: what is mapped of the old one stays as it was. */
static void write_all(size_t len)
{
	FILE *f;

	unlink(name);
	f = fopen(name, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* Is it found out, at the latest before the flow is used? */
static bool is_refused(void)
{
	struct inj_kept *k = inj_kept_open(&source);
	bool refused = !k || !inj_kept_check(k);

	if (k && refused)
		assert_false(there());
	inj_kept_free(k);
	return refused;
}

static void damaged(void **state)
{
	(void)state;
	read_all();
	write_all(size);
	assert_false(is_refused());
	for (size_t at = 0; at < size; at += at < sizeof(struct inj_kept_head) ? 1 : STEP) {
		bytes[at] ^= 0x10;
		write_all(size);
		assert_true(is_refused());
		bytes[at] ^= 0x10;
	}
	free(bytes);
}

static void cut_off(void **state)
{
	(void)state;
	read_all();
	for (size_t len = 0; len < size; len += 1 + len / 3) {
		write_all(len);
		assert_true(is_refused());
	}
	write_all(size - 1);
	assert_true(is_refused());
	free(bytes);
}

/* ---- of something else ---- */

static void of_another_file(void **state)
{
	(void)state;
	read_all();
	copy("/bin/false", object);
	assert_true(is_refused());
	inj_kept_free(inj_kept_look(&source));
	assert_false(is_refused());
	/* the same bytes, but another file */
	copy("/bin/false", object);
	assert_true(is_refused());
	write_all(size);
	assert_true(is_refused());
	copy("/bin/true", object);
	free(bytes);
}

static void of_a_debug_file(void **state)
{
	struct inj_kept_source with = source;
	struct inj_kept *k;
	struct inj_kept_head h;

	(void)state;
	with.debug_file = true;
	k = inj_kept_look(&with);
	assert_non_null(k);
	h = *(struct inj_kept_head *)(void *)k->map;
	inj_kept_debug(object, &h);
	/* a file beside it that it names */
	snprintf(h.link, sizeof(h.link), "linked");
	inj_kept_debug(object, &h);
	assert_int_equal(h.debug[1].ino, 0);
	snprintf(name, sizeof(name), "%s/linked", folder);
	copy("/bin/true", name);
	inj_kept_debug(object, &h);
	assert_int_not_equal(h.debug[1].ino, 0);
	inj_kept_free(k);
	assert_true(inj_kept_name(&source, name, sizeof(name)));
}

/* ---- several at once ---- */

static size_t files_of(const char *prefix)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
	closedir(d);
	return n;
}

static void at_once(void **state)
{
	size_t before;

	(void)state;
	unlink(name);
	before = files_of("flow-");
	for (int i = 0; i < PROCESSES; i++) {
		if (fork() == 0) {
			struct inj_kept *k = inj_kept_look(&source);

			_exit(!k || !inj_kept_check(k));
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(files_of("flow-"), before + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_the_same),
		cmocka_unit_test(without_a_folder),
		cmocka_unit_test(damaged),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(of_another_file),
		cmocka_unit_test(of_a_debug_file),
		cmocka_unit_test(at_once),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
