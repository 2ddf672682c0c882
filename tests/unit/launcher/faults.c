// SPDX-License-Identifier: GPL-3.0-or-later
/* Shared memory that is gone: zeros take its place, and what else faults ends the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher/collect/collector-private.h"
#include "launcher/common/message.h"

enum { PAGES = 4, PAGE = 4096 }; /* the head's, and a ring of three */

static unsigned int damaged, told;

/* ---- what it calls ---- */

const void *analysis_shared(const struct analysis *a, uint64_t *bytes)
{
	(void)bytes;
	return a;
}

void analysis_fault(int sig)
{
	(void)sig;
}

void tf_thread_damaged(struct tf_thread *t)
{
	(void)t;
	damaged++;
}

void msg_error(const char *format, ...)
{
	(void)format;
	told++;
}

/* ---- */

static void *map(int fd, size_t page, size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(page * PAGE));

	assert_true(p != MAP_FAILED);
	return p;
}

static void test_cut_off(void **state)
{
	struct feed feeds[2] = { 0 };
	struct collector c = { .feeds = feeds, .max_rings = 2, .ring_bytes = 3 * PAGE };
	int fd = memfd_create("faults", 0);
	volatile char *ring, *control;

	(void)state;
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	c.control = map(fd, 0, 1);
	feeds[1].head = map(fd, 1, 3);
	control = (char *)c.control;
	ring = (char *)feeds[1].head;
	control[0] = ring[0] = ring[PAGE] = ring[2 * PAGE] = 1;
	collector_guard(&c);

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	assert_int_equal(ring[0], 1);
	collector_note_faults(&c, &feeds[1]);
	assert_int_equal(damaged, 0);
	assert_int_equal(ring[PAGE], 0);
	ring[2 * PAGE] = 2; /* to the end of the mapping */
	assert_int_equal(ring[2 * PAGE], 2);
	assert_int_equal(c.faults, 1);
	collector_note_faults(&c, &feeds[1]);
	collector_note_faults(&c, &feeds[1]);
	assert_int_equal(damaged, 1);

	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(control[0], 0);
	assert_int_equal(ring[0], 0);
	collector_note_faults(&c, &feeds[1]);
	assert_int_equal(damaged, 2);
	assert_int_equal(told, 1);
	collector_unguard(&c);
	close(fd);
}

static void test_elsewhere(void **state)
{
	struct collector c = { 0 };
	int fd = memfd_create("faults", 0), status;
	volatile char *p = map(fd, 0, 1);
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0) {
		collector_guard(&c);
		p[0] = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
