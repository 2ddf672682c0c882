/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads of a process that waits in all kinds of system calls are stopped, execute system calls, and go on, many
 * times: every call returns what it would have returned without.
 */
#include "tests/unit/launcher/support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "injector/process/threads.h"

#define THREADS 14
#define TIMES 100

struct child {
	pid_t pid;
	FILE *in, *out;
};

static struct child start(const char *how)
{
	struct child c;
	int in[2], out[2];
	char path[4096], line[64] = "";

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	snprintf(path, sizeof(path), "%s/tests/programs/blocked", getenv("top_builddir"));
	c.pid = fork();
	if (c.pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		execl(path, path, how, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	c.in = fdopen(in[1], "w");
	c.out = fdopen(out[0], "r");
	assert_non_null(fgets(line, sizeof(line), c.out));
	assert_string_equal(line, "ready\n");
	return c;
}

/* It ends by itself, and no call was interrupted. */
static void finish(struct child *c)
{
	char line[64];
	int status, lines = 0;

	fputs("\n", c->in);
	fclose(c->in);
	while (fgets(line, sizeof(line), c->out)) {
		if (strstr(line, "Interrupted") || (strstr(line, "nanosleep") && strcmp(line, "nanosleep: 0\n") != 0))
			fail_msg("%s", line);
		lines++;
	}
	fclose(c->out);
	assert_int_equal(lines, THREADS - 1);
	assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
	assert_int_equal(status, 0);
}

static size_t count(const struct inj_threads *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += !t->v[i].gone;
	return n;
}

/* Each of them executes something, wherever it was. */
static void all_go_on(void **state)
{
	struct child c = start(NULL);

	(void)state;
	for (int i = 0; i < TIMES; i++) {
		const uint64_t none[6] = { 0 };
		struct inj_threads t;
		int64_t result = 0;

		assert_int_equal(inj_threads_stop(&t, c.pid, INJ_ALL_THREADS), INJ_OK);
		assert_int_equal(count(&t), THREADS);
		for (size_t k = 0; k < t.n; k++) {
			if (t.v[k].gone)
				continue;
			t.caller = k;
			assert_int_equal(inj_syscall(&t.target, SYS_gettid, none, &result), INJ_OK);
			assert_int_equal(result, t.v[k].tid);
			assert_int_equal(inj_syscall(&t.target, SYS_getpid, none, &result), INJ_OK);
			assert_int_equal(result, c.pid);
		}
		inj_threads_go(&t);
		usleep(1000);
	}
	finish(&c);
}

/* A failure in the process, and a call without all of them being stopped. */
static void one_is_borrowed(void **state)
{
	struct child c = start(NULL);
	struct inj_target t;
	int64_t result;

	(void)state;
	assert_int_equal(inj_borrow_open(&t, c.pid), INJ_OK);
	for (int i = 0; i < TIMES; i++) {
		assert_int_equal(inj_syscall(&t, SYS_getpid, (const uint64_t[6]){ 0 }, &result), INJ_OK);
		assert_int_equal(result, c.pid);
		assert_int_equal(inj_syscall(&t, SYS_close, (const uint64_t[6]){ 1000 }, &result), INJ_REMOTE);
		assert_int_equal(errno, EBADF);
	}
	inj_target_close(&t);
	finish(&c);
}

static void it_is_gone(void **state)
{
	struct child c = start(NULL);
	struct inj_threads t;

	(void)state;
	kill(c.pid, SIGKILL);
	assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
	assert_int_equal(inj_threads_stop(&t, c.pid, INJ_ALL_THREADS), INJ_GONE);
	fclose(c.in);
	fclose(c.out);
}

#define SOON_NS 20000000
#define LATER_NS 500000000

struct parent {
	struct child c;
	int64_t began;
	bool over;
};

/* The parent of vfork() waits for its child, that for a line; it comes when nobody waits for the parent to stop any more. */
static void end_child(void *arg)
{
	struct parent *p = arg;

	if (p->over || clock_now_ns() - p->began < LATER_NS)
		return;
	p->over = true;
	fputs("\n", p->c.in);
	fflush(p->c.in);
}

/* One that does not stop in time, and those after it, which were not waited for, go on as others do. */
static void one_does_not_stop(void **state)
{
	struct parent p = { .c = start("vfork") };
	const struct inj_patience patience = { .ns = SOON_NS, .idle = end_child, .arg = &p };
	struct inj_threads t;

	(void)state;
	while (inj_thread_state(p.c.pid, p.c.pid) != 'D')
		usleep(1000);
	p.began = clock_now_ns();
	assert_int_equal(inj_threads_stop_soon(&t, p.c.pid, &patience), INJ_SYSTEM);
	assert_int_equal(errno, ETIMEDOUT);
	assert_true(p.over);
	finish(&p.c);
}

static void do_nothing(void *arg)
{
	(void)arg;
}

/* While the first thread ends, and when it has, the others are stopped and go on. */
static void leader_ends(void **state)
{
	const struct inj_patience patience = { .ns = SOON_NS, .idle = do_nothing };
	struct child c = start("leader");
	int after = 0;

	(void)state;
	fputs("\n", c.in);
	fflush(c.in);
	while (after < 10) {
		struct inj_threads t;
		enum inj_status status;

		after += inj_thread_state(c.pid, c.pid) == 'Z';
		status = inj_threads_stop_soon(&t, c.pid, &patience);
		if (status == INJ_OK)
			inj_threads_go(&t);
		else
			assert_true(status == INJ_SYSTEM && errno == ETIMEDOUT && after == 0);
	}
	kill(c.pid, SIGKILL);
	assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
	fclose(c.in);
	fclose(c.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_go_on),
		cmocka_unit_test(one_is_borrowed),
		cmocka_unit_test(it_is_gone),
		cmocka_unit_test(one_does_not_stop),
		cmocka_unit_test(leader_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
