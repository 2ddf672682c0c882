// SPDX-License-Identifier: GPL-3.0-or-later
/* /tmp/perf-PID.map: its lines, and what in its place is replaced or left alone. */
#include "launcher/common/message.h"
#include "launcher/record/describe/perfmap.h"
#include "tests/unit/launcher/support.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%ld.map", (long)getpid());
	unlink(path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static const struct perfmap_entry entries[] = {
	{ 0x7f0012340000, 0x1c0, "main" },
	{ 0x1000, 8, "_ZN2ns1fEi" },
	{ 0x2000, 9, "odd\nname" },
};

static void expect(const char *text)
{
	size_t len;
	char *got = read_whole(path, &len);

	assert_int_equal(len, strlen(text));
	assert_memory_equal(got, text, len);
	free(got);
}

static void test_lines(void **state)
{
	struct perfmap map = { 0 };

	(void)state;
	perfmap_write(&map, getpid(), entries, 1);
	expect("7f0012340000 1c0 main\n"); /* there at once, and not only in the end */
	perfmap_write(&map, getpid(), entries + 1, 2);
	expect("7f0012340000 1c0 main\n1000 8 ns::f(int)\n2000 9 odd?name\n");
	perfmap_close(&map);
	assert_null(map.file);
}

static void test_replaced(void **state)
{
	struct perfmap map = { 0 };

	(void)state;
	write_text(path, "a process of the same number had this\n");
	perfmap_write(&map, getpid(), entries, 1);
	expect("7f0012340000 1c0 main\n");
	perfmap_close(&map);
}

/* A trap that somebody has laid for us: what it leads to is not written to. */
static void left_alone(const char *victim)
{
	struct perfmap map = { 0 };
	size_t len;

	capture_begin(2);
	perfmap_write(&map, getpid(), entries, 1);
	perfmap_write(&map, getpid(), entries, 1);
	const char *said = capture_end();
	assert_true(is_one_line(said));
	assert_non_null(strstr(said, "warning: /tmp/perf-"));
	perfmap_close(&map);
	char *text = read_whole(victim, &len);
	assert_string_equal(text, "precious");
	assert_int_equal(len, 8);
	free(text);
}

static void test_traps(void **state)
{
	char folder[4096], victim[4200];

	(void)state;
	assert_non_null(getcwd(folder, sizeof(folder)));
	snprintf(victim, sizeof(victim), "%s/victim", folder);
	write_text(victim, "precious");
	assert_int_equal(symlink(victim, path), 0);
	left_alone(victim);
	unlink(path);
	if (link(victim, path) == 0) /* not over file systems */
		left_alone(victim);
	unlink(path);
	if (geteuid() == 0) {
		write_text(path, "precious");
		assert_int_equal(chown(path, 65534, 65534), 0);
		left_alone(path);
	}
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	left_alone(victim);
	assert_int_equal(rmdir(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_traps, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
