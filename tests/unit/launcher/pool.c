// SPDX-License-Identifier: GPL-3.0-or-later
/* Threads that serve many: none is left out, not more at a time than there are to be, and one that waits holds up nobody. */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "launcher/collect/pool.h"

enum { LIMIT = 2, MANY = 300, LATER = 1000 };

struct served {
	struct pool_member member;
	_Atomic uint32_t doorbell, sleeping;
	_Atomic unsigned int times, inside;
	_Atomic uint32_t saw; /* of the doorbell */
	sem_t *done;
};

static _Atomic int at_once, most_at_once, twice;

static void note_entry(struct served *s)
{
	int n = atomic_fetch_add(&at_once, 1) + 1, most = atomic_load(&most_at_once);

	while (n > most && !atomic_compare_exchange_weak(&most_at_once, &most, n))
		;
	if (atomic_fetch_add(&s->inside, 1))
		twice = 1;
}

static void note_exit(struct served *s)
{
	atomic_fetch_sub(&s->inside, 1);
	atomic_fetch_sub(&at_once, 1);
}

static int64_t later(void)
{
	return clock_now_ns() + INT64_C(1000000000) * LATER;
}

static int64_t serve(void *arg)
{
	struct served *s = arg;

	note_entry(s);
	s->saw = atomic_load(&s->doorbell);
	usleep(100);
	s->times++;
	note_exit(s);
	sem_post(s->done);
	return later();
}

static void add(struct served *s, int64_t (*how)(void *arg), sem_t *done)
{
	s->member = (struct pool_member){ .serve = how, .arg = s, .doorbell = &s->doorbell, .sleeping = &s->sleeping };
	s->done = done;
	assert_true(pool_add(&s->member));
}

/* As a program does. */
static void ring(struct served *s)
{
	atomic_fetch_add(&s->doorbell, 1);
	if (atomic_load(&s->sleeping))
		syscall(SYS_futex, &s->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await(sem_t *sem, unsigned int n)
{
	while (n)
		n -= sem_wait(sem) == 0;
}

/* More than one thread can listen to. */
static void test_many(void **state)
{
	struct served *v = calloc(MANY, sizeof(*v));
	sem_t done;

	(void)state;
	sem_init(&done, 0, 0);
	for (int i = 0; i < MANY; i++)
		add(&v[i], serve, &done);
	await(&done, MANY);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			ring(&v[i]);
		/* served once for two rings, perhaps */
		for (int i = 0; i < MANY; i++)
			while (v[i].saw != atomic_load(&v[i].doorbell))
				usleep(1000);
	}
	for (int i = 0; i < MANY; i++) {
		pool_remove(&v[i].member);
		assert_true(v[i].times >= 2);
	}
	assert_int_equal(twice, 0);
	assert_true(most_at_once <= LIMIT);
	free(v);
	sem_destroy(&done);
}

struct stuck {
	struct served s; /* first: what is served is that */
	sem_t let_go, stands;
};

static int64_t wait_for_somebody(void *arg)
{
	struct stuck *x = arg;

	if (x->s.times++)
		return later();
	pool_waits();
	sem_post(&x->stands);
	await(&x->let_go, 1);
	pool_goes_on();
	sem_post(x->s.done);
	return later();
}

static void test_waiting(void **state)
{
	static struct stuck v[2 * LIMIT];
	static struct served other;
	sem_t done, others;

	(void)state;
	sem_init(&done, 0, 0);
	sem_init(&others, 0, 0);
	add(&other, serve, &others);
	await(&others, 1);
	for (int i = 0; i < 2 * LIMIT; i++) {
		sem_init(&v[i].let_go, 0, 0);
		sem_init(&v[i].stands, 0, 0);
		add(&v[i].s, wait_for_somebody, &done);
	}
	for (int i = 0; i < 2 * LIMIT; i++)
		await(&v[i].stands, 1);
	for (int i = 0; i < 10; i++) {
		ring(&other);
		await(&others, 1);
	}
	for (int i = 0; i < 2 * LIMIT; i++)
		sem_post(&v[i].let_go);
	await(&done, 2 * LIMIT);
	for (int i = 0; i < 2 * LIMIT; i++)
		pool_remove(&v[i].s.member);
	ring(&other);
	await(&others, 1);
	pool_remove(&other.member);
	sem_destroy(&done);
	sem_destroy(&others);
}

/* ---- what is done together ---- */

struct shared_work {
	struct served s; /* first */
	sem_t met[LIMIT]; /* who is there, by slot */
	sem_t busy, let_go; /* of test_alone() */
	_Atomic unsigned int begun, ended, wrong;
	bool meets;
};

/* None goes on before all are there. */
static void meet(void *arg, unsigned int slot)
{
	struct shared_work *x = arg;

	x->wrong += slot >= LIMIT;
	x->begun++;
	for (unsigned int i = 0; x->meets && i < LIMIT; i++)
		sem_post(&x->met[i]);
	if (x->meets)
		await(&x->met[slot % LIMIT], LIMIT);
	x->ended++;
}

static int64_t serve_together(void *arg)
{
	struct shared_work *x = arg;

	pool_share(LIMIT, meet, x);
	x->wrong += x->begun != x->ended;
	sem_post(x->s.done);
	return later();
}

static void test_share(void **state)
{
	static struct shared_work x = { .meets = true };
	sem_t done;

	(void)state;
	sem_init(&done, 0, 0);
	for (int i = 0; i < LIMIT; i++)
		sem_init(&x.met[i], 0, 0);
	add(&x.s, serve_together, &done);
	await(&done, 1);
	for (int i = 0; i < 100; i++) {
		ring(&x.s);
		await(&done, 1);
	}
	pool_remove(&x.s.member);
	assert_true(x.ended >= 101 * LIMIT);
	assert_int_equal(x.ended % LIMIT, 0);
	assert_int_equal(x.wrong, 0);
	assert_true(pool_size() == LIMIT);
	sem_destroy(&done);
}

static int64_t be_busy(void *arg)
{
	struct shared_work *x = arg;

	if (!x->s.times++) {
		sem_post(&x->busy);
		await(&x->let_go, 1);
	}
	return later();
}

/* Nobody has time to help: it is done all the same. */
static void test_alone(void **state)
{
	static struct shared_work others[LIMIT - 1], x;
	sem_t done;

	(void)state;
	sem_init(&done, 0, 0);
	for (int i = 0; i < LIMIT - 1; i++) {
		sem_init(&others[i].busy, 0, 0);
		sem_init(&others[i].let_go, 0, 0);
		add(&others[i].s, be_busy, &done);
		await(&others[i].busy, 1);
	}
	add(&x.s, serve_together, &done);
	await(&done, 1);
	assert_int_equal(x.ended, 1);
	for (int i = 0; i < LIMIT - 1; i++) {
		sem_post(&others[i].let_go);
		pool_remove(&others[i].s.member);
	}
	pool_remove(&x.s.member);
	assert_int_equal(x.wrong, 0);
	sem_destroy(&done);
}

/* Nobody is in it any more when pool_remove() returns. */
static void test_remove(void **state)
{
	sem_t done;

	(void)state;
	sem_init(&done, 0, 0);
	for (int i = 0; i < 1000; i++) {
		struct served *s = calloc(1, sizeof(*s));

		add(s, serve, &done);
		if (i % 2)
			await(&done, 1);
		ring(s);
		pool_remove(&s->member);
		assert_int_equal(atomic_load(&s->inside), 0);
		free(s);
	}
	sem_destroy(&done);
}

/* futex_waitv() is not there, as before Linux 5.16.  False: that cannot be done here. */
static bool without_waitv(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 449, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_remove),
	};

	pool_limit(LIMIT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(without_waitv() ? run() : 0);
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	return run();
}
