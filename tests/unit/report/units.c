/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times, sizes and names as a person reads them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "launcher/common/units.h"

static void check_time(uint64_t ns, const char *expected)
{
	char text[UNITS_MAX];

	units_time(ns, text);
	assert_string_equal(text, expected);
}

static void test_time(void **state)
{
	(void)state;
	check_time(0, "0 ns");
	check_time(999, "999 ns");
	check_time(1000, "1.000 us");
	check_time(1234567, "1.235 ms");
	check_time(9999600, "10.00 ms");
	check_time(12345678, "12.35 ms");
	check_time(999949, "999.9 us");
	check_time(999950, "1.000 ms");
	check_time(999949999, "999.9 ms");
	check_time(999950000, "1.000 s");
	check_time(UINT64_C(123456) * 1000000000, "123456 s");
	check_time(UINT64_MAX, "18446744074 s");
}

static void check_bytes(uint64_t bytes, const char *expected)
{
	char text[UNITS_MAX];

	units_bytes(bytes, text);
	assert_string_equal(text, expected);
}

static void test_bytes(void **state)
{
	(void)state;
	check_bytes(0, "0 B");
	check_bytes(1023, "1023 B");
	check_bytes(1024, "1.000 KiB");
	check_bytes(UINT64_C(3435973837), "3.200 GiB");
	check_bytes(1048575, "1.000 MiB");
	check_bytes(1000 * 1024, "1000 KiB");
	check_bytes(UINT64_MAX, "16.00 EiB");
}

static void check_text(const char *text, size_t width, bool utf8, const char *expected)
{
	char *got = NULL;
	size_t size, columns;
	FILE *out = open_memstream(&got, &size);

	assert_non_null(out);
	columns = units_text(out, text, width, utf8);
	fclose(out);
	assert_string_equal(got, expected);
	assert_int_equal(columns, units_width(expected));
	free(got);
}

static void test_names(void **state)
{
	(void)state;
	check_text("short", 10, true, "short");
	check_text("a_very_long_name", 9, true, "a_ve\xe2\x80\xa6name");
	check_text("a_very_long_name", 8, false, "a_v..ame");
	check_text("a_very_long_name", 0, true, "a_very_long_name");
	check_text("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 3, true, "\xc3\xa4\xe2\x80\xa6\xc3\x9f");
	check_text("bell\a\x1b[2J\x7f", 0, true, "bell??[2J?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
