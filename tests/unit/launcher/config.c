// SPDX-License-Identifier: GPL-3.0-or-later
/* What a configuration's locations and keys are taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "launcher/config/config.h"

static void signature(const char *text, const char *expected)
{
	char *got = config_signature(text);

	assert_string_equal(got, expected);
	free(got);
}

static void signatures(void **state)
{
	(void)state;
	signature("kernel", "kernel");
	signature("kernel(void)", "kernel()");
	signature("kernel()", "kernel()");
	signature("bar(int,int)", "bar(int, int)");
	signature("bar ( int , char  * )", "bar(int, char*)");
	signature("f(const char *, const T &)", "f(char const*, T const&)");
	signature("f(const std::vector<int, A<T>> &, long)", "f(std::vector<int, A<T>> const&, long)");
	signature("ns::operator()(void)", "ns::operator()()");
	signature("ns::f(void) const", "ns::f() const");
	signature("/f\\(void\\)/", "/f\\(void\\)/");
	signature("f(", "f(");
	signature("f(*", "f(*");
}

/* As "kind:name:file:line-last", with blanks between places; or why not. */
static void places(const char *text, const char *expected)
{
	static const char *const kinds[] = { "function", "loop", "lines", "variable", "library", "all" };
	struct config_entry e = { 0 };
	const char *wrong = config_places_parse(&e, text, (struct config_mark){ 1, 1 });
	char got[1024] = "";

	for (size_t i = 0; !wrong && i < e.nplaces; i++) {
		const struct config_place *p = &e.places[i];

		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s|%s|%s|%u-%u", i ? ";" : "", kinds[p->kind],
			 p->name ? p->name : "", p->file ? p->file : "", p->line, p->last);
	}
	assert_string_equal(wrong ? wrong : got, expected);
	for (size_t i = 0; i < e.nplaces; i++)
		config_place_free(&e.places[i]);
	free(e.places);
}

static void locations(void **state)
{
	static const char loop[] = "not like 'loop at foo.c:12'", lines[] = "not like 'lines foo.c:10-20'";

	(void)state;
	/* as in the paper */
	places("loop at foo.cc:565, function bar(int, int)", "loop||foo.cc|565-565;function|bar(int, int)||0-0");
	places("function f, g(int, int), all", "function|f||0-0;function|g(int, int)||0-0;all|||0-0");
	places("function '/a{1,2}/', line a/b.c:7", "function|/a{1,2}/||0-0;lines||a/b.c|7-7");
	places("function operator<(T, T)", "function|operator<(T, T)||0-0");
	places("functions f@lib-x", "function|f@lib-x||0-0");
	places("function alloc", "function|alloc||0-0");
	places("lines c:d.c:3-9", "lines||c:d.c|3-9");
	places("variable x, library libz", "variable|x||0-0;library|libz||0-0");
	places("loop at foo.c", loop);
	places("loop at foo.c:0", loop);
	places("loop at foo.c:1-2", loop);
	places("loop at :5", loop);
	places("lines foo.c:1-", lines);
	places("lines foo.c:99999999999", lines);
	places("lines foo.c:9-3", "the last line is before the first");
	places("all of it", "nothing follows 'all'");
	places("variable", "a name is missing");
	places("function @f.c:3", "a line of the source is 'lines FILE:LINE'");
	places("function /((((a{200}){200}){200}){200})/", "too many repetitions in the expression");
}

/* As "kind:name:function:file:line"; or why not. */
static void variable(const char *text, const char *expected)
{
	static const char *const kinds[] = { "plain", "in", "at" };
	struct config_variable v;
	const char *wrong = config_variable_parse(&v, text);
	char got[256];

	if (!wrong)
		snprintf(got, sizeof(got), "%s|%s|%s|%s|%u", kinds[v.kind], v.name, v.function ? v.function : "", v.file ? v.file : "", v.line);
	assert_string_equal(wrong ? wrong : got, expected);
	if (!wrong)
		config_variable_free(&v);
}

static void variables(void **state)
{
	static const char in[] = "not like 'f:counter' or 'malloc in f'", at[] = "not like 'malloc at solve.c:12'";

	(void)state;
	variable("grid", "plain|grid|||0");
	variable("ns::grid[].pos.x", "plain|ns::grid[].pos.x|||0");
	variable("f:n", "in|n|f||0");
	variable("ns::f(void):n.x", "in|n.x|ns::f()||0");
	variable("n.x in ns::f(int,int)", "in|n.x|ns::f(int, int)||0");
	variable("operator new[] in f", "in|operator new[]|f||0");
	variable("malloc at a/b c.c:12", "at|malloc||a/b c.c|12");
	variable("malloc[].next  at  c:d.c:7 ", at);
	variable("malloc[].next  at  c:d.c:7", "at|malloc[].next||c:d.c|7");
	variable("f:", in);
	variable(":n", in);
	variable("n in ", in);
	variable(" in f", in);
	variable("malloc at f.c", at);
	variable("malloc at f.c:0", at);
	variable("malloc at f.c:99999999999", at);
	variable("malloc at :3", at);
	variable(" at f.c:3", at);
	variable("", "a name is missing");
	variable("  ", "a name is missing");
	variable("::", "plain|::|||0");
}

static void keys(void **state)
{
	static const char text[] = "program: p\n"
				   "instrumentation:\n"
				   "  - type: value\n"
				   "    location: [function f, \"loop at a.c:1\"]\n"
				   "    arguments: [n, return]\n"
				   "    when: { call: 3-, argument: n>=-1.5, rank: 0, thread: 2 }\n"
				   "    output: o\n"
				   "    top: 1K\n"
				   "  - { type: stride, location: all, output: trace }\n";
	char error[CONFIG_ERROR_MAX];
	struct config c;

	(void)state;
	assert_true(config_parse(&c, text, sizeof(text) - 1, error));
	assert_int_equal(c.n, 2);
	assert_string_equal(c.program, "p");
	assert_int_equal(c.v[0].type, CONFIG_VALUE);
	assert_int_equal(c.v[0].nplaces, 2);
	assert_int_equal(c.v[0].places[1].at.line, 4);
	assert_int_equal(c.v[0].places[1].at.column, 28);
	assert_int_equal(c.v[0].arguments.n, 2);
	assert_int_equal(c.v[0].when.first, 3);
	assert_true(c.v[0].when.last == UINT64_MAX);
	assert_string_equal(c.v[0].when.argument, "n");
	assert_int_equal(c.v[0].when.compare, CONFIG_GREATER_EQUAL);
	assert_true(c.v[0].when.value == -1.5 && c.v[0].when.has_rank && !c.v[0].when.rank && c.v[0].when.thread == 2);
	assert_int_equal(c.v[0].top, 1024);
	assert_null(c.v[1].output);
	config_free(&c);
	/* cut off anywhere, it is one or not, but nothing is left */
	for (size_t n = 0; n < sizeof(text); n++)
		if (config_parse(&c, text, n, error))
			config_free(&c);
		else
			assert_true(*error && !c.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(signatures), cmocka_unit_test(locations), cmocka_unit_test(variables),
					   cmocka_unit_test(keys) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
