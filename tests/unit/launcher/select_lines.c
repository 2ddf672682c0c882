// SPDX-License-Identifier: GPL-3.0-or-later
/* @FILE:LINE, on this program itself, and all functions of a file at once. */
#include "launcher/common/lines.h"
#include "launcher/common/message.h"
#include "launcher/select/select.h"
#include "tests/unit/launcher/support.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char self[] = "/proc/self/exe";
static volatile int sink;

/* Lines of it are looked for, so they are counted from here. */
enum { TWICE_LINE = __LINE__ + 1 };
__attribute__((noinline)) static int twice(int x)
{
	/* a line without code */
	sink = x;

	return 2 * x;
}

__attribute__((noinline)) static int thrice(int x)
{
	sink = x;
	return 3 * x;
}

static uintptr_t load_address(void)
{
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	const ElfW(Ehdr) *ehdr = (const void *)__ehdr_start;

	return ehdr->e_type == ET_DYN ? (uintptr_t)__ehdr_start : 0;
}

static uint64_t linked(int (*fn)(int))
{
	return (uintptr_t)fn - load_address();
}

static bool wants_at(const char *pattern, uint64_t addr, enum select_why *why)
{
	const char *values[] = { pattern }, *name = "x";
	const struct select_options o = { .functions = { values, 1 } };
	/* at least as long as twice(), which has more than one instruction, and less than its padding */
	const struct select_function fn = { .addr = addr, .size = 8, .names = &name, .nnames = 1 };
	struct select_miss miss = { 0 };
	char problem[64];
	size_t at = 0;

	struct select *sel = select_new(&o, problem, sizeof(problem));
	assert_non_null(sel);
	struct select_file *file = select_open(sel, self, SELECT_PROGRAM);
	assert_non_null(file);
	bool wanted = select_wants(file, &fn);
	assert_true(select_next_miss(sel, &at, &miss) == !wanted);
	*why = miss.why;
	select_close(file);
	select_free(sel);
	return wanted;
}

static void check(const char *file, int line, int (*fn)(int), bool wanted, enum select_why why)
{
	enum select_why because;
	char pattern[512];

	snprintf(pattern, sizeof(pattern), "@%s:%d", file, line);
	if (wants_at(pattern, linked(fn), &because) != wanted)
		fail_msg("%s: not %d", pattern, wanted);
	if (!wanted)
		assert_int_equal(because, why);
}

static void test_lines(void **state)
{
	(void)state;
	check(__FILE__, TWICE_LINE, twice, true, 0);
	check("select_lines.c", TWICE_LINE, twice, true, 0);
	check("launcher/select_lines.c", TWICE_LINE, twice, true, 0);
	check("auncher/select_lines.c", TWICE_LINE, twice, false, SELECT_NO_SOURCE);
	check("select_lines.c", TWICE_LINE, thrice, false, SELECT_NO_CODE);
	check("select_lines.c", 100000, twice, false, SELECT_NO_CODE);
	check("nothing.c", TWICE_LINE, twice, false, SELECT_NO_SOURCE);
	/* between functions is in none */
	check("select_lines.c", TWICE_LINE - 2, twice, false, SELECT_NO_CODE);
}

/* A line without code belongs to the function around it. */
static void test_around(void **state)
{
	struct lines *lines = lines_open(self);
	uint64_t *addrs = NULL;
	size_t n = 0;
	int line;

	(void)state;
	assert_non_null(lines);
	assert_int_equal(lines_find(lines, "select_lines.c", TWICE_LINE + 2, &addrs, &n), LINES_FOUND);
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(addrs[i] >= linked(twice) && addrs[i] - linked(twice) < 64);
		const char *file = lines_at(lines, addrs[i], &line);
		assert_non_null(file);
		assert_string_equal(strrchr(file, '/') + 1, "select_lines.c");
		/* the statement after it may have its first instruction in common */
		assert_in_range(line, TWICE_LINE + 3, TWICE_LINE + 5);
	}
	assert_null(lines_at(lines, 1, &line));
	free(addrs);
	lines_close(lines);
}

static void test_no_lines(void **state)
{
	(void)state;
	assert_null(lines_open("/nowhere"));
	write_text("text", "no ELF file");
	assert_null(lines_open("text"));
}

/* ---- a whole file ---- */

/* Parts have no names of their own; a part's parent is before or after it. */
static void test_mark(void **state)
{
	struct tramp_fn fns[] = {
		{ .addr = 0x1000, .size = 32 },
		{ .addr = 0x1020, .size = 16, .flags = TRAMP_FN_PART, .parent = 2 },
		{ .addr = 0x1030, .size = 64 },
		{ .addr = 0x1070, .size = 64 },
	};
	struct inj_fn names[] = {
		{ .name = "alpha" }, { .name = "beta.cold" }, { .name = "beta" }, { .name = "sub_1070" },
	};
	const struct inj_codefacts facts = { .facts = { .fns = fns, .nfns = 4 }, .fn = names };
	const char *f[] = { "*" }, *n[] = { "beta.cold", "alpha" };
	const struct select_options o = { .functions = { f, 1 }, .excluded = { n, 2 } };
	struct inj_symtab *tab = NULL;
	char problem[64];
	bool wanted[4];

	(void)state;
	assert_int_equal(inj_symtab_open(self, 0, &tab), INJ_OK);
	struct select *sel = select_new(&o, problem, sizeof(problem));
	assert_int_equal(select_mark(sel, "/bin/app", SELECT_PROGRAM, &facts, tab, wanted), 2);
	assert_false(wanted[0] || wanted[1]);
	assert_true(wanted[2] && wanted[3]);
	select_free(sel);
	inj_symtab_close(tab);
}

/* The symbols of this program give names too, and near ones. */
static void test_near(void **state)
{
	struct tramp_fn fn = { .addr = linked(thrice), .size = 9 };
	struct inj_fn name = { .name = "another_name" };
	const struct inj_codefacts facts = { .facts = { .fns = &fn, .nfns = 1 }, .fn = &name };
	const char *f[] = { "thrce", "thrice" };
	const struct select_options o = { .functions = { f, 2 } };
	struct inj_symtab *tab = NULL;
	struct select_miss miss;
	char problem[64];
	bool wanted[1];
	size_t at = 0;

	(void)state;
	assert_int_equal(inj_symtab_open(self, 0, &tab), INJ_OK);
	struct select *sel = select_new(&o, problem, sizeof(problem));
	assert_int_equal(select_mark(sel, self, SELECT_PROGRAM, &facts, tab, wanted), 1);
	inj_symtab_close(tab);
	assert_true(wanted[0]);
	assert_true(select_next_miss(sel, &at, &miss));
	assert_string_equal(miss.pattern, "thrce");
	assert_non_null(miss.near);
	assert_string_equal(miss.near->v[0].text, "thrice");
	capture_begin(2);
	assert_int_equal(select_warn(sel, false), 1);
	assert_non_null(strstr(capture_end(), "-F thrce: no such function; did you mean 'thrice'"));
	select_free(sel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_around), cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_mark),  cmocka_unit_test(test_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
