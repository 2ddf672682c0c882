/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls in a row: each does what it does alone, and the program is as before. */
#include "tests/unit/launcher/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector/process/batch.h"
#include "injector/process/tracee.h"

#define PAGE UINT64_C(4096)

static void start(struct inj_tracee *t)
{
	char *argv[] = { (char[]){ "true" }, NULL }, *envp[] = { NULL };
	sigset_t mask;
	struct inj_exec exec = { .path = "/bin/true", .argv = argv, .envp = envp, .mask = &mask };
	bool failed;

	sigemptyset(&mask);
	assert_int_equal(inj_tracee_start(t, &exec, &failed), INJ_OK);
}

static void finish(struct inj_tracee *t)
{
	int status;

	assert_int_equal(inj_tracee_detach(t), INJ_OK);
	assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void in_a_row(void **state)
{
	const struct stat nothing = { 0 };
	struct user_regs_struct before, after;
	uint8_t code[PAGE], same[PAGE];
	size_t pid, opened, stated, bad, mapped, advised, closed;
	struct inj_tracee t;
	struct inj_batch b;
	struct stat st;
	uint64_t buf, word = 0;

	(void)state;
	start(&t);
	assert_int_equal(inj_tracee_regs(&t, &before), INJ_OK);
	assert_int_equal(inj_read(&t.target, before.rip & ~(PAGE - 1), code, PAGE), INJ_OK);

	assert_int_equal(inj_batch_begin(&t.target, &b), INJ_OK);
	buf = inj_batch_put(&b, &nothing, sizeof(nothing));
	pid = inj_batch_add(&b, SYS_getpid, (const uint64_t[6]){ 0 });
	opened = inj_batch_add(&b, SYS_open, (const uint64_t[6]){ inj_batch_put(&b, "/dev/null", 10), O_RDONLY });
	stated = inj_batch_add(&b, SYS_fstat, (const uint64_t[6]){ 0, buf });
	inj_batch_use(&b, opened, stated, 0);
	bad = inj_batch_add(&b, SYS_close, (const uint64_t[6]){ (uint64_t)-1 });
	mapped = inj_batch_add(&b, SYS_mmap, (const uint64_t[6]){ 0, PAGE, PROT_READ | PROT_WRITE,
								  MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 });
	advised = inj_batch_add(&b, SYS_madvise, (const uint64_t[6]){ 0, PAGE, MADV_DONTDUMP });
	inj_batch_use(&b, mapped, advised, 0);
	closed = inj_batch_add(&b, SYS_close, (const uint64_t[6]){ 0 });
	inj_batch_use(&b, opened, closed, 0);
	assert_int_equal(inj_batch_run(&t.target, &b), INJ_OK);

	assert_int_equal(inj_batch_result(&b, pid), t.pid);
	assert_true(inj_batch_result(&b, opened) >= 0);
	assert_int_equal(inj_batch_result(&b, stated), 0);
	assert_int_equal(inj_batch_result(&b, bad), -EBADF);
	assert_int_equal(inj_batch_result(&b, advised), 0);
	assert_int_equal(inj_batch_result(&b, closed), 0);
	memcpy(&st, inj_batch_data(&b, buf), sizeof(st));
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(inj_write(&t.target, (uint64_t)inj_batch_result(&b, mapped), &word, sizeof(word)), INJ_OK);

	assert_int_equal(inj_tracee_regs(&t, &after), INJ_OK);
	assert_int_equal(inj_read(&t.target, before.rip & ~(PAGE - 1), same, PAGE), INJ_OK);
	assert_memory_equal(code, same, PAGE);
	assert_int_equal(after.rip, before.rip);
	assert_int_equal(after.rsp, before.rsp);
	assert_int_equal(after.rbx, before.rbx);
	assert_int_equal(after.rbp, before.rbp);
	finish(&t);
}

/* Of a process that does not stand under ptrace nothing is asked. */
static void not_there(void **state)
{
	struct inj_target t = { .pid = getpid(), .mem = -1 };
	struct inj_batch b;

	(void)state;
	assert_int_equal(inj_batch_begin(&t, &b), INJ_NOT_SUPPORTED);
}

static void many_spans(void **state)
{
	static uint64_t here[700];
	static struct inj_span spans[700];
	struct user_regs_struct regs;
	struct inj_tracee t;
	uint64_t at;

	(void)state;
	start(&t);
	assert_int_equal(inj_tracee_regs(&t, &regs), INJ_OK);
	at = regs.rsp - 8192;
	for (size_t i = 0; i < 700; i++) {
		here[i] = i * i;
		spans[i] = (struct inj_span){ at + 8 * i, &here[i], 8 };
	}
	assert_int_equal(inj_write_spans(&t.target, spans, 700), INJ_OK);
	memset(here, 0, sizeof(here));
	assert_int_equal(inj_read_spans(&t.target, spans, 700), INJ_OK);
	for (size_t i = 0; i < 700; i++)
		assert_int_equal(here[i], i * i);
	/* one that is not mapped */
	spans[699].addr = 8;
	assert_int_equal(inj_read_spans(&t.target, spans, 700), INJ_SYSTEM);
	finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_row),
		cmocka_unit_test(not_there),
		cmocka_unit_test(many_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
