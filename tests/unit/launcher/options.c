// SPDX-License-Identifier: GPL-3.0-or-later
/* Option tables, and the options of `sonde record`. */
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "tests/unit/launcher/support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
	bool all, brief;
	const char *sort, *out;
	uint64_t limit, size;
	struct opt_list only;
};

static const struct opt opts[] = {
	{ 'a', "all", NULL, "everything", OPT_FLAG, offsetof(struct values, all), NULL },
	{ 'b', NULL, NULL, "brief", OPT_FLAG, offsetof(struct values, brief), NULL },
	{ 's', "sort", "KEY", "order", OPT_CHOICE, offsetof(struct values, sort), "time\0calls\0name\0" },
	{ 'o', "output", "FILE", "file", OPT_STRING, offsetof(struct values, out), NULL },
	{ 0, "limit", "N", "rows", OPT_COUNT, offsetof(struct values, limit), NULL },
	{ 0, "size", "SIZE", "bytes", OPT_SIZE, offsetof(struct values, size), NULL },
	{ 'x', "only", "WHAT", "these", OPT_LIST, offsetof(struct values, only), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command command = {
	.name = "test", .usage = "[OPTION]... [DIR]", .summary = "Tests.", .opts = opts,
	.examples = "sonde test -a\tall of it\n",
};

static const struct opt_command stopping = {
	.name = "test", .usage = "PROGRAM", .summary = "Tests.", .opts = opts, .stop_at_operand = true,
};

#define MAX_ARGS 16

static int parse(const struct opt_command *cmd, struct values *v, char *words, char **argv, int *argc)
{
	*argc = 0;
	*v = (struct values){ .limit = 7 };
	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[(*argc)++] = w;
	argv[*argc] = NULL;
	return opt_parse(cmd, *argc, argv, v);
}

static void test_values(void **state)
{
	char words[] = "test -a one --sort=calls --limit 12 two -xq -x r --only=s --size 3M -b -o f";
	char *argv[MAX_ARGS + 4];
	struct values v;
	int argc;

	(void)state;
	int first = parse(&command, &v, words, argv, &argc);
	assert_int_equal(first, argc - 2);
	assert_string_equal(argv[first], "one");
	assert_string_equal(argv[first + 1], "two");
	assert_true(v.all && v.brief);
	assert_string_equal(v.sort, "calls");
	assert_string_equal(v.out, "f");
	assert_int_equal(v.limit, 12);
	assert_int_equal(v.size, 3 << 20);
	assert_int_equal(v.only.n, 3);
	assert_string_equal(v.only.v[0], "q");
	assert_string_equal(v.only.v[1], "r");
	assert_string_equal(v.only.v[2], "s");
	opt_list_free(&v.only);
}

static void test_defaults_stay(void **state)
{
	char words[] = "test";
	char *argv[MAX_ARGS];
	struct values v;
	int argc;

	(void)state;
	assert_int_equal(parse(&command, &v, words, argv, &argc), 1);
	assert_int_equal(v.limit, 7);
	assert_null(v.sort);
	assert_false(v.all);
}

static void test_stop_at_operand(void **state)
{
	char words[] = "test -a prog --sort nonsense -z";
	char dashes[] = "test -- -a";
	char *argv[MAX_ARGS];
	struct values v;
	int argc;

	(void)state;
	assert_int_equal(parse(&stopping, &v, words, argv, &argc), 2);
	assert_true(v.all);
	assert_int_equal(parse(&stopping, &v, dashes, argv, &argc), 2);
	assert_false(v.all);
	assert_string_equal(argv[2], "-a");
}

/* Each is refused by one line that holds the second text and names the way to the help. */
static void test_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "test --nonsense", "unknown option --nonsense" },
		{ "test --nonsense=3", "unknown option --nonsense" },
		{ "test -z", "unknown option -z" },
		{ "test -az", "unknown option -z" },
		{ "test -a --sort=time -abz", "unknown option -z" },
		{ "test --sort", "option --sort needs a value" },
		{ "test -a -o", "option -o needs a value" },
		{ "test --all=yes", "option --all takes no value" },
		{ "test --sort=age", "--sort age: not time, calls or name" },
		{ "test --limit=-1", "--limit -1: not a whole number" },
		{ "test --limit 3x", "--limit 3x: not a whole number" },
		{ "test --limit 99999999999999999999", "not a whole number" },
		{ "test --size=12Q", "--size 12Q: not a size" },
		{ "test --size=99999999999G", "not a size" },
		{ "test --size=K", "not a size" },
		{ "test --size=1KiBs", "not a size" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char words[128], *argv[MAX_ARGS];
		struct values v;
		int argc;

		strcpy(words, cases[i][0]);
		capture_begin(2);
		int first = parse(&command, &v, words, argv, &argc);
		const char *text = capture_end();
		opt_list_free(&v.only);
		assert_true(first < 0);
		assert_int_equal(OPT_STATUS(first), EXIT_USAGE);
		assert_true(is_one_line(text));
		assert_memory_equal(text, "sonde: ", 7);
		assert_non_null(strstr(text, cases[i][1]));
		assert_non_null(strstr(text, "sonde test --help"));
	}
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} cases[] = {
		{ "0", 0 },		{ "512", 512 },	      { "64K", 65536 },
		{ "64k", 65536 },	{ "64KiB", 65536 },   { "1M", 1 << 20 },
		{ "2GB", UINT64_C(2) << 30 }, { "12B", 12 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[] = "test", option[] = "--size", value[16];
		char *argv[] = { name, option, value, NULL };
		struct values v = { 0 };

		strcpy(value, cases[i].text);
		assert_int_equal(opt_parse(&command, 3, argv, &v), 3);
		assert_int_equal(v.size, cases[i].value);
	}
}

/* The help is made from the same table: every option is there, and so is what it takes. */
static void test_help(void **state)
{
	char words[] = "test -a --help --nonsense";
	char *argv[MAX_ARGS];
	struct values v;
	int argc;

	(void)state;
	capture_begin(1);
	int first = parse(&command, &v, words, argv, &argc);
	const char *text = capture_end();
	assert_true(first < 0);
	assert_int_equal(OPT_STATUS(first), 0);
	assert_non_null(strstr(text, "Usage: sonde test [OPTION]... [DIR]"));
	for (const struct opt *o = opts; o->type; o++)
		assert_non_null(strstr(text, o->help));
	assert_non_null(strstr(text, "-s, --sort=KEY"));
	assert_non_null(strstr(text, "-o, --output=FILE"));
	assert_non_null(strstr(text, "--limit=N"));
	assert_non_null(strstr(text, "all of it"));
}

static int parse_record(struct record_options *o, char *words, char **argv)
{
	int argc = 0;

	for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	return record_options_parse(argc, argv, o);
}

static void test_record(void **state)
{
	char words[] = "record -m a,b -o d --overflow=drop --buffer 256K -m ./c.c -v -- ./app -o x";
	char *argv[MAX_ARGS + 4];
	struct record_options o;

	(void)state;
	assert_int_equal(parse_record(&o, words, argv), 0);
	assert_string_equal(o.dir, "d");
	assert_true(o.drop && o.verbose && msg_verbose);
	assert_false(o.quiet || msg_quiet);
	assert_int_equal(o.ring_bytes, 256 << 10);
	assert_int_equal(o.modules.n, 2);
	assert_string_equal(o.modules.v[0], "a,b");
	assert_string_equal(o.modules.v[1], "./c.c");
	assert_string_equal(o.program[0], "./app");
	assert_string_equal(o.program[1], "-o");
	assert_string_equal(o.program[2], "x");
	assert_null(o.program[3]);
	record_options_free(&o);
}

static void test_record_defaults(void **state)
{
	char words[] = "record app";
	char *argv[MAX_ARGS];
	struct record_options o;

	(void)state;
	assert_int_equal(parse_record(&o, words, argv), 0);
	assert_string_equal(o.dir, "sonde.data");
	assert_int_equal(o.ring_bytes, RECORD_DEFAULT_RING);
	assert_false(o.drop || o.quiet || o.verbose || msg_verbose);
	assert_string_equal(o.program[0], "app");
	record_options_free(&o);
}

static void test_record_refused(void **state)
{
	static const char *const cases[] = { "record", "record -m x", "record --", "record --buffer=1K app",
					     "record --buffer=2G app", "record --overflow=block app",
					     "record -m a -m", "record -o" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char words[64], *argv[MAX_ARGS];
		struct record_options o;

		strcpy(words, cases[i]);
		capture_begin(2);
		int result = parse_record(&o, words, argv);
		const char *text = capture_end();
		assert_true(result < 0);
		assert_int_equal(OPT_STATUS(result), EXIT_USAGE);
		assert_true(is_one_line(text));
		assert_non_null(strstr(text, "sonde record --help"));
	}
}

/* errno survives, control characters do not reach the terminal, long texts stay one line. */
static void test_messages(void **state)
{
	static char big[10000];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	capture_begin(2);
	errno = ENOTTY;
	msg_error("a\033[31mb\nc\t%m");
	assert_int_equal(errno, ENOTTY);
	const char *text = capture_end();
	assert_true(is_one_line(text));
	assert_non_null(strstr(text, "sonde: a?[31mb?c?Inappropriate ioctl"));

	int saved = dup(2);
	close(2);
	errno = ENOTTY;
	msg_error("nobody reads this");
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(dup2(saved, 2), 2);
	close(saved);

	capture_begin(2);
	msg_error("%s", big);
	text = capture_end();
	assert_true(is_one_line(text));
	assert_true(strlen(text) > 4000);
}

static void test_quiet(void **state)
{
	(void)state;
	msg_quiet = true;
	capture_begin(2);
	msg_warn("w");
	msg_info("i");
	msg_debug("d");
	msg_error("e");
	assert_string_equal(capture_end(), "sonde: e\n");
	msg_quiet = false;
	msg_verbose = true;
	capture_begin(2);
	msg_warn("w");
	msg_info("i");
	msg_debug("d");
	assert_string_equal(capture_end(), "sonde: warning: w\nsonde: i\nsonde: d\n");
	msg_verbose = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_defaults_stay),
		cmocka_unit_test(test_stop_at_operand),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_defaults),
		cmocka_unit_test(test_record_refused),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
