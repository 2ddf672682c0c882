// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "launcher/record/background.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 32u /* recordings, each with its files and mappings: then who asks for more waits */

void background_init(struct background *b, void (*opened)(void *arg, struct recording *r), void *arg)
{
	*b = (struct background){ .opened = opened, .arg = arg };
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->done, NULL);
	b->last = &b->first;
}

static void open_trace(struct background *b, struct recording *r)
{
	r->failed = recording_open_released(r) != 0;
	if (!r->failed)
		b->opened(b->arg, r);
	/* from here on it is the other thread's */
	r->opening = false;
}

static void finish(struct background *b, struct recording *r)
{
	recording_finish(r);
	pthread_mutex_lock(&b->lock);
	recording_add(&b->ended, r);
	pthread_mutex_unlock(&b->lock);
	recording_discard(r);
}

/* pool_member.serve: one, so that what else a worker has to do comes in between. */
static int64_t serve(void *arg)
{
	struct background *b = arg;
	struct recording *r;

	pthread_mutex_lock(&b->lock);
	r = b->first;
	if (r)
		b->first = r->next;
	if (!b->first)
		b->last = &b->first;
	pthread_mutex_unlock(&b->lock);
	if (!r)
		return INT64_MAX;
	msg_become(&b->messages);
	if (r->opening)
		open_trace(b, r);
	else
		finish(b, r);
	pthread_mutex_lock(&b->lock);
	b->n--;
	pthread_cond_broadcast(&b->done);
	pthread_mutex_unlock(&b->lock);
	return 0;
}

/* The first recording has been begun, so how many workers there are to be is known. */
static bool begin(struct background *b)
{
	if (b->begun)
		return true;
	if (pool_size() < 2)
		return false;
	b->messages = msg_context();
	b->member = (struct pool_member){ .serve = serve, .arg = b, .doorbell = &b->doorbell, .sleeping = &b->sleeping };
	b->begun = pool_add(&b->member);
	return b->begun;
}

static void add(struct background *b, struct recording *r)
{
	r->next = NULL;
	pthread_mutex_lock(&b->lock);
	while (b->n >= MOST)
		pthread_cond_wait(&b->done, &b->lock);
	*b->last = r;
	b->last = &r->next;
	b->n++;
	pthread_mutex_unlock(&b->lock);
	atomic_fetch_add(&b->doorbell, 1);
	syscall(SYS_futex, &b->doorbell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool background_open(struct background *b, struct recording *r)
{
	if (!begin(b))
		return false;
	r->opening = true;
	add(b, r);
	return true;
}

bool background_finish(struct background *b, struct recording *r)
{
	/* modules' functions are called by one thread at a time */
	if (r->analysis || !begin(b))
		return false;
	add(b, r);
	return true;
}

void background_wait(struct background *b)
{
	pthread_mutex_lock(&b->lock);
	while (b->n)
		pthread_cond_wait(&b->done, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

void background_end(struct background *b)
{
	background_wait(b);
	if (b->begun)
		pool_remove(&b->member);
	pthread_cond_destroy(&b->done);
	pthread_mutex_destroy(&b->lock);
}
