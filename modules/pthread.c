// SPDX-License-Identifier: MIT
/*
 * pthread: threads and what they wait for: mutexes, read-write and spin locks, condition
 * variables, barriers, semaphores, and the C11 functions of <threads.h>.
 *
 * A C11 function that is carried out by the POSIX one shows up as two calls, one in the other; the
 * inner one counts as waiting, so that no wait counts twice.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>
#include <sonde/module.h>

SONDE_MODULE("pthread", "threads, locks, conditions, barriers, semaphores");

/* Name, parameters, arguments, what is recorded at entry; all of them return a status. */
#define CALL(name, params, args, ...)                                                          \
	SONDE_WRAP_IF_PRESENT(int, name, params)                                               \
	{                                                                                      \
		sonde_enter(__VA_ARGS__);                                                      \
		int result = SONDE_REAL(name) args;                                            \
		sonde_leave(SONDE_I32("result", result));                                      \
		return result;                                                                 \
	}

#define MUTEX(m) SONDE_PTR("mutex", m)
#define LOCK(l) SONDE_PTR("lock", l)
#define COND(c) SONDE_PTR("cond", c)
#define BARRIER(b) SONDE_PTR("barrier", b)
#define SEM(s) SONDE_PTR("semaphore", s)
#define THREAD(t) SONDE_PTR("thread", t)

CALL(pthread_mutex_lock, (pthread_mutex_t *m), (m), MUTEX(m), SONDE_WAIT)
CALL(pthread_mutex_trylock, (pthread_mutex_t *m), (m), MUTEX(m))
CALL(pthread_mutex_timedlock, (pthread_mutex_t *m, const struct timespec *until), (m, until),
     MUTEX(m), SONDE_WAIT)
CALL(pthread_mutex_clocklock, (pthread_mutex_t *m, clockid_t clock, const struct timespec *until),
     (m, clock, until), MUTEX(m), SONDE_WAIT)
CALL(pthread_mutex_unlock, (pthread_mutex_t *m), (m), MUTEX(m))

CALL(pthread_rwlock_rdlock, (pthread_rwlock_t *l), (l), LOCK(l), SONDE_WAIT)
CALL(pthread_rwlock_tryrdlock, (pthread_rwlock_t *l), (l), LOCK(l))
CALL(pthread_rwlock_timedrdlock, (pthread_rwlock_t *l, const struct timespec *until), (l, until),
     LOCK(l), SONDE_WAIT)
CALL(pthread_rwlock_clockrdlock,
     (pthread_rwlock_t *l, clockid_t clock, const struct timespec *until), (l, clock, until),
     LOCK(l), SONDE_WAIT)
CALL(pthread_rwlock_wrlock, (pthread_rwlock_t *l), (l), LOCK(l), SONDE_WAIT)
CALL(pthread_rwlock_trywrlock, (pthread_rwlock_t *l), (l), LOCK(l))
CALL(pthread_rwlock_timedwrlock, (pthread_rwlock_t *l, const struct timespec *until), (l, until),
     LOCK(l), SONDE_WAIT)
CALL(pthread_rwlock_clockwrlock,
     (pthread_rwlock_t *l, clockid_t clock, const struct timespec *until), (l, clock, until),
     LOCK(l), SONDE_WAIT)
CALL(pthread_rwlock_unlock, (pthread_rwlock_t *l), (l), LOCK(l))

CALL(pthread_spin_lock, (pthread_spinlock_t *l), (l), LOCK(l), SONDE_WAIT)
CALL(pthread_spin_trylock, (pthread_spinlock_t *l), (l), LOCK(l))
CALL(pthread_spin_unlock, (pthread_spinlock_t *l), (l), LOCK(l))

CALL(pthread_cond_wait, (pthread_cond_t *c, pthread_mutex_t *m), (c, m), COND(c), MUTEX(m),
     SONDE_WAIT)
CALL(pthread_cond_timedwait,
     (pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until), (c, m, until),
     COND(c), MUTEX(m), SONDE_WAIT)
CALL(pthread_cond_clockwait,
     (pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until),
     (c, m, clock, until), COND(c), MUTEX(m), SONDE_WAIT)
CALL(pthread_cond_signal, (pthread_cond_t *c), (c), COND(c))
CALL(pthread_cond_broadcast, (pthread_cond_t *c), (c), COND(c))

CALL(pthread_barrier_wait, (pthread_barrier_t *b), (b), BARRIER(b), SONDE_WAIT)

CALL(sem_wait, (sem_t *s), (s), SEM(s), SONDE_WAIT)
CALL(sem_trywait, (sem_t *s), (s), SEM(s))
CALL(sem_timedwait, (sem_t *s, const struct timespec *until), (s, until), SEM(s), SONDE_WAIT)
CALL(sem_clockwait, (sem_t *s, clockid_t clock, const struct timespec *until), (s, clock, until),
     SEM(s), SONDE_WAIT)
CALL(sem_post, (sem_t *s), (s), SEM(s))

/*
 * The new thread may already have ended, and have given back the memory its name was stored in; a
 * look there must not crash.
 */
static uintptr_t new_thread(int failed, const pthread_t *thread)
{
	return failed || !sonde_readable(thread) ? 0 : (uintptr_t)*thread;
}

SONDE_WRAP_IF_PRESENT(int, pthread_create,
		      (pthread_t *thread, const pthread_attr_t *attributes,
		       void *(*start)(void *), void *argument))
{
	sonde_enter(SONDE_PTR("start", start), SONDE_PTR("argument", argument));
	int result = SONDE_REAL(pthread_create)(thread, attributes, start, argument);
	sonde_leave(THREAD(new_thread(result, thread)), SONDE_I32("result", result));
	return result;
}

CALL(pthread_join, (pthread_t t, void **value), (t, value), THREAD(t), SONDE_WAIT)
CALL(pthread_tryjoin_np, (pthread_t t, void **value), (t, value), THREAD(t))
CALL(pthread_timedjoin_np, (pthread_t t, void **value, const struct timespec *until),
     (t, value, until), THREAD(t), SONDE_WAIT)
CALL(pthread_clockjoin_np,
     (pthread_t t, void **value, clockid_t clock, const struct timespec *until),
     (t, value, clock, until), THREAD(t), SONDE_WAIT)
CALL(pthread_detach, (pthread_t t), (t), THREAD(t))

/*
 * It does not return, so it is a point.  A tail call: the libc unwinds the stack from there, and no
 * unwinder knows a module in a static program.
 */
SONDE_WRAP_IF_PRESENT(void, pthread_exit, (void *value))
{
	sonde_point("pthread_exit", SONDE_PTR("value", value));
	SONDE_REAL_POINTER(pthread_exit)(value);
}

/* C11.  thrd_join() does its own waiting. */
CALL(mtx_lock, (mtx_t *m), (m), MUTEX(m))
CALL(mtx_trylock, (mtx_t *m), (m), MUTEX(m))
CALL(mtx_timedlock, (mtx_t *m, const struct timespec *until), (m, until), MUTEX(m))
CALL(mtx_unlock, (mtx_t *m), (m), MUTEX(m))
CALL(cnd_wait, (cnd_t *c, mtx_t *m), (c, m), COND(c), MUTEX(m))
CALL(cnd_timedwait, (cnd_t *c, mtx_t *m, const struct timespec *until), (c, m, until), COND(c),
     MUTEX(m))
CALL(cnd_signal, (cnd_t *c), (c), COND(c))
CALL(cnd_broadcast, (cnd_t *c), (c), COND(c))
CALL(thrd_create, (thrd_t *t, thrd_start_t start, void *argument), (t, start, argument),
     SONDE_PTR("start", start), SONDE_PTR("argument", argument))
CALL(thrd_join, (thrd_t t, int *value), (t, value), THREAD(t), SONDE_WAIT)
CALL(thrd_detach, (thrd_t t), (t), THREAD(t))
