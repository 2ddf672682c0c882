// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads that register at the same time.  A filter stops each thread where it prepares a new region of
 * pools, and so decides who goes on first:
 *
 *	first				second
 *	1. maps a region
 *					2. maps a region
 *	3. has its pool in it
 *					4. has its pool
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/memory/analysis.h"
#include "runtime/thread.h"

#define WAIT_MS 2000

struct rt_config sonde_rt_config = { .magic = RT_CONFIG_MAGIC };

/* ---- the rest of the runtime ---- */

void rt_analysis_begin(struct rt_thread *t) { (void)t; }
void rt_mem_end(struct rt_thread *t) { (void)t; }
void rt_mem_moved(struct rt_thread *t) { (void)t; }
void rt_ring_doorbell(void) { }
void rt_shadow_init(struct rt_thread *t) { (void)t; }
void rt_take_first(struct rt_thread *t) { (void)t; }

/* ---- who goes on when ---- */

static atomic_int preparing, registered;

/* Until @n threads have come there; not for ever, for a runtime that has one wait for the other. */
static void await(const atomic_int *there, int n)
{
	for (int ms = 0; *there < n && ms < WAIT_MS; ms++)
		usleep(1000);
}

/* In place of the system call, which "succeeds". */
static void on_madvise(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	if (atomic_fetch_add(&preparing, 1) == 0)
		await(&preparing, 2);
	else
		await(&registered, 1);
	uc->uc_mcontext.gregs[REG_RAX] = 0;
}

static void filter_madvise(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };
	struct sigaction action = { .sa_sigaction = on_madvise, .sa_flags = SA_SIGINFO };

	assert_int_equal(sigaction(SIGSYS, &action, NULL), 0);
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* ---- */

struct result {
	struct rt_thread *t;
	int32_t tid;
	int ours;
};

static void *register_thread(void *arg)
{
	struct result *r = arg;

	r->tid = (int32_t)gettid();
	r->t = rt_register(rt_tcb());
	registered++;
	await(&registered, 2);
	r->ours = rt_gs_is_ours();
	return NULL;
}

static void test_two_regions_at_once(void **state)
{
	struct ring_control *control = mmap(NULL, RING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct result r[2] = { 0 };
	pthread_t thread[2];

	(void)state;
	assert_true(control != MAP_FAILED);
	sonde_rt_config.control = (uint64_t)control;
	filter_madvise();
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, register_thread, &r[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(preparing, 2);
	assert_ptr_not_equal(r[0].t, r[1].t);
	for (int i = 0; i < 2; i++) {
		assert_non_null(r[i].t);
		assert_int_equal(r[i].t->tid, r[i].tid);
		assert_true(r[i].ours);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_regions_at_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
