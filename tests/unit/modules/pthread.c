// SPDX-License-Identifier: GPL-3.0-or-later
/* pthread's wrappers around the C library's functions. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/modules/harness.h"

static int setup(void **state)
{
	(void)state;
	harness_load(harness_built("modules/pthread.so"), harness_libc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	harness_unload();
	return 0;
}

static struct timespec past(void)
{
	return (struct timespec){ 1, 0 };
}

/* Calls the wrapper of @function with one object and checks both records. */
#define TRY(function, object, result_, fields)                                                 \
	do {                                                                                   \
		assert_int_equal(WRAPPER(function)(object), result_);                          \
		harness_expect("enter " #function " " fields, (void *)(object));               \
		harness_expect("leave " #function " result=%d", result_);                      \
	} while (0)

static void mutexes(void **state)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until = past();

	(void)state;
	TRY(pthread_mutex_lock, &m, 0, "mutex=%p wait");
	TRY(pthread_mutex_trylock, &m, EBUSY, "mutex=%p");
	assert_int_equal(WRAPPER(pthread_mutex_timedlock)(&m, &until), ETIMEDOUT);
	harness_expect("enter pthread_mutex_timedlock mutex=%p wait", (void *)&m);
	harness_expect("leave pthread_mutex_timedlock result=%d", ETIMEDOUT);
	TRY(pthread_mutex_unlock, &m, 0, "mutex=%p");
	harness_expect_end();
}

static void other_locks(void **state)
{
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	pthread_spinlock_t s;

	(void)state;
	TRY(pthread_rwlock_rdlock, &l, 0, "lock=%p wait");
	TRY(pthread_rwlock_tryrdlock, &l, 0, "lock=%p");
	TRY(pthread_rwlock_trywrlock, &l, EBUSY, "lock=%p");
	TRY(pthread_rwlock_unlock, &l, 0, "lock=%p");
	TRY(pthread_rwlock_unlock, &l, 0, "lock=%p");
	TRY(pthread_rwlock_wrlock, &l, 0, "lock=%p wait");
	TRY(pthread_rwlock_unlock, &l, 0, "lock=%p");
	pthread_spin_init(&s, 0);
	TRY(pthread_spin_lock, &s, 0, "lock=%p wait");
	TRY(pthread_spin_trylock, &s, EBUSY, "lock=%p");
	TRY(pthread_spin_unlock, &s, 0, "lock=%p");
	harness_expect_end();
}

static void conditions(void **state)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_barrier_t b;
	struct timespec until = past();

	(void)state;
	pthread_mutex_lock(&m);
	assert_int_equal(WRAPPER(pthread_cond_timedwait)(&c, &m, &until), ETIMEDOUT);
	harness_expect("enter pthread_cond_timedwait cond=%p mutex=%p wait", (void *)&c,
		       (void *)&m);
	harness_expect("leave pthread_cond_timedwait result=%d", ETIMEDOUT);
	TRY(pthread_cond_signal, &c, 0, "cond=%p");
	TRY(pthread_cond_broadcast, &c, 0, "cond=%p");
	pthread_barrier_init(&b, NULL, 1);
	TRY(pthread_barrier_wait, &b, PTHREAD_BARRIER_SERIAL_THREAD, "barrier=%p wait");
	harness_expect_end();
}

static void semaphores(void **state)
{
	struct timespec until = past();
	sem_t s;

	(void)state;
	sem_init(&s, 0, 1);
	TRY(sem_wait, &s, 0, "semaphore=%p wait");
	errno = 0;
	TRY(sem_trywait, &s, -1, "semaphore=%p");
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(WRAPPER(sem_timedwait)(&s, &until), -1);
	assert_int_equal(errno, ETIMEDOUT);
	harness_expect("enter sem_timedwait semaphore=%p wait", (void *)&s);
	harness_expect("leave sem_timedwait result=-1");
	TRY(sem_post, &s, 0, "semaphore=%p");
	harness_expect_end();
}

static void *twice(void *n)
{
	return (void *)(2 * (uintptr_t)n);
}

/* Another thread has no pool of its own here, so only its creator may be in a wrapper. */
static void thread_lives(void **state)
{
	pthread_t t;
	void *value;

	(void)state;
	assert_int_equal(WRAPPER(pthread_create)(&t, NULL, twice, (void *)21), 0);
	harness_expect("enter pthread_create start=%p argument=0x15", (void *)twice);
	harness_expect("leave pthread_create thread=%p result=0", (void *)t);
	assert_int_equal(WRAPPER(pthread_join)(t, &value), 0);
	assert_ptr_equal(value, (void *)42);
	harness_expect("enter pthread_join thread=%p wait", (void *)t);
	harness_expect("leave pthread_join result=0");
	harness_expect_end();
}

/* Runs with the harness's pool: the creator is waiting and records nothing. */
static void *exits(void *value)
{
	uint64_t tcb;

	__asm__("movq %%fs:0, %0" : "=r"(tcb));
	harness_pool.owner = tcb;
	syscall(SYS_arch_prctl, ARCH_SET_GS, &harness_pool);
	WRAPPER(pthread_exit)(value);
	return NULL;
}

static void thread_exits(void **state)
{
	pthread_t t;
	void *value;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, exits, (void *)5), 0);
	assert_int_equal(pthread_join(t, &value), 0);
	assert_ptr_equal(value, (void *)5);
	harness_expect("point pthread_exit.pthread_exit value=0x5");
}

static void c11(void **state)
{
	mtx_t m;

	(void)state;
	assert_int_equal(mtx_init(&m, mtx_plain), thrd_success);
	TRY(mtx_lock, &m, thrd_success, "mutex=%p");
	TRY(mtx_trylock, &m, thrd_busy, "mutex=%p");
	TRY(mtx_unlock, &m, thrd_success, "mutex=%p");
	harness_expect_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(mutexes, setup, teardown),
		cmocka_unit_test_setup_teardown(other_locks, setup, teardown),
		cmocka_unit_test_setup_teardown(conditions, setup, teardown),
		cmocka_unit_test_setup_teardown(semaphores, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_lives, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_exits, setup, teardown),
		cmocka_unit_test_setup_teardown(c11, setup, teardown),
	};

	return cmocka_run_group_tests_name("modules_pthread", tests, NULL, NULL);
}
