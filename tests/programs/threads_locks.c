// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads that share counters under every kind of lock, hand over work through a queue with
 * conditions and a ring with semaphores, and meet at barriers.  What they count is checked.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 1000
#define QUEUE 8

#define CHECK(condition)                                                                       \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static long by_mutex, by_rwlock, by_spin, serial;

static void *locks(void *n)
{
	long serials = 0;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(pthread_mutex_lock(&mutex) == 0);
		by_mutex++;
		CHECK(pthread_mutex_unlock(&mutex) == 0);
		if (i % 10 == 0) {
			CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
			by_rwlock++;
		} else {
			CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
			CHECK(by_rwlock >= 0 && by_rwlock <= THREADS * ROUNDS);
		}
		CHECK(pthread_rwlock_unlock(&rwlock) == 0);
		CHECK(pthread_spin_lock(&spin) == 0);
		by_spin++;
		CHECK(pthread_spin_unlock(&spin) == 0);
		if (i % 100 == 0)
			serials += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
	}
	__atomic_fetch_add(&serial, serials, __ATOMIC_RELAXED);
	return n;
}

static struct {
	int v[QUEUE];
	int head, n;
	pthread_mutex_t mutex;
	pthread_cond_t not_full, not_empty;
} queue = { .mutex = PTHREAD_MUTEX_INITIALIZER,
	    .not_full = PTHREAD_COND_INITIALIZER,
	    .not_empty = PTHREAD_COND_INITIALIZER };

static void put(int v)
{
	CHECK(pthread_mutex_lock(&queue.mutex) == 0);
	while (queue.n == QUEUE)
		CHECK(pthread_cond_wait(&queue.not_full, &queue.mutex) == 0);
	queue.v[(queue.head + queue.n++) % QUEUE] = v;
	CHECK(pthread_cond_signal(&queue.not_empty) == 0);
	CHECK(pthread_mutex_unlock(&queue.mutex) == 0);
}

static int take(void)
{
	int v;

	CHECK(pthread_mutex_lock(&queue.mutex) == 0);
	while (queue.n == 0)
		CHECK(pthread_cond_wait(&queue.not_empty, &queue.mutex) == 0);
	v = queue.v[queue.head];
	queue.head = (queue.head + 1) % QUEUE;
	queue.n--;
	CHECK(pthread_cond_signal(&queue.not_full) == 0);
	CHECK(pthread_mutex_unlock(&queue.mutex) == 0);
	return v;
}

static void *consumer(void *unused)
{
	long sum = 0;
	int v;

	(void)unused;
	while ((v = take()) >= 0)
		sum += v;
	pthread_exit((void *)sum);
}

static sem_t ping, pong;
static long volleys;

static void *player(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(sem_wait(&ping) == 0);
		volleys++;
		CHECK(sem_post(&pong) == 0);
	}
	return unused;
}

/* A cancelled thread runs its cleanup handler on the way out. */
static void cleanup(void *flag)
{
	*(int *)flag = 1;
}

static void unlock(void *m)
{
	CHECK(pthread_mutex_unlock(m) == 0);
}

static void *sleeper(void *flag)
{
	pthread_cleanup_push(cleanup, flag);
	CHECK(pthread_mutex_lock(&queue.mutex) == 0);
	pthread_cleanup_push(unlock, &queue.mutex);
	for (;;)
		pthread_cond_wait(&queue.not_empty, &queue.mutex);
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(1);
	return NULL;
}

static void shared_counters(void)
{
	pthread_t t[THREADS];
	void *value;

	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, locks, (void *)i) == 0);
	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], &value) == 0 && (long)value == i);
	CHECK(by_mutex == THREADS * ROUNDS && by_spin == THREADS * ROUNDS);
	CHECK(by_rwlock == THREADS * ROUNDS / 10 && serial == ROUNDS / 100);
	printf("locks: mutex %ld rwlock %ld spin %ld barriers %ld\n", by_mutex, by_rwlock, by_spin,
	       serial);
}

static void handing_over(void)
{
	pthread_t t[2], p;
	long sum = 0;
	void *value;

	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&t[i], NULL, consumer, NULL) == 0);
	for (int i = 1; i <= ROUNDS; i++)
		put(i);
	put(-1);
	put(-1);
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_join(t[i], &value) == 0);
		sum += (long)value;
	}
	CHECK(sum == ROUNDS * (ROUNDS + 1) / 2);
	CHECK(sem_init(&ping, 0, 0) == 0 && sem_init(&pong, 0, 0) == 0);
	CHECK(pthread_create(&p, NULL, player, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(sem_post(&ping) == 0);
		CHECK(sem_wait(&pong) == 0);
	}
	CHECK(pthread_join(p, NULL) == 0 && volleys == ROUNDS);
	printf("queue: sum %ld; semaphores: %ld\n", sum, volleys);
}

static void cancelling(void)
{
	pthread_t t;
	void *value;
	int cleaned = 0;

	CHECK(pthread_create(&t, NULL, sleeper, &cleaned) == 0);
	CHECK(pthread_cancel(t) == 0);
	CHECK(pthread_join(t, &value) == 0);
	CHECK(value == PTHREAD_CANCELED && cleaned == 1);
	CHECK(pthread_mutex_trylock(&queue.mutex) == 0);
	CHECK(pthread_mutex_unlock(&queue.mutex) == 0);
	puts("cancelled: 1");
}

int main(void)
{
	CHECK(pthread_spin_init(&spin, 0) == 0);
	CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	shared_counters();
	handing_over();
	cancelling();
	puts("ok");
	return 0;
}
