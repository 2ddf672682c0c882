// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "launcher/collect/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define STACK (8u << 20) /* modules run there, too */
#define MOST_BY_DEFAULT 16u
#define BELLS 127u /* that one thread can listen to, besides our own: FUTEX_WAITV_MAX */
#define SOME_NS INT64_C(5000000) /* so long it listens to some of more */
#define SHORT_NS INT64_C(1000000) /* so long it does not look, where it can listen to one only */

/* Linux 5.16; headers may be older. */
#define WAITV_NUMBER 449
struct waitv {
	uint64_t value, address;
	uint32_t flags, reserved;
};

#define WAITV_32 2u

/* What several threads do together: of who called pool_share(). */
struct share {
	void (*work)(void *arg, unsigned int slot);
	void *arg;
	unsigned int most, begun, inside; /* threads; inside: not who called */
	struct share *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t idle; /* somebody is needed who listens, serves, or helps */
	pthread_cond_t left; /* somebody has been served, or has been helped */
	struct share *shares; /* for which there are not enough yet */
	struct pool_member **v;
	size_t n, next; /* members; who is looked at first */
	unsigned int asked; /* by pool_limit() */
	unsigned int limit, threads, resting, waiting;
	bool listens; /* one does */
	cpu_set_t processors; /* none: not known yet */
	unsigned int widened; /* how often they have been; 0: all threads may run there anyway */
	_Atomic uint32_t bell; /* our own, for whoever listens */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER, .left = PTHREAD_COND_INITIALIZER };

/* With the lock. */
static bool know_processors(void)
{
	if (!CPU_COUNT(&pool.processors) && sched_getaffinity(0, sizeof(pool.processors), &pool.processors) < 0)
		CPU_ZERO(&pool.processors);
	return CPU_COUNT(&pool.processors) > 0;
}

static unsigned int by_processors(void)
{
	unsigned int n = know_processors() ? (unsigned int)CPU_COUNT(&pool.processors) : 2;

	if (n > 2)
		n = n < 4 ? 2 : n / 2;
	return n < MOST_BY_DEFAULT ? n : MOST_BY_DEFAULT;
}

void pool_limit(unsigned int workers)
{
	pthread_mutex_lock(&pool.lock);
	if (workers && (!pool.asked || workers < pool.asked))
		pool.limit = pool.asked = workers;
	else if (!pool.limit)
		pool.limit = by_processors();
	pthread_mutex_unlock(&pool.lock);
}

void pool_widen(const cpu_set_t *processors)
{
	pthread_mutex_lock(&pool.lock);
	if (know_processors()) {
		CPU_OR(&pool.processors, &pool.processors, processors);
		pool.widened++;
	}
	if (!pool.asked)
		pool.limit = by_processors();
	pthread_mutex_unlock(&pool.lock);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- listening ---- */

static struct timespec at(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

/* Until one of the bells rings, or @until.  False: the system cannot do that. */
static bool wait_for_bells(struct waitv *v, unsigned int n, int64_t until)
{
	struct timespec t = at(until > 0 ? until : 0);

	return syscall(WAITV_NUMBER, v, n, 0, &t, CLOCK_MONOTONIC) >= 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL);
}

/*
 * One bell, for some time: ours may ring, or somebody else hear it, and who listens is not woken then; or, where there are several, a
 * short time: each is looked at then.
 */
static void wait_without(const struct waitv *v, unsigned int n, int64_t until)
{
	int64_t ns = until - clock_now_ns();
	struct timespec t;

	if (ns > (n == 2 ? SOME_NS : SHORT_NS))
		ns = n == 2 ? SOME_NS : SHORT_NS;
	if (ns <= 0)
		return;
	t = at(ns);
	syscall(SYS_futex, (void *)(uintptr_t)v[n - 1].address, FUTEX_WAIT, (uint32_t)v[n - 1].value, &t, NULL, 0);
}

static struct waitv bell_of(_Atomic uint32_t *word, uint32_t value)
{
	return (struct waitv){ .value = value, .address = (uintptr_t)word, .flags = WAITV_32 };
}

/*
 * With the lock, which is given up meanwhile.
 * 1. we say that we sleep; 2. we look at the doorbell; 3. we sleep unless it has changed since.
 * Who rings: 1. doorbell + 1; 2. looks whether we sleep.  Either we see its ring or it sees us.
 */
static void listen_to_all(void)
{
	static _Atomic bool cannot;
	struct waitv v[BELLS + 1];
	int64_t until = INT64_MAX;
	unsigned int n = 0;

	v[n++] = bell_of(&pool.bell, atomic_load(&pool.bell));
	for (size_t i = 0; i < pool.n; i++) {
		struct pool_member *m = pool.v[(pool.next + i) % pool.n];

		if (m->busy || m->leaves)
			continue;
		if (m->due < until)
			until = m->due;
		if (n == BELLS + 1)
			continue;
		atomic_store(m->sleeping, 1);
		v[n++] = bell_of(m->doorbell, m->heard);
	}
	if (pool.n > BELLS) {
		pool.next += BELLS;
		until = until < clock_now_ns() + SOME_NS ? until : clock_now_ns() + SOME_NS;
	}
	pool.listens = true;
	pthread_mutex_unlock(&pool.lock);
	if (cannot || !wait_for_bells(v, n, until)) {
		cannot = true;
		wait_without(v, n, until);
	}
	pthread_mutex_lock(&pool.lock);
	pool.listens = false;
}

/* ---- threads ---- */

static struct pool_member *take(void)
{
	int64_t now = clock_now_ns();

	for (size_t i = 0; i < pool.n; i++) {
		size_t k = (pool.next + i) % pool.n;
		struct pool_member *m = pool.v[k];

		if (m->busy || m->leaves || (m->due > now && atomic_load(m->doorbell) == m->heard))
			continue;
		pool.next = k + 1;
		return m;
	}
	return NULL;
}

/* With the lock, which is given up: somebody has to listen while this one is at work. */
static void begin_work(void)
{
	if (pool.resting && !pool.listens && pool.n > 1)
		pthread_cond_signal(&pool.idle);
	pthread_mutex_unlock(&pool.lock);
}

static void serve(struct pool_member *m)
{
	m->busy = true;
	begin_work();
	atomic_store(m->sleeping, 0);
	m->heard = atomic_load(m->doorbell);
	m->due = m->serve(m->arg);
	pthread_mutex_lock(&pool.lock);
	m->busy = false;
	if (m->leaves)
		pthread_cond_broadcast(&pool.left);
	/* whoever listens does not listen to this one */
	if (pool.listens) {
		atomic_fetch_add(&pool.bell, 1);
		wake(&pool.bell);
	}
}

/* ---- work that is shared ---- */

/* With the lock. */
static void end_share(struct share *s)
{
	for (struct share **p = &pool.shares; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			return;
		}
}

static void help(struct share *s)
{
	unsigned int slot = s->begun++;

	s->inside++;
	if (s->begun == s->most)
		end_share(s);
	begin_work();
	s->work(s->arg, slot);
	pthread_mutex_lock(&pool.lock);
	if (!--s->inside)
		pthread_cond_broadcast(&pool.left);
}

/* One more than there are to be: one that waited goes on. */
static bool is_too_many(void)
{
	return pool.threads - pool.waiting > pool.limit;
}

static void *work(void *arg)
{
	unsigned int widened = 0;

	prctl(PR_SET_NAME, "sonde-worker");
	pthread_mutex_lock(&pool.lock);
	while (!is_too_many()) {
		struct pool_member *m = pool.shares ? NULL : take();

		if (widened != pool.widened) {
			widened = pool.widened;
			(void)!sched_setaffinity(0, sizeof(pool.processors), &pool.processors);
		}
		if (pool.shares) {
			help(pool.shares);
		} else if (m) {
			serve(m);
		} else if (pool.listens) {
			pool.resting++;
			pthread_cond_wait(&pool.idle, &pool.lock);
			pool.resting--;
		} else {
			listen_to_all();
		}
	}
	pool.threads--;
	pthread_mutex_unlock(&pool.lock);
	return arg;
}

/* With the lock. */
static bool start_one(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, work, NULL);
	pthread_attr_destroy(&attr);
	pool.threads += err == 0;
	errno = err;
	return err == 0;
}

/* With the lock. */
static void ring(void)
{
	atomic_fetch_add(&pool.bell, 1);
	wake(&pool.bell);
	pthread_cond_signal(&pool.idle);
}

static void begin_share(struct share *s)
{
	if (s->most < 2)
		return;
	pthread_mutex_lock(&pool.lock);
	s->next = pool.shares;
	pool.shares = s;
	for (unsigned int i = pool.resting + pool.listens + 1; i < s->most && pool.threads - pool.waiting < pool.limit && start_one(); i++)
		;
	atomic_fetch_add(&pool.bell, 1);
	wake(&pool.bell);
	pthread_cond_broadcast(&pool.idle);
	pthread_mutex_unlock(&pool.lock);
}

static void finish_share(struct share *s)
{
	pthread_mutex_lock(&pool.lock);
	end_share(s);
	while (s->inside)
		pthread_cond_wait(&pool.left, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}

void pool_share(unsigned int most, void (*work)(void *arg, unsigned int slot), void *arg)
{
	struct share s = { .work = work, .arg = arg, .most = most, .begun = 1 };

	begin_share(&s);
	work(arg, 0);
	finish_share(&s);
}

void *pool_share_begin(unsigned int most, void (*work)(void *arg, unsigned int slot), void *arg)
{
	struct share *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct share){ .work = work, .arg = arg, .most = most, .begun = 1 };
	begin_share(s);
	return s;
}

void pool_share_finish(void *share)
{
	if (!share)
		return;
	finish_share(share);
	free(share);
}

unsigned int pool_size(void)
{
	unsigned int n;

	pthread_mutex_lock(&pool.lock);
	n = pool.limit ? pool.limit : by_processors();
	pthread_mutex_unlock(&pool.lock);
	return n;
}

void pool_waits(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.waiting++;
	if (pool.threads - pool.waiting < pool.limit && pool.n > 1)
		(void)!start_one();
	pthread_mutex_unlock(&pool.lock);
}

void pool_goes_on(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.waiting--;
	if (is_too_many())
		ring();
	pthread_mutex_unlock(&pool.lock);
}

/* ---- members ---- */

bool pool_add(struct pool_member *m)
{
	struct pool_member **v;
	bool good = true;

	m->busy = m->leaves = false;
	m->due = 0;
	pthread_mutex_lock(&pool.lock);
	if (!pool.limit)
		pool.limit = by_processors();
	v = reallocarray(pool.v, pool.n + 1, sizeof(struct pool_member *));
	good = v != NULL;
	if (good) {
		pool.v = v;
		if (pool.threads - pool.waiting < pool.limit && pool.threads - pool.waiting < pool.n + 1)
			good = start_one() || pool.threads;
	}
	if (good) {
		v[pool.n++] = m;
		ring();
	}
	pthread_mutex_unlock(&pool.lock);
	return good;
}

void pool_remove(struct pool_member *m)
{
	size_t kept = 0;

	pthread_mutex_lock(&pool.lock);
	m->leaves = true;
	while (m->busy)
		pthread_cond_wait(&pool.left, &pool.lock);
	for (size_t i = 0; i < pool.n; i++)
		if (pool.v[i] != m)
			pool.v[kept++] = pool.v[i];
	pool.n = kept;
	pthread_mutex_unlock(&pool.lock);
}
