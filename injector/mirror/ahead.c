// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "injector/mirror/ahead.h"

enum { MAX_THREADS = 16, LOOK_NS = 100000000 };

struct ahead {
	struct inj_session *s;
	struct inj_object **v;	/* the largest file first */
	uint64_t *bytes;
	size_t n, next, done;	/* the rest: with the mutex */
	uint64_t done_bytes, all_bytes;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

struct inj_kept *inj_object_code(const struct inj_session *s, const struct inj_object *o, unsigned int threads)
{
	const struct inj_kept_source source = {
		.path = o->path, .debug_file = o->debug_file, .cache_dir = s->opt.cache_dir, .threads = threads,
	};

	return o->known ? inj_known_code(o->known, &source) : NULL;
}

/* One that takes long by itself is looked at by several; more than that is no quicker. */
static void *run(void *arg)
{
	struct ahead *a = arg;

	pthread_mutex_lock(&a->mutex);
	while (a->next < a->n) {
		size_t i = a->next++;

		pthread_mutex_unlock(&a->mutex);
		(void)!inj_object_code(a->s, a->v[i], i == 0 ? a->s->opt.threads : 1);
		pthread_mutex_lock(&a->mutex);
		a->done++;
		a->done_bytes += a->bytes[i];
		pthread_cond_signal(&a->changed);
	}
	pthread_mutex_unlock(&a->mutex);
	return NULL;
}

static void say_progress(struct ahead *a)
{
	const struct inj_mirror_options *opt = &a->s->opt.mirror;

	if (opt->progress)
		opt->progress(opt->arg, INJ_AHEAD_SHARE * (double)a->done_bytes / (double)(a->all_bytes + 1));
}

static void wait_for_all(struct ahead *a)
{
	pthread_mutex_lock(&a->mutex);
	while (a->done < a->n) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		(void)!pthread_cond_timedwait(&a->changed, &a->mutex, &until);
		say_progress(a);
	}
	pthread_mutex_unlock(&a->mutex);
}

/* Signals are for the thread that knows what to do with them. */
static void run_all(struct ahead *a)
{
	size_t want = a->n < a->s->opt.threads ? a->n : a->s->opt.threads, n = 0;
	pthread_t threads[MAX_THREADS];
	sigset_t all, old;

	want = want < MAX_THREADS ? want : MAX_THREADS;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (n < want && pthread_create(&threads[n], NULL, run, a) == 0)
		n++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (n)
		wait_for_all(a);
	while (n)
		pthread_join(threads[--n], NULL);
}

static void add(struct ahead *a, struct inj_object *o)
{
	struct stat st;
	uint64_t bytes = stat(o->path, &st) == 0 ? (uint64_t)st.st_size : 0;
	size_t at = a->n++;

	for (; at && a->bytes[at - 1] < bytes; at--) {
		a->v[at] = a->v[at - 1];
		a->bytes[at] = a->bytes[at - 1];
	}
	a->v[at] = o;
	a->bytes[at] = bytes;
	a->all_bytes += bytes;
}

void inj_look_ahead(struct inj_session *s)
{
	struct ahead a = { .s = s, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

	a.v = calloc(s->nobjects + 1, sizeof(struct inj_object *));
	a.bytes = calloc(s->nobjects + 1, sizeof(*a.bytes));
	for (size_t i = 0; a.v && a.bytes && i < s->nobjects; i++) {
		struct inj_object *o = &s->objects[i];

		if (!o->mirrored && o->path[0] && inj_mirrors_want(s, o) && inj_object_known(o))
			add(&a, o);
	}
	run_all(&a);
	free(a.v);
	free(a.bytes);
}
