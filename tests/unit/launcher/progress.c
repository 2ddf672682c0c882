// SPDX-License-Identifier: GPL-3.0-or-later
/* How far work is: shown on a terminal, not at once, and gone afterwards; nowhere else. */
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "launcher/common/message.h"
#include "launcher/common/progress.h"
#include "launcher/trace/reading.h"

#define LAST "END"

/* What is written to standard error, which is @fd, when a second is over. */
static void work(int fd)
{
	int saved = dup(STDERR_FILENO);
	struct progress p;

	assert_true(saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	progress_begin(&p, "counting");
	p.next = 0;
	p.began -= INT64_C(3600000000000);
	progress_at(&p, 0.25);
	progress_at(&p, 0.5);
	progress_end(&p);
	assert_int_equal(write(fd, LAST, strlen(LAST)), strlen(LAST));
	dup2(saved, STDERR_FILENO);
	close(saved);
}

/* All that was written, without what work() adds: a terminal hands it on when it likes. */
static void read_all(int fd, char *text, size_t size)
{
	size_t n = 0;
	char *last;

	do {
		ssize_t got = read(fd, text + n, size - 1 - n);

		assert_true(got > 0);
		n += (size_t)got;
		text[n] = '\0';
		last = strstr(text, LAST);
	} while (!last);
	*last = '\0';
}

static void test_terminal(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	char text[256];

	(void)state;
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		skip();
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0);
	work(slave);
	read_all(master, text, sizeof(text));
	assert_non_null(strstr(text, "sonde: counting: 25 %, 180 min left"));
	assert_null(strstr(text, "50 %")); /* not as often as it is told */
	assert_string_equal(text + strlen(text) - 4, "\r\033[K");
	msg_quiet = true;
	work(slave);
	msg_quiet = false;
	read_all(master, text, sizeof(text));
	assert_string_equal(text, "");
	close(slave);
	close(master);
}

static void test_no_terminal(void **state)
{
	char text[256];
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	work(ends[1]);
	read_all(ends[0], text, sizeof(text));
	assert_string_equal(text, "");
	close(ends[0]);
	close(ends[1]);
}

/* Events of a trace: a share of those that are expected, looked at now and then. */
static void read_events(int fd, bool prints)
{
	const struct sonde_trace_thread thread = { .events = 4 * READING_STEP };
	int saved = dup(STDERR_FILENO);
	struct reading r;

	assert_true(saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	reading_begin(&r, prints);
	reading_expect(&r, &thread);
	r.shown.next = 0;
	for (uint32_t i = 0; i < READING_STEP; i++)
		reading_event(&r);
	reading_end(&r);
	assert_int_equal(write(fd, LAST, strlen(LAST)), strlen(LAST));
	dup2(saved, STDERR_FILENO);
	close(saved);
}

static void test_events(void **state)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave, null = open("/dev/null", O_WRONLY), out = dup(STDOUT_FILENO);
	char text[256];

	(void)state;
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		skip();
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	assert_true(slave >= 0 && null >= 0 && out >= 0);
	fflush(stdout);
	dup2(null, STDOUT_FILENO);
	read_events(slave, false);
	read_all(master, text, sizeof(text));
	assert_ptr_equal(strstr(text, "\r\033[Ksonde: reading events: 25 %, "), text);
	assert_null(strstr(text + 5, "sonde:"));
	assert_string_equal(text + strlen(text) - 4, "\r\033[K");
	/* what is printed is no file */
	read_events(slave, true);
	read_all(master, text, sizeof(text));
	assert_string_equal(text, "");
	dup2(out, STDOUT_FILENO);
	close(out);
	close(null);
	close(slave);
	close(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_no_terminal),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
