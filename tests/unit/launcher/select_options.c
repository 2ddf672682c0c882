// SPDX-License-Identifier: GPL-3.0-or-later
/* The options of `sonde record` about functions: what they store, and what is refused. */
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "tests/unit/launcher/support.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 24

static int parse(struct record_options *o, const char *text)
{
	static char words[256], *argv[MAX_ARGS];
	int argc = 0;

	strcpy(words, text);
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	return record_options_parse(argc, argv, o);
}

static void test_all(void **state)
{
	struct record_options o;

	(void)state;
	assert_int_equal(parse(&o, "record -F a,b --functions=c -N d --no-functions e --libs --libs=libc "
				   "--min-size=1K --depth 3 --time=10us --threshold-calls=5 --clock=tsc "
				   "--perf-map -m m app -F z"),
			 0);
	assert_int_equal(o.select.functions.n, 2);
	assert_string_equal(o.select.functions.v[0], "a,b");
	assert_string_equal(o.select.functions.v[1], "c");
	assert_int_equal(o.select.excluded.n, 2);
	assert_string_equal(o.select.excluded.v[1], "e");
	assert_int_equal(o.select.libs.n, 2);
	assert_string_equal(o.select.libs.v[0], "*");
	assert_string_equal(o.select.libs.v[1], "libc");
	assert_int_equal(o.select.min_size, 1024);
	assert_int_equal(o.depth, 3);
	assert_int_equal(o.min_time, 10000);
	assert_int_equal(o.max_calls, 5);
	assert_true(o.perf_map);
	assert_false(o.count_only);
	assert_int_equal(o.modules.n, 1);
	assert_string_equal(o.program[0], "app");
	assert_string_equal(o.program[1], "-F");
	record_options_free(&o);
}

static void test_defaults(void **state)
{
	struct record_options o;

	(void)state;
	assert_int_equal(parse(&o, "record -F * app"), 0);
	assert_int_equal(o.select.min_size | o.depth | o.min_time | o.max_calls, 0);
	assert_int_equal(o.select.libs.n + o.select.excluded.n, 0);
	assert_false(o.count_only || o.perf_map);
	record_options_free(&o);
	assert_int_equal(parse(&o, "record app"), 0);
	assert_int_equal(o.select.functions.n, 0);
	assert_int_equal(o.select.min_size | o.depth | o.min_time | o.max_calls, 0);
	record_options_free(&o);
	assert_int_equal(parse(&o, "record -F * --clock=none app"), 0);
	assert_true(o.count_only);
	record_options_free(&o);
}

/* --libs takes its value after '=' only: what follows is the program. */
static void test_libs(void **state)
{
	struct record_options o;

	(void)state;
	assert_int_equal(parse(&o, "record -F * --libs app"), 0);
	assert_int_equal(o.select.libs.n, 1);
	assert_string_equal(o.select.libs.v[0], "*");
	assert_string_equal(o.program[0], "app");
	record_options_free(&o);
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "1", 1 },	       { "250ns", 250 },	{ "10us", 10000 },
		{ "1ms", 1000000 },    { "2s", 2000000000 },	{ "1.5ms", 1500000 },
		{ "0.25us", 250 },     { "1.0000000019s", 1000000001 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_options o;
		char text[64] = "record -F f app --time=";

		strcpy(text, "record -F f --time=");
		strcat(text, cases[i].text);
		strcat(text, " app");
		assert_int_equal(parse(&o, text), 0);
		assert_int_equal(o.min_time, cases[i].ns);
		record_options_free(&o);
	}
}

static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "-N x", "--no-functions" },
		{ "--libs", "--libs: there is no -F" },
		{ "-m m --depth=3", "--depth" },
		{ "--time=1ms", "--time" },
		{ "--min-size=0", "--min-size" },
		{ "--threshold-calls=4", "--threshold-calls" },
		{ "--clock=none", "--clock" },
		{ "--perf-map", "--perf-map" },
		{ "-F f --depth=0", "--depth" },
		{ "-F f --depth=-1", "--depth -1: not a whole number" },
		{ "-F f --depth=99999999999", "--depth" },
		{ "-F f --time=0", "--time" },
		{ "-F f --time=0.5", "--time" },
		{ "-F f --time=1m", "not a time" },
		{ "-F f --time=ms", "not a time" },
		{ "-F f --time=1.ms", "not a time" },
		{ "-F f --time=1.5.5ms", "not a time" },
		{ "-F f --time=-1ms", "not a time" },
		{ "-F f --time=99999999999s", "not a time" },
		{ "-F f --time=18446744073.8s", "not a time" },
		{ "-F f --time=1msec", "not a time" },
		{ "-F f --threshold-calls=0", "--threshold-calls" },
		{ "-F f --min-size=x", "--min-size x: not a size" },
		{ "-F f --clock=wall", "--clock wall: not tsc or none" },
		{ "-F f --clock=none --depth=2", "not with --depth" },
		{ "-F f --clock=none --time=2ms", "not with --time" },
		{ "-F f --clock=none --threshold-calls=2", "not with --threshold-calls" },
		{ "-F f, ", "an empty name" },
		{ "-F /(/", "pattern '/(/'" },
		{ "-F f -N @x", "pattern '@x': not @FILE:LINE" },
		{ "-F f --libs=", "--libs: an empty name" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[128] = "record ";
		struct record_options o;

		strcat(strcat(text, cases[i][0]), " app");
		capture_begin(2);
		int result = parse(&o, text);
		const char *said = capture_end();
		if (result >= 0 || OPT_STATUS(result) != EXIT_USAGE || !is_one_line(said) ||
		    !strstr(said, cases[i][1]) || !strstr(said, "sonde record --help"))
			fail_msg("'%s': %d, %s", text, result, said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),   cmocka_unit_test(test_defaults), cmocka_unit_test(test_libs),
		cmocka_unit_test(test_times), cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
