// SPDX-License-Identifier: GPL-3.0-or-later
/* Prototypes from text and from debug information, and the modules written from them. */
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/module/modnew.h"
#include "launcher/module/proto.h"
#include "tests/unit/launcher/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sonde can be built, and used, without. */
static void need_libclang(void)
{
	struct proto_list list = { 0 };

	write_text("probe.c", "int f(void);\n");
	int status = proto_from_source(&list, "probe.c", "probe.c", true, NULL);
	proto_list_free(&list);
	if (status)
		skip();
}

static void parse(struct proto_list *list, const char *text)
{
	char source[1024];

	*list = (struct proto_list){ 0 };
	snprintf(source, sizeof(source), "#include <stdint.h>\n#include <sys/types.h>\n%s\n", text);
	write_text("text.c", source);
	capture_begin(2);
	(void)!proto_from_source(list, "text.c", "text.c", true, NULL);
	capture_end();
}

/* "ret|ret class|param class param;..." of one prototype. */
static char *describe(const struct proto *p)
{
	static char text[2048];
	size_t len = (size_t)snprintf(text, sizeof(text), "%s|%d|", p->ret, p->ret_class);

	for (size_t i = 0; i < p->nparams; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d %s", i ? "; " : "",
					p->params[i].class, p->params[i].decl);
	return text;
}

static void test_prototypes(void **state)
{
	static const char *const cases[][3] = {
		{ "double f(int n, double *a);", "f", "double|6|2 int n; 7 double *a" },
		{ "extern char *f(const char *const s) __attribute__((pure));", "f",
		  "char *|7|7 const char *const s" },
		{ "void f(void);", "f", "void|1|" },
		{ "int f(int, char *[], double [3], float);", "f",
		  "int|2|2 int a1; 7 __typeof__(char *[]) a2; 7 __typeof__(double[3]) a3; 6 float a4" },
		{ "void q(void *b, int (*cmp)(const void *, const void *));", "q",
		  "void|1|7 void *b; 7 __typeof__(int (*)(const void *, const void *)) cmp" },
		{ "void (*s(int sig, void (*h)(int)))(int);", "s",
		  "__typeof__(void (*)(int))|7|2 int sig; 7 __typeof__(void (*)(int)) h" },
		{ "int (f)(int c);", "f", "int|2|2 int c" },
		{ "unsigned long long f(unsigned char c, long l, _Bool b);", "f",
		  "unsigned long long|5|4 unsigned char c; 3 long l; 4 _Bool b" },
		{ "struct s *f(struct s v, enum e x);", "f", "struct s *|7|0 struct s v; 2 enum e x" },
		{ "long double f(_Complex double z, __int128 i);", "f",
		  "long double|6|0 _Complex double z; 0 __int128 i" },
		{ "size_t f(uint32_t a, int64_t b, ssize_t c);", "f",
		  "size_t|5|4 uint32_t a; 3 int64_t b; 3 ssize_t c" },
		{ "typedef unsigned long id; typedef id *idp; int f(id a, idp b);", "f",
		  "int|2|5 id a; 7 idp b" },
		{ "typedef int (*callback)(void *); void f(callback c);", "f", "void|1|7 callback c" },
		{ "int /* a */ f( // b\n int x) ;", "f", "int|2|2 int x" },
		{ "static inline int g(void) { if (1) { return 2; } return 3; } int f(int y);", "f",
		  "int|2|2 int y" },
		{ "int f(int x) { return x; }", "f", "int|2|2 int x" },
		{ "struct s { int (*m)(int); } *f(int a);", "f", "struct s *|7|2 int a" },
		{ "int f(void (int), int g(double));", "f", "int|2|7 __typeof__(void (int)) a1; 7 __typeof__(int (double)) g" },
		{ "int x, *y; int f(int z); extern int array[];", "f", "int|2|2 int z" },
		{ "__extension__ extern int f(char *__restrict s) __asm__(\"f64\");", "f",
		  "int|2|7 char *restrict s" },
		{ "[[nodiscard]] int f([[maybe_unused]] int x);", "f", "int|2|2 int x" },
	};

	(void)state;
	need_libclang();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proto_list list;

		parse(&list, cases[i][0]);
		if (list.n != 1)
			fail_msg("%s: %zu prototypes", cases[i][0], list.n);
		assert_null(list.v[0].refused);
		assert_string_equal(list.v[0].symbol, cases[i][1]);
		assert_string_equal(describe(&list.v[0]), cases[i][2]);
		proto_list_free(&list);
	}
}

static void test_not_wrapped(void **state)
{
	static const char *const refused[][2] = {
		{ "int printf(const char *f, ...);", "variable arguments" },
		{ "int f();", "without parameters" },
		{ "int f(struct { int x; } s);", "has no name" },
	};
	static const char *const none[] = {
		"", ";;;", "int x;", "typedef int f(int);", "int (*pointer)(int);", "static int f(int x);",
		"struct s { int f(int); };", "#define f(x) int f(int x);", "int", "f(int x)", "((((", "}}}",
		"int f(", "int (*(*(*(", "\"text", "'", "/* open",
	};

	(void)state;
	need_libclang();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct proto_list list;

		parse(&list, refused[i][0]);
		assert_int_equal(list.n, 1);
		assert_non_null(list.v[0].refused);
		assert_non_null(strstr(list.v[0].refused, refused[i][1]));
		proto_list_free(&list);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct proto_list list;

		parse(&list, none[i]);
		if (list.n && !list.v[0].refused && strcmp(none[i], "int f(") != 0)
			fail_msg("%s: taken for %s", none[i], describe(&list.v[0]));
		proto_list_free(&list);
	}
}

/* All of a header, or by name what it includes too. */
static void test_main_file(void **state)
{
	const char *patterns[] = { "g*" };
	const struct select_options some = { .functions = { patterns, 1 } };
	char problem[256];
	struct select *sel = select_new(&some, problem, sizeof(problem));
	struct select_miss miss;
	size_t at = 0;
	struct proto_list list = { 0 };

	(void)state;
	need_libclang();
	write_text("other.h", "typedef long T; int g(int b);\n");
	write_text("mine.h", "int f(int a);\n#include \"other.h\"\nint h(T c);\n");
	write_text("a.c", "#include \"mine.h\"\nint i(int d);\n");
	assert_int_equal(proto_from_source(&list, "a.c", "mine.h", false, NULL), 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0].symbol, "f");
	assert_string_equal(describe(&list.v[1]), "int|2|3 T c");
	proto_list_free(&list);
	assert_int_equal(proto_from_source(&list, "a.c", "mine.h", false, sel), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0].symbol, "g");
	assert_false(select_next_miss(sel, &at, &miss));
	select_free(sel);
	proto_list_free(&list);
}

/* ---- the text of modules ---- */

static void module_new_ok(int argc, const char *const *args, const char *said)
{
	char *argv[16];

	for (int i = 0; i < argc; i++)
		argv[i] = strdup(args[i]);
	argv[argc] = NULL;
	capture_begin(1);
	int status = module_new(argc, argv);
	const char *text = capture_end();
	if (status != 0 || !strstr(text, said))
		fail_msg("status %d: %s", status, text);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
}

static void module_new_refused(int argc, const char *const *args, const char *said)
{
	char *argv[16], *copies[16];

	for (int i = 0; i < argc; i++)
		argv[i] = copies[i] = strdup(args[i]);
	argv[argc] = NULL;
	capture_begin(2);
	int status = module_new(argc, argv);
	const char *text = capture_end();
	if (status != EXIT_USAGE || !strstr(text, said))
		fail_msg("status %d: %s", status, text);
	for (int i = 0; i < argc; i++)
		free(copies[i]);
}

#define ARGS(...) (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)), (const char *[]){ __VA_ARGS__ }

/* Reads a fresh module back; the wrapped symbols, sorted, joined by blanks. */
static void expect_wraps(const char *source, const char *needs, const char *wanted)
{
	struct modfile m;
	char text[1024] = "";

	assert_int_equal(modfile_build(source, "fresh.so"), 0);
	assert_int_equal(modfile_read("fresh.so", "fresh.so", &m), 0);
	for (size_t left = m.nwraps; left > 0; left--) {
		size_t least = 0;

		for (size_t i = 1; i < left; i++)
			least = strcmp(m.wraps[i].symbol, m.wraps[least].symbol) < 0 ? i : least;
		strcat(text, m.wraps[least].symbol);
		strcat(text, " ");
		struct modfile_wrap last = m.wraps[left - 1];
		m.wraps[left - 1] = m.wraps[least];
		m.wraps[least] = last;
	}
	assert_string_equal(text, wanted);
	if (needs)
		assert_string_equal(m.needs, needs);
	else
		assert_null(m.needs);
	modfile_free(&m);
}

static void test_new_from_prototypes(void **state)
{
	(void)state;
	need_libclang();
	module_new_ok(ARGS("new", "one", "--function", "double compute(int n, double *a);", "--function",
			   "void (*sig(int s, void (*h)(int)))(int);", "--function",
			   "int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j,"
			   " int k, int l, int m, int result);", "--function",
			   "long double l(struct big *p, FILE *f);"),
		      "one.c: 4 wrappers");
	expect_wraps("one.c", NULL, "compute l many sig ");
}

static void test_new_is_checked(void **state)
{
	(void)state;
	need_libclang();
	module_new_ok(ARGS("new", "kept", "--prototype", "int f(int a);"), "kept.c: 1 wrapper;");
	expect_wraps("kept.c", NULL, "f ");
	module_new_refused(ARGS("new", "kept", "--prototype", "int g(int a);"), "--force replaces it");
	expect_wraps("kept.c", NULL, "f ");
	module_new_ok(ARGS("new", "kept", "--force", "--prototype", "int g(int a);"), "kept.c");
	expect_wraps("kept.c", NULL, "g ");

	module_new_refused(ARGS("new"), "no name");
	module_new_refused(ARGS("new", "x"), "what is to be wrapped?");
	module_new_refused(ARGS("new", "a/b", "--prototype", "int g(int a);"), "letters, digits");
	module_new_refused(ARGS("new", "x", "--function", "hello"), "not a function's prototype");
	module_new_refused(ARGS("new", "x", "--prototype", "int f(int, ...);"), "variable arguments");
	module_new_refused(ARGS("new", "x", "--prototype", "int f(unheard_of *p);"), "--header");
	module_new_refused(ARGS("new", "x", "--header", "no_such_header.h"), "file not found");
	module_new_refused(ARGS("new", "x", "--header", "stdio.h", "nonesuch*"), "nonesuch*: no such function");
	module_new_refused(ARGS("new", "x", "--library", "./none.so"), "none.so: cannot be read");
	assert_int_not_equal(access("x.c", F_OK), 0);
}

static void test_new_from_header(void **state)
{
	(void)state;
	need_libclang();
	write_text("api.h", "#include <sys/stat.h>\n#ifndef API\n#define API(t) extern t\n"
			    "typedef struct handle handle;\ntypedef enum { A, B } mode_e;\n"
			    "typedef struct { double re, im; } complex_t;\n"
			    "API(handle *) api_open(const char *name, mode_e m);\n"
			    "API(complex_t) api_mul(complex_t a, complex_t b);\n"
			    "API(int) api_stat(handle *, struct stat *st);\n"
			    "API(void) api_log(const char *fmt, ...);\n"
			    "static inline int api_two(void) { return 2; }\n#endif\n");
	module_new_ok(ARGS("new", "api", "--header", "api.h"), "1 function left out");
	expect_wraps("api.c", NULL, "api_mul api_open api_stat ");
	module_new_ok(ARGS("new", "api2", "--header", "api.h", "*open", "stat", "--function",
			   "handle *api_dup(handle *h, struct unheard *u);"), "api2.c: 3 wrappers");
	module_new_ok(ARGS("new", "std", "--header", "stdlib.h", "*alloc", "qsort"), "std.c");
	assert_int_equal(unlink("api2.c"), 0);
}

static void test_whole_system_headers(void **state)
{
	static const char *const headers[] = { "stdio.h", "stdlib.h", "string.h", "unistd.h", "pthread.h",
					       "sys/socket.h", "time.h" };

	(void)state;
	need_libclang();
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		module_new_ok(ARGS("new", "sys", "--force", "--header", headers[i]), "sys.c: ");
}

static void compile(const char *file, const char *text, const char *command)
{
	write_text(file, text);
	assert_int_equal(system(command), 0);
}

static void test_new_from_library(void **state)
{
	const char *cc = getenv("CC");
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "%s -O2 -g -fPIC -shared -Wl,-soname,libt.so.1 -o libt.so t.c",
		 cc ? cc : "cc");
	compile("t.c", "struct big { long a[4]; }; enum e { A, B }; typedef const char *str;\n"
		       "int add(int a, long b, double c, float d, str s, enum e x, unsigned char u)\n"
		       "{ return a + b + c + d + !!s + x + u; }\n"
		       "struct big by_value(void) { struct big b = { { 1 } }; return b; }\n"
		       "void takes(struct big b) { (void)b; }\nvoid va(int n, ...) { (void)n; }\n"
		       "static __attribute__((noinline)) int hidden(int x) { return x * x; }\n"
		       "int shown(int *int_) { return hidden(*int_); }\nvoid none(void) {}\n", command);
	module_new_ok(ARGS("new", "lib", "--library", "./libt.so"), "3 functions left out");
	expect_wraps("lib.c", "libt.so.1", "add none shown ");
	module_new_ok(ARGS("new", "lib2", "--library", "./libt.so", "sh*"), "lib2.c: 1 wrapper;");
	expect_wraps("lib2.c", "libt.so.1", "shown ");
	module_new_refused(ARGS("new", "lib3", "--library", "./libt.so", "hidden"), "hidden: no such function");
	assert_int_equal(system("strip libt.so"), 0);
	module_new_refused(ARGS("new", "lib3", "--library", "./libt.so"), "no debug information");
	module_new_refused(ARGS("new", "lib3", "--library", "t.c"), "cannot be read as an ELF file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prototypes),
		cmocka_unit_test(test_not_wrapped),
		cmocka_unit_test(test_main_file),
		cmocka_unit_test(test_new_from_prototypes),
		cmocka_unit_test(test_new_is_checked),
		cmocka_unit_test(test_new_from_header),
		cmocka_unit_test(test_whole_system_headers),
		cmocka_unit_test(test_new_from_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
