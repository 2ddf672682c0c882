// SPDX-License-Identifier: GPL-3.0-or-later
/* Every macro of <sonde/module.h>, with every compiler at hand, at several optimizations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/modules/harness.h"

struct triple {
	long a, b, c;
};

static bool open_inside; /* was the pool open in the original function? */

static bool pool_is_open(void)
{
	return harness_pool.owner != 0;
}

static int sample_int(int a, const char *s)
{
	open_inside = pool_is_open();
	return a + (s ? (int)strlen(s) : 0);
}

static void sample_void(int *p)
{
	open_inside = pool_is_open();
	*p = 7;
}

static double sample_double(double x, float y)
{
	return x * y;
}

static struct triple sample_struct(struct triple t, long d)
{
	return (struct triple){ t.a + d, t.b + d, t.c + d };
}

static long sample_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

static int sample_strings(const char *s)
{
	return s != NULL;
}

static int sample_helper(int n)
{
	assert_true(pool_is_open());
	return 10 * n;
}

static int sample_counted(void)
{
	assert_true(pool_is_open());
	return 42;
}

static int sample_operator(int n)
{
	open_inside = pool_is_open();
	return -n;
}

static jmp_buf out;

static int sample_masked(int n)
{
	if (n == 2)
		longjmp(out, 1);
	return n;
}

static int sample_nothing(void)
{
	return 1;
}

static void *lookup(const char *symbol)
{
	static const struct {
		const char *name;
		void *address;
	} table[] = {
		{ "sample_int", sample_int },
		{ "sample_void", sample_void },
		{ "sample_double", sample_double },
		{ "sample_struct", sample_struct },
		{ "sample_many", sample_many },
		{ "sample_strings", sample_strings },
		{ "sample_helper", sample_helper },
		{ "sample_counted", sample_counted },
		{ "ns::thing::make(int)", sample_operator },
		{ "ns::thing::unmake(int)", sample_operator },
		{ "sample_masked", sample_masked },
		{ "sample_nothing", sample_nothing },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].name, symbol) == 0)
			return table[i].address;
	fail_msg("the sample wraps %s", symbol);
	return NULL;
}

static void values(void)
{
	struct triple t = { 1, 2, 3 };
	int seven = 0;

	assert_int_equal(WRAPPER(sample_int)(-5, "hello"), 0);
	assert_true(open_inside);
	harness_expect("enter sample_int a=-5 s=\"hello\"");
	harness_expect("leave sample_int result=0");

	WRAPPER(sample_void)(&seven);
	assert_int_equal(seven, 7);
	harness_expect("enter sample_void p=%p wait", (void *)&seven);
	harness_expect("leave sample_void");

	assert_true(WRAPPER(sample_double)(2.5, 3) == 7.5);
	harness_expect("enter sample_double x=2.5 y=3");
	harness_expect("leave sample_double result=7.5");

	t = WRAPPER(sample_struct)(t, 10);
	assert_true(t.a == 11 && t.b == 12 && t.c == 13);
	harness_expect("enter sample_struct b=2");
	harness_expect("leave sample_struct a=11 b=12 c=13");

	assert_int_equal(WRAPPER(sample_nothing)(), 1);
	harness_expect("enter sample_nothing");
	harness_expect("leave sample_nothing");
	harness_expect_end();
}

static void twelve_fields(void)
{
	long result = WRAPPER(sample_many)(-1, -2, -3, -4, 5, 6, 7, 8);

	assert_int_equal(result, -1 - 4 - 9 - 16 + 25 + 36 + 49 + 64);
	harness_expect("enter sample_many a=-1 b=-2 c=4294967293 d=18446744073709551612 e=0x5 f=6 "
		       "g=7 h=8 i=-2 wait j=-3 k=\"123456789\"");
	harness_expect("leave sample_many result=%ld", result);
	harness_expect_end();
}

static void string_of(char *s, size_t n)
{
	memset(s, 'x', n);
	s[n] = 0;
}

static void strings(void)
{
	char s[3000];

	for (size_t n = 0; n <= 17; n++) {
		string_of(s, n);
		WRAPPER(sample_int)(1, s);
		harness_expect("enter sample_int a=1 s=\"%s\"", s);
		harness_expect("leave sample_int result=%d", (int)n + 1);
	}
	WRAPPER(sample_int)(1, NULL);
	harness_expect("enter sample_int a=1 s=\"\"");
	harness_expect("leave sample_int result=1");
	string_of(s, 2999);
	WRAPPER(sample_int)(1, s);
	harness_expect("enter sample_int a=1 s=\"%.*s\"", (int)SONDE_MAX_STRING, s);
	harness_expect("leave sample_int result=3000");
	harness_expect_end();
}

/* Twelve long strings share a record; its size is checked by the harness's room(). */
static void many_strings(void)
{
	const int cut = (4096 - 16 - 12 * 8) / 12 / 8 * 8;
	char s[2000], x[2000];

	string_of(s, 1999);
	string_of(x, (size_t)cut);
	harness_leave_room(0);
	WRAPPER(sample_strings)(s);
	assert_int_equal(harness_room_calls, 1);
	harness_expect("enter sample_strings 0=\"%s\" 1=\"%s\" 2=\"%s\" 3=\"%s\" 4=\"%s\" 5=\"%s\" "
		       "6=\"%s\" 7=\"%s\" 8=\"%s\" 9=\"%s\" 10=\"%s\" 11=\"%s\"",
		       x, x, x, x, x, x, x, x, x, x, x, x);
	harness_expect("leave sample_strings s=\"%.*s\" result=1", (int)SONDE_MAX_STRING, s);
	harness_expect_end();
}

static void full_buffer(void)
{
	harness_leave_room(16); /* the entry of sample_nothing fits, its return does not */
	WRAPPER(sample_nothing)();
	assert_int_equal(harness_room_calls, 1);
	harness_expect("leave sample_nothing");
	harness_expect_end();

	harness_empty();
	harness_room_refuses = true;
	harness_leave_room(8);
	assert_int_equal(WRAPPER(sample_int)(3, "abc"), 6);
	assert_int_equal(harness_room_calls, 3);
	harness_expect_end();
}

static void inactive_sites(void)
{
	const struct sonde_module *m = harness_module;

	for (struct sonde_site *const *s = m->sites_begin; s < m->sites_end; s++)
		(*s)->id = 0;
	assert_int_equal(WRAPPER(sample_int)(3, "abc"), 6);
	assert_int_equal(((int (*)(int))harness_wrapper("ns::thing::unmake(int)"))(4), 0);
	harness_expect_end();
}

static void points_and_counters(void)
{
	assert_int_equal(WRAPPER(sample_helper)(4), 90);
	assert_false(open_inside); /* sample_int(), called by the wrapper itself */
	harness_expect("enter sample_helper n=4");
	harness_expect("point sample_helper.half way n=4");
	harness_expect("leave sample_helper result=90");

	assert_int_equal(WRAPPER(sample_counted)(), 42);
	assert_int_equal(WRAPPER(sample_counted)(), 42);
	harness_expect("point sample_counted.outside");
	harness_expect("point sample_counted.outside");
	harness_expect_end();
	assert_int_equal(harness_counter("calls"), 2);
	harness_pool.counters = 0; /* a thread that is not registered yet */
	WRAPPER(sample_counted)();
	harness_expect("point sample_counted.outside");
	assert_int_equal(harness_counter("calls"), 2);
}

static void odd_names(void)
{
	int (*make)(int) = harness_wrapper("ns::thing::make(int)");
	int (*unmake)(int) = harness_wrapper("ns::thing::unmake(int)");

	assert_int_equal(make(3), -3);
	assert_true(open_inside);
	harness_expect("enter a phase n=3 wait");
	harness_expect("leave a phase result=-3");
	assert_int_equal(unmake(4), -4);
	harness_expect_end();
	harness_pool.owner = 0; /* a thread that is new */
	assert_int_equal(unmake(4), 0);
	harness_pool.owner = 0;
	harness_opens = true;
	assert_int_equal(unmake(4), -4);
	harness_opens = false;
	assert_int_equal(WRAPPER(sample_masked)(5), 5);
	harness_expect("enter sample_masked n=5");
	harness_expect("leave sample_masked");
	harness_expect_end();
}

static void left_by_longjmp(void)
{
	if (setjmp(out) == 0) {
		WRAPPER(sample_masked)(2);
		fail();
	}
	harness_expect("enter sample_masked n=2");
	harness_expect_end();
}

static void sites_belong_to_wrappers(void)
{
	const struct sonde_module *m = harness_module;

	assert_int_equal(m->wraps_end - m->wraps_begin, 12);
	for (struct sonde_wrap *const *w = m->wraps_begin; w < m->wraps_end; w++) {
		bool optional = (*w)->flags & SONDE_WRAP_OPTIONAL;
		int sites = 0;

		for (struct sonde_site *const *s = m->sites_begin; s < m->sites_end; s++)
			sites += strcmp((*s)->function, (*w)->function) == 0;
		assert_true(strstr((*w)->symbol, "ns::") ? sites == 0 : sites >= 2);
		assert_int_equal(optional, !strcmp((*w)->symbol, "sample_counted") ||
						   !strcmp((*w)->symbol, "ns::thing::unmake(int)"));
	}
}

static void hooks(void)
{
	const struct sonde_module *m = harness_module;

	assert_int_equal(m->start_end - m->start_begin, 1);
	assert_int_equal(m->exit_end - m->exit_begin, 1);
	(*m->start_begin)();
	(*m->exit_begin)();
	(*m->exit_begin)();
	assert_int_equal(harness_counter("starts"), 1);
	assert_int_equal(harness_counter("exits"), 2);
}

static void all_of_it(void)
{
	static void (*const parts[])(void) = {
		values,	       twelve_fields,  strings,	      many_strings,
		full_buffer,   points_and_counters, odd_names, left_by_longjmp,
		sites_belong_to_wrappers, hooks, inactive_sites,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		harness_load("./sample.so", lookup);
		parts[i]();
		harness_unload();
	}
}

static void build_and_try(const char *cc, const char *options)
{
	char command[4096];

	snprintf(command, sizeof(command),
		 "%s %s -Wall -Wextra -Werror -I\"$top_srcdir/modules/include\" -fPIC -shared "
		 "-nostdlib -Wl,-z,defs,-z,now -o sample.so "
		 "\"$top_srcdir/tests/unit/modules/sample.c\"",
		 cc, options);
	print_message("%s %s\n", cc, options);
	assert_int_equal(system(command), 0);
	all_of_it();
}

static void try_compiler(const char *cc)
{
	static const char *const options[] = {
		"-O0", "-O1", "-O2", "-O3", "-Os", "-std=c11 -O2",
		"-O2 -fomit-frame-pointer", "-O2 -D_FORTIFY_SOURCE=2 -fstack-clash-protection",
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		build_and_try(cc, options[i]);
}

static void with_gcc(void **state)
{
	(void)state;
	if (system("gcc --version >/dev/null 2>&1") != 0)
		skip();
	try_compiler("gcc");
}

static void with_clang(void **state)
{
	(void)state;
	if (system("clang --version >/dev/null 2>&1") != 0)
		skip();
	try_compiler("clang");
}

static void with_configured_compiler(void **state)
{
	const char *cc = getenv("CC");

	(void)state;
	assert_non_null(cc);
	build_and_try(cc, "-O2 -g");
}

/* Thirteen fields must not compile: the thirteenth would be lost. */
static void too_many_fields(void **state)
{
	FILE *f = fopen("many.c", "w");

	(void)state;
	assert_non_null(f);
	fputs("#include <sonde/module.h>\nSONDE_MODULE(\"m\", \"\");\n"
	      "SONDE_WRAP(void, f, (void)) {\n#define F SONDE_I32(\"n\", 1)\n"
	      "sonde_enter(F,F,F,F,F,F,F,F,F,F,F,F MORE); SONDE_REAL(f)(); }\n", f);
	fclose(f);
	assert_int_equal(system("${CC} -I\"$top_srcdir/modules/include\" -DMORE= -c many.c"), 0);
	assert_int_not_equal(system("${CC} -I\"$top_srcdir/modules/include\" -DMORE=,F -c many.c "
				    "2>/dev/null"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_configured_compiler),
		cmocka_unit_test(with_gcc),
		cmocka_unit_test(with_clang),
		cmocka_unit_test(too_many_fields),
	};

	return cmocka_run_group_tests_name("modules_header", tests, NULL, NULL);
}
