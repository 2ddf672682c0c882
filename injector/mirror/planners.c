// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Functions go in batches.  Batch b lies in slot b % nslots until it has been emitted; who has nothing to do
 * plans the first that nobody has begun:
 *
 *	     emitted        planned, or on their way     not begun
 *	───────────────────┬────────────────────────────┬───────────────
 *	                 taken                        begun   ... taken + nslots
 *
 * So does the caller, when the batch that it wants is not ready; without threads, always.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "injector/mirror/planners.h"

enum {
	BATCH = 4,
	WORTH = 256,		/* functions that are worth a thread */
	MAX_THREADS = 3,	/* emitting does not keep pace with more */
	SLOTS_EACH = 4,
	MAX_SLOTS = (MAX_THREADS + 1) * SLOTS_EACH,
};

/* A thread that plans; the last one is the caller. */
struct planner {
	struct inj_planners *all;
	struct tramp_checker *checker;
	struct tramp_mirror *memory;	/* of instructions: plans nothing itself */
	pthread_t thread;
};

struct slot {
	struct tramp_mirror *mirrors[BATCH];
	enum tramp_mirror_status said[BATCH];
	bool ready;
};

struct inj_planners {
	const struct tramp_code *code;
	const struct tramp_probe_env *env;
	const struct tramp_mem_env *memory;
	struct tramp_mirror *emits;
	const struct inj_planned *fns;
	size_t n, next;

	struct planner planners[MAX_THREADS + 1];
	size_t nthreads;
	struct slot slots[MAX_SLOTS];
	size_t nslots, batch;		/* functions in each; without threads one, which is planned in the same memory as all others */

	pthread_mutex_t mutex;		/* of what follows, and slots[].ready */
	pthread_cond_t changed;
	size_t taken, begun;		/* batches */
	bool stop;
};

/* ---- a batch ---- */

static enum tramp_mirror_status plan(struct planner *by, struct tramp_mirror **m,
				     const struct inj_planned *fn)
{
	struct inj_planners *p = by->all;
	struct tramp_mirror_request req = { .fn = fn->fn, .want = fn->want, .acts = fn->acts };
	struct tramp_mirror_plan unused;

	if (!*m)
		*m = tramp_mirror_new(p->code, p->env, by->checker);
	if (*m && fn->want & TRAMP_MIRROR_ACCESSES)
		tramp_mirror_memory(*m, p->memory, 0);
	if (!*m || !tramp_mirror_share(*m, p->emits, by->memory))
		return TRAMP_MIRROR_MEMORY;
	return tramp_mirror_plan(*m, &req, &unused);
}

static void plan_batch(struct planner *by, size_t batch)
{
	struct inj_planners *p = by->all;
	struct slot *slot = &p->slots[batch % p->nslots];

	for (size_t k = 0; k < p->batch && batch * p->batch + k < p->n; k++)
		slot->said[k] = plan(by, &slot->mirrors[k], &p->fns[batch * p->batch + k]);
}

/* With the mutex. */
static bool may_begin(const struct inj_planners *p)
{
	return p->begun * p->batch < p->n && p->begun < p->taken + p->nslots;
}

/* With the mutex, which it gives up meanwhile. */
static void plan_next(struct planner *by)
{
	struct inj_planners *p = by->all;
	size_t batch = p->begun++;

	pthread_mutex_unlock(&p->mutex);
	plan_batch(by, batch);
	pthread_mutex_lock(&p->mutex);
	p->slots[batch % p->nslots].ready = true;
	pthread_cond_broadcast(&p->changed);
}

/* ---- threads ---- */

static void *run(void *arg)
{
	struct planner *by = arg;
	struct inj_planners *p = by->all;

	pthread_mutex_lock(&p->mutex);
	while (!p->stop && p->begun * p->batch < p->n) {
		if (may_begin(p))
			plan_next(by);
		else
			pthread_cond_wait(&p->changed, &p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

unsigned int inj_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (unsigned int)CPU_COUNT(&set);
}

static size_t threads_worth(size_t functions)
{
	size_t n = functions / WORTH, spare = inj_processors() - 1;

	n = n < spare ? n : spare;
	return n < MAX_THREADS ? n : MAX_THREADS;
}

static bool prepare(struct inj_planners *p, size_t k)
{
	struct planner *by = &p->planners[k];

	by->all = p;
	by->checker = tramp_checker_new();
	by->memory = tramp_mirror_new(p->code, p->env, by->checker);
	return by->checker && by->memory;
}

/* As many as can be had.  Signals are for the thread that knows what to do with them. */
static void start(struct inj_planners *p, size_t threads)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; p->nthreads < threads && prepare(p, p->nthreads); p->nthreads++) {
		struct planner *by = &p->planners[p->nthreads];

		if (pthread_create(&by->thread, NULL, run, by) != 0)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void end(struct inj_planners *p)
{
	pthread_mutex_lock(&p->mutex);
	p->stop = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->mutex);
	while (p->nthreads)
		pthread_join(p->planners[--p->nthreads].thread, NULL);
}

/* ---- the caller ---- */

struct inj_planners *inj_planners_new(const struct tramp_code *code, const struct tramp_probe_env *env,
				      const struct tramp_mem_env *memory, struct tramp_mirror *emits,
				      const struct inj_planned *fns, size_t n)
{
	struct inj_planners *p = calloc(1, sizeof(*p));
	size_t threads = threads_worth(n);

	if (!p)
		return NULL;
	p->code = code;
	p->env = env;
	p->memory = memory;
	p->emits = emits;
	p->fns = fns;
	p->n = n;
	p->nslots = threads ? (threads + 1) * SLOTS_EACH : 1;
	p->batch = threads ? BATCH : 1;
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->changed, NULL);
	if (!prepare(p, MAX_THREADS)) {
		inj_planners_free(p);
		return NULL;
	}
	start(p, threads);
	return p;
}

/* The one before has been emitted. */
static void get_batch(struct inj_planners *p, size_t batch)
{
	struct slot *slot = &p->slots[batch % p->nslots];

	pthread_mutex_lock(&p->mutex);
	if (batch) {
		p->slots[(batch - 1) % p->nslots].ready = false;
		p->taken = batch;
		pthread_cond_broadcast(&p->changed);
	}
	while (!slot->ready) {
		if (may_begin(p))
			plan_next(&p->planners[MAX_THREADS]);
		else
			pthread_cond_wait(&p->changed, &p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
}

struct tramp_mirror *inj_planners_next(struct inj_planners *p, enum tramp_mirror_status *said)
{
	size_t at = p->next++;
	const struct slot *slot = &p->slots[at / p->batch % p->nslots];

	if (at % p->batch == 0)
		get_batch(p, at / p->batch);
	*said = slot->said[at % p->batch];
	return slot->mirrors[at % p->batch];
}

void inj_planners_free(struct inj_planners *p)
{
	if (!p)
		return;
	end(p);
	for (size_t i = 0; i < MAX_SLOTS; i++)
		for (size_t k = 0; k < BATCH; k++)
			tramp_mirror_free(p->slots[i].mirrors[k]);
	for (size_t i = 0; i <= MAX_THREADS; i++) {
		tramp_mirror_free(p->planners[i].memory);
		tramp_checker_free(p->planners[i].checker);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}
