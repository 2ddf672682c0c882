// SPDX-License-Identifier: GPL-3.0-or-later
/* Which functions -F, -N, --libs and --min-size choose, by their names and files. */
#include "launcher/common/message.h"
#include "launcher/select/select.h"
#include "tests/unit/launcher/support.h"

#include <stdlib.h>
#include <string.h>

#define MAX 8

/* A selection from up to MAX values each; freed by done(). */
struct made {
	struct select *sel;
	const char *f[MAX], *n[MAX], *l[MAX];
	char problem[256];
};

static void fill(struct opt_list *list, const char **v, const char *const *from)
{
	*list = (struct opt_list){ .v = v };
	for (; from && from[list->n]; list->n++)
		v[list->n] = from[list->n];
}

static bool make(struct made *m, const char *const *f, const char *const *n, const char *const *l,
		 uint64_t min_size)
{
	struct select_options o = { .min_size = min_size };

	*m = (struct made){ 0 };
	fill(&o.functions, m->f, f);
	fill(&o.excluded, m->n, n);
	fill(&o.libs, m->l, l);
	m->sel = select_new(&o, m->problem, sizeof(m->problem));
	return m->sel != NULL;
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static bool asks(struct select *sel, const char *path, enum select_kind kind, const char *name,
		 uint64_t size)
{
	struct select_file *file = select_open(sel, path, kind);
	const struct select_function fn = { .addr = 0x1000, .size = size, .names = &name, .nnames = 1 };

	assert_non_null(file);
	bool wanted = select_wants(file, &fn);
	select_close(file);
	return wanted;
}

static bool chooses(const char *pattern, const char *name)
{
	struct made m;

	assert_true(make(&m, LIST(pattern), NULL, NULL, 0));
	bool wanted = asks(m.sel, "/bin/app", SELECT_PROGRAM, name, 100);
	select_free(m.sel);
	return wanted;
}

static void test_names(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool wanted;
	} cases[] = {
		{ "*", "main", true },
		{ "main", "main", true },
		{ "main", "main2", false },
		{ "ma", "main", false },
		{ "m?in", "main", true },
		{ "[a-m]*", "main", true },
		{ "[n-z]*", "main", false },
		{ "a,main,b", "main", true },
		{ "/^ma/", "main", true },
		{ "/ain$/", "main", true },
		{ "/^(a|b|ma)in$/", "main", true },
		{ "/^in/", "main", false },
		{ "/a,b/,main", "main", true },
		{ "/m{1,2}ain/", "main", true },
		{ "/a/b/", "main", false },
		/* what compilers append */
		{ "solve", "solve.constprop.0", true },
		{ "solve", "solve.isra.0.part.1", true },
		{ "solve", "solve.other", false },
		{ "solve.constprop.0", "solve.constprop.0", true },
		{ "solve", "solver.constprop.0", false },
		/* C++: ns::f(int, char) */
		{ "_ZN2ns1fEic", "_ZN2ns1fEic", true },
		{ "ns::f", "_ZN2ns1fEic", true },
		{ "ns::*", "_ZN2ns1fEic", true },
		{ "f", "_ZN2ns1fEic", false },
		{ "ns::f(int, char)", "_ZN2ns1fEic", true },
		{ "ns::f(int,char)", "_ZN2ns1fEic", true },
		{ "ns::f(int)", "_ZN2ns1fEic", false },
		{ "ns::f(*char)", "_ZN2ns1fEic", true },
		{ "*int*", "_ZN2ns1fEic", false }, /* not the parameters */
		{ "/^ns::f$/", "_ZN2ns1fEic", true },
		{ "/int/", "_ZN2ns1fEic", false },
		{ "/\\(int/", "_ZN2ns1fEic", true },
		/* a template has a return type, which no name has: void ns::g<int, char>(int) */
		{ "ns::g<int, char>", "_ZN2ns1gIicEEvi", true },
		{ "x,ns::g<int,char>", "_ZN2ns1gIicEEvi", true },
		{ "ns::[a,g]<int,char>", "_ZN2ns1gIicEEvi", true },
		{ "/^ns::g<int, ?char>$/", "_ZN2ns1gIicEEvi", true },
		{ "void ns::g*", "_ZN2ns1gIicEEvi", false },
		{ "ns::g<*>", "_ZN2ns1gIicEEvi", true },
		/* a template's arguments and its parameters: those that the pattern has are compared */
		{ "ns::g", "_ZN2ns1gIicEEvi", true },
		{ "ns::g(int)", "_ZN2ns1gIicEEvi", true },
		{ "ns::g<int,char>(int)", "_ZN2ns1gIicEEvi", true },
		{ "ns::g<int,char>(char)", "_ZN2ns1gIicEEvi", false },
		{ "ns::g<char,int>", "_ZN2ns1gIicEEvi", false },
		{ "ns::g(char)", "_ZN2ns1gIicEEvi", false },
		{ "name", "_Z4nameB5cxx11i", true },
		{ "name(int)", "_Z4nameB5cxx11i", true },
		{ "name(char)", "_Z4nameB5cxx11i", false },
		{ "Vec::push", "_ZN3VecIdE4pushEd", true },
		{ "Vec<double>::push(double)", "_ZN3VecIdE4pushEd", true },
		{ "Vec<int>::push", "_ZN3VecIdE4pushEd", false },
		{ "/^Vec::push$/", "_ZN3VecIdE4pushEd", true },
		{ "operator<<", "_ZlsIcERSoS0_T_", true }, /* operator<< <char> */
		{ "operator<", "_ZlsIcERSoS0_T_", false },
		{ "X::operator->", "_ZN1XptEv", true },
		/* names that a module has wrapped, as it wrote them */
		{ "ns::f", "ns::f(int, char)", true },
		{ "ns::f(int,char)", "ns::f(int, char)", true },
		{ "ns::f(int)", "ns::f(int, char)", false },
		{ "(anonymous namespace)::f", "(anonymous namespace)::f(int)", true },
		{ "X::operator()", "X::operator()(int)", true },
		{ "main.(*T).f", "main.(*T).f", true }, /* Go */
		{ "main.", "main.(*T).f", false },
		/* Fortran: procedures of modules by gfortran, Intel's compiler and flang; others */
		{ "relax", "__phys_MOD_relax", true },
		{ "phys::relax", "__phys_MOD_relax", true },
		{ "phys::*", "__phys_MOD_relax", true },
		{ "/^phys::re/", "__phys_MOD_relax", true },
		{ "__phys_MOD_relax", "__phys_MOD_relax", true },
		{ "relax", "__phys_MOD_relax.constprop.0", true },
		{ "phys", "__phys_MOD_relax", false },
		{ "other::relax", "__phys_MOD_relax", false },
		{ "phys::relax", "phys_mp_relax_", true },
		{ "phys::relax", "_QMphysPrelax", true },
		{ "relax", "_QMphysPrelax", true },
		{ "phys::solve::inner", "_QMphysFsolvePinner", true },
		{ "relax", "_QPrelax", true },
		{ "relax", "relax_", true },
		{ "my_relax", "my_relax__", true },
		{ "relax_", "relax_", true },
		{ "relax", "relax___", false },
		{ "relax", "_relax_", false },
		/* a function in a function, of C or Fortran */
		{ "inner", "inner.1234", true },
		{ "inner", "inner.1234x", false },
		/* operators, and commas after them */
		{ "ns::operator<<,main", "main", true },
		{ "ns::operator,", "_ZN2nscmEii", true },
		{ "operator()*,main", "main", true },
		/* a clone of C++ */
		{ "ns::f", "_ZN2ns1fEic.constprop.0", true },
		/* Rust, both ways: hello::main */
		{ "hello::main", "_ZN5hello4main17h0123456789abcdefE", true },
		{ "hello::main", "_RNvCs1234_5hello4main", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (chooses(cases[i].pattern, cases[i].name) != cases[i].wanted)
			fail_msg("'%s' and %s: not %d", cases[i].pattern, cases[i].name, cases[i].wanted);
	}
}

static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "", "an empty name" },       { "a,,b", "an empty name" },   { "a,", "an empty name" },
		{ "/(/", "(" },		       { "//", "empty expression" },  { "/abc", "no second '/'" },
		{ "/abc/x", "no second '/'" }, { "@file.c", "@FILE:LINE" },   { "@:3", "@FILE:LINE" },
		{ "@file.c:", "@FILE:LINE" },  { "@file.c:0", "line number" }, { "@file.c:3x", "line number" },
		{ "@a:99999999999", "line number" }, { "f@", "nothing after '@'" },
		{ "@", "@FILE:LINE" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made m;

		if (make(&m, LIST("good", cases[i][0]), NULL, NULL, 0))
			fail_msg("'%s' was accepted", cases[i][0]);
		if (!strstr(m.problem, cases[i][1]))
			fail_msg("'%s': %s", cases[i][0], m.problem);
		assert_false(make(&m, LIST("good"), LIST(cases[i][0]), NULL, 0));
	}
	struct made m;
	assert_false(make(&m, LIST("good"), NULL, LIST(""), 0));
}

static void test_excluded(void **state)
{
	struct made m;

	(void)state;
	assert_true(make(&m, LIST("*"), LIST("a*,b", "/^c/"), NULL, 16));
	assert_true(asks(m.sel, "/bin/app", SELECT_PROGRAM, "main", 16));
	assert_false(asks(m.sel, "/bin/app", SELECT_PROGRAM, "main", 15));
	assert_false(asks(m.sel, "/bin/app", SELECT_PROGRAM, "ab", 100));
	assert_false(asks(m.sel, "/bin/app", SELECT_PROGRAM, "b", 100));
	assert_false(asks(m.sel, "/bin/app", SELECT_PROGRAM, "cc", 100));
	assert_true(asks(m.sel, "/bin/app", SELECT_PROGRAM, "bc", 100));
	select_free(m.sel);
}

/* A function is chosen by any of its names, and left out by any. */
static void test_aliases(void **state)
{
	const char *names[] = { "a", "b", "c", "d", "e", "f" };
	const struct select_function fn = { .size = 9, .names = names, .nnames = 6 };
	struct made m;

	(void)state;
	assert_true(make(&m, LIST("f"), NULL, NULL, 0));
	struct select_file *file = select_open(m.sel, "/bin/app", SELECT_PROGRAM);
	assert_true(select_wants(file, &fn));
	select_close(file);
	select_free(m.sel);
	assert_true(make(&m, LIST("f"), LIST("c"), NULL, 0));
	file = select_open(m.sel, "/bin/app", SELECT_PROGRAM);
	assert_false(select_wants(file, &fn));
	select_close(file);
	select_free(m.sel);
}

static void test_files(void **state)
{
	static const char app[] = "/opt/app", libc[] = "/lib/libc.so.6", libz[] = "/lib/libz.so.1.2",
			  ld[] = "/lib64/ld-linux-x86-64.so.2";
	struct made m;

	(void)state;
	assert_true(make(&m, LIST("*"), NULL, NULL, 0));
	assert_true(select_object(m.sel, app, SELECT_PROGRAM));
	assert_false(select_object(m.sel, libc, SELECT_LIBRARY));
	assert_false(select_object(m.sel, ld, SELECT_LINKER));
	assert_false(asks(m.sel, libc, SELECT_LIBRARY, "puts", 9));
	select_free(m.sel);

	assert_true(make(&m, LIST("*"), LIST("gets@libc", "main@libz"), LIST("*"), 0));
	assert_true(select_object(m.sel, app, SELECT_PROGRAM));
	assert_true(select_object(m.sel, libc, SELECT_LIBRARY));
	assert_false(select_object(m.sel, ld, SELECT_LINKER));
	assert_true(asks(m.sel, libc, SELECT_LIBRARY, "puts", 9));
	assert_false(asks(m.sel, libc, SELECT_LIBRARY, "gets", 9));
	assert_true(asks(m.sel, libz, SELECT_LIBRARY, "gets", 9));
	assert_true(asks(m.sel, app, SELECT_PROGRAM, "main", 9));
	select_free(m.sel);

	/* one library, by name, beginning of a name, pattern; the program is not meant then */
	for (const char *const *p = LIST("puts@libc.so.6", "puts@libc", "puts@libc*", "/^puts$/@libc"); *p;
	     p++) {
		assert_true(make(&m, LIST(*p), NULL, NULL, 0));
		assert_false(select_object(m.sel, app, SELECT_PROGRAM));
		assert_false(select_object(m.sel, libz, SELECT_LIBRARY));
		assert_true(select_object(m.sel, libc, SELECT_LIBRARY));
		assert_true(asks(m.sel, libc, SELECT_LIBRARY, "puts", 9));
		assert_false(asks(m.sel, libc, SELECT_LIBRARY, "gets", 9));
		assert_false(asks(m.sel, libz, SELECT_LIBRARY, "puts", 9));
		select_free(m.sel);
	}
	assert_true(make(&m, LIST("*@lib"), NULL, NULL, 0));
	assert_false(select_object(m.sel, libc, SELECT_LIBRARY));
	select_free(m.sel);

	/* the linker only by its own name */
	assert_true(make(&m, LIST("*@*"), NULL, LIST("ld*"), 0));
	assert_true(select_object(m.sel, app, SELECT_PROGRAM));
	assert_false(select_object(m.sel, ld, SELECT_LINKER));
	select_free(m.sel);
	assert_true(make(&m, LIST("_dl*@ld-linux*"), NULL, NULL, 0));
	assert_true(select_object(m.sel, ld, SELECT_LINKER));
	assert_true(asks(m.sel, ld, SELECT_LINKER, "_dl_init", 9));
	select_free(m.sel);
}

/* ---- what matches nothing ---- */

static void expect_miss(const struct select *sel, size_t *at, const char *option, const char *pattern,
			enum select_why why)
{
	struct select_miss miss;

	assert_true(select_next_miss(sel, at, &miss));
	assert_string_equal(miss.option, option);
	assert_string_equal(miss.pattern, pattern);
	assert_int_equal(miss.why, why);
}

static void test_misses(void **state)
{
	struct select_miss miss;
	struct made m;
	size_t at = 0;

	(void)state;
	assert_true(make(&m, LIST("*,tiny,none", "f@libz"), LIST("no,main"), LIST("libm", "libq"), 10));
	select_object(m.sel, "/lib/libm.so.6", SELECT_LIBRARY);
	assert_true(asks(m.sel, "/bin/app", SELECT_PROGRAM, "xyz", 100));
	assert_false(asks(m.sel, "/bin/app", SELECT_PROGRAM, "main", 100));
	assert_false(asks(m.sel, "/bin/app", SELECT_PROGRAM, "tiny", 1)); /* too small: but it is there */
	expect_miss(m.sel, &at, "-F", "none", SELECT_NO_FUNCTION);
	expect_miss(m.sel, &at, "-F", "f@libz", SELECT_NO_LIBRARY);
	expect_miss(m.sel, &at, "-N", "no", SELECT_NO_FUNCTION);
	expect_miss(m.sel, &at, "--libs", "libq", SELECT_NO_LIBRARY);
	assert_false(select_next_miss(m.sel, &at, &miss));

	/* those of libraries are printed in the end only, and all of them once */
	capture_begin(2);
	assert_int_equal(select_warn(m.sel, false), 2);
	assert_int_equal(select_warn(m.sel, false), 0);
	assert_non_null(strstr(capture_end(), "-F none: no such function"));
	capture_begin(2);
	assert_int_equal(select_warn(m.sel, true), 2);
	assert_int_equal(select_warn(m.sel, true), 0);
	assert_non_null(strstr(capture_end(), "-F f@libz: no such library"));

	/* the library comes, without that function; then with it */
	assert_false(asks(m.sel, "/lib/libz.so", SELECT_LIBRARY, "g", 100));
	at = 0;
	expect_miss(m.sel, &at, "-F", "none", SELECT_NO_FUNCTION);
	expect_miss(m.sel, &at, "-F", "f@libz", SELECT_NO_FUNCTION);
	assert_true(asks(m.sel, "/lib/libz.so", SELECT_LIBRARY, "f", 100));
	at = 0;
	expect_miss(m.sel, &at, "-F", "none", SELECT_NO_FUNCTION);
	expect_miss(m.sel, &at, "-N", "no", SELECT_NO_FUNCTION);
	select_free(m.sel);
}

/* What may have been meant, of the functions that there are. */
static void test_near(void **state)
{
	static const struct {
		const char *pattern, *name, *near; /* NULL: is not like it */
	} cases[] = {
		{ "sovle", "solve", "'solve'" },
		{ "Solve", "solve", "'solve'" },
		{ "solve", "other", NULL },
		{ "sovle*", "solve", NULL },
		{ "slove_it", "solve_it", "'solve_it'" },
		{ "SOLVE*", "solver", "'solver'" },
		{ "solve", "_ZN3num5solveIdEEvi", "'num::solve<double>'" },
		{ "sol*", "_ZN3num5solveIdEEvi", "'num::solve<double>'" },
		{ "nun::solve", "_ZN3num5solveEi", "'num::solve'" },
		{ "other::solve", "_ZN3num5solveEi", "'num::solve'" },
		{ "num::solve(double)", "_ZN3num5solveEi", "'num::solve(int)'" },
		{ "Relax", "__phys_MOD_relax", "'phys::relax'" },
		{ "relx", "__phys_MOD_relax", "'phys::relax'" },
		{ "physics::relax", "__phys_MOD_relax", "'phys::relax'" },
		{ "relx", "relax_", "'relax'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct select_function fn = { .names = &cases[i].name, .nnames = 1 };
		struct select_miss miss = { 0 };
		char text[SELECT_MISS_TEXT];
		struct made m;
		size_t at = 0;

		assert_true(make(&m, LIST(cases[i].pattern), NULL, NULL, 0));
		assert_false(select_wants_in(m.sel, "/bin/app", &fn));
		assert_true(select_next_miss(m.sel, &at, &miss));
		select_miss_text(&miss, text, sizeof(text));
		const char *hint = strstr(text, "did you mean ");
		if (!cases[i].near ? hint != NULL : !hint || !strstr(hint, cases[i].near))
			fail_msg("%s and %s: %s", cases[i].pattern, cases[i].name, text);
		select_free(m.sel);
	}
}

/* A static program has no libraries: "all of them" is nothing to complain about. */
static void test_static(void **state)
{
	struct made m;
	size_t at = 0;
	struct select_miss miss;

	(void)state;
	assert_true(make(&m, LIST("f", "f@libz"), NULL, LIST("*", "libq"), 0));
	assert_true(asks(m.sel, "/app", SELECT_PROGRAM, "f", 100));
	select_no_libraries(m.sel);
	expect_miss(m.sel, &at, "-F", "f@libz", SELECT_STATIC);
	expect_miss(m.sel, &at, "--libs", "libq", SELECT_STATIC);
	assert_false(select_next_miss(m.sel, &at, &miss));
	select_free(m.sel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_excluded),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_misses),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_static),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
