/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accesses go through streams, piece by piece; when there is enough of what is left of them, it goes through chains.  Each of these takes
 * all of it before the next one begins; so several threads can do it, each at another chain, while the caller goes on with streams:
 *
 *	accesses ──▶ stream ──▶ chain ──▶ chain
 *		│	    └──▶ chain ─┬▶ chain
 *		└──▶ stream ──▶ chain   └▶ chain
 *
 * One takes what is ready: what comes before it is done.  What a chain computes follows from what it is given alone, in
 * order, so it does not matter who does it, and when.
 */
#include "analysis/cache/simulate-private.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

static bool is_opt(const struct node *node)
{
	return node->levels[0].policy == CACHE_OPT;
}

static bool hold(struct cache_requests *held, const struct cache_request *v, size_t n, unsigned int shift)
{
	/* the next one's index + 1 has to fit */
	if (n >= UINT32_MAX - held->n || !array_room(held->v, held->room, held->n + n))
		return false;
	for (size_t i = 0; i < n; i++) {
		held->v[held->n] = v[i];
		held->v[held->n++].line >>= shift;
	}
	return true;
}

/* Takes what is in its stream, or was made by the node before. */
static bool run_node(struct cache_sim *sim, struct node *node)
{
	const struct node *before = node->before == CACHE_NO_NODE ? NULL : &sim->nodes[node->before];
	const struct cache_requests *from = before ? &before->chain.made : &sim->streams[node->stream].given;
	const unsigned int shift = before ? node->chain.level[0]->shift - cache_node_unit(before) : 0;

	node->chain.made.n = 0;
	if (is_opt(node))
		return hold(&node->held, from->v, from->n, shift);
	cache_chain_run(&node->chain, from->v, from->n, shift, node->counts);
	return !node->chain.failed;
}

static bool run_nodes(struct cache_sim *sim, uint32_t first)
{
	for (uint32_t i = first; i < sim->nnodes; i++)
		if (!run_node(sim, &sim->nodes[i]))
			return false;
	return true;
}

bool cache_round_piece(struct cache_sim *sim)
{
	struct piece *p = &sim->piece;
	bool good = true;

	for (uint32_t i = 0; i < sim->nstreams && good; i++)
		good = sim->streams[i].chosen ? cache_stream_take(&sim->streams[i], p->some, p->nsome) :
						cache_stream_take(&sim->streams[i], p->v, p->n);
	p->n = p->nsome = 0;
	return good;
}

bool cache_round_full(const struct cache_sim *sim)
{
	size_t n = 0;

	for (uint32_t i = 0; i < sim->nstreams; i++)
		n += sim->streams[i].requests.n;
	return n >= CACHE_ROUND;
}

static void give(struct cache_sim *sim)
{
	for (uint32_t i = 0; i < sim->nstreams; i++) {
		struct cache_stream *s = &sim->streams[i];
		const struct cache_requests taken = s->given;

		s->given = s->requests;
		s->requests = taken;
		s->requests.n = 0;
	}
}

bool cache_round_run(struct cache_sim *sim)
{
	give(sim);
	return run_nodes(sim, 0);
}

/* ---- by several threads ---- */

static bool is_ready(const struct cache_sim *sim, size_t i)
{
	const struct task *tasks = sim->round->tasks;
	const uint32_t before = sim->nodes[i].before;

	return tasks[i].state == TASK_WAITS && (before == CACHE_NO_NODE || tasks[before].state == TASK_DONE);
}

/* One that this thread has had last time, or else any; nnodes: none is ready. */
static size_t find_task(const struct cache_sim *sim, unsigned int slot)
{
	const size_t all = sim->nnodes;
	size_t found = all;

	for (size_t i = 0; i < all; i++) {
		if (!is_ready(sim, i))
			continue;
		if (sim->round->tasks[i].slot == slot)
			return i;
		found = found == all ? i : found;
	}
	return found;
}

static void run_tasks(void *arg, unsigned int slot)
{
	struct cache_sim *sim = arg;
	struct round *r = sim->round;

	pthread_mutex_lock(&r->lock);
	while (r->waiting && !r->failed) {
		size_t i = find_task(sim, slot);
		bool good;

		if (i == sim->nnodes) {
			pthread_cond_wait(&r->changed, &r->lock);
			continue;
		}
		r->tasks[i] = (struct task){ .state = TASK_RUNS, .slot = slot };
		r->waiting--;
		pthread_mutex_unlock(&r->lock);
		good = run_node(sim, &sim->nodes[i]);
		pthread_mutex_lock(&r->lock);
		r->tasks[i].state = TASK_DONE;
		r->failed |= !good;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
}

bool cache_round_new(struct cache_sim *sim)
{
	struct round *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->tasks = calloc((size_t)sim->nnodes + 1, sizeof(*r->tasks));
	sim->round = r;
	return r->tasks;
}

void cache_round_free(struct cache_sim *sim)
{
	struct round *r = sim->round;

	if (!r)
		return;
	(void)!cache_round_finish(sim);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r->tasks);
	free(r);
	sim->round = NULL;
}

bool cache_round_begin(struct cache_sim *sim)
{
	struct round *r = sim->round;

	if (!cache_round_finish(sim))
		return false;
	give(sim);
	r->waiting = sim->nnodes;
	for (size_t i = 0; i < r->waiting; i++)
		r->tasks[i].state = TASK_WAITS;
	r->begun = true;
	r->help = sim->o.crew->begin(sim->o.crew->workers, run_tasks, sim);
	return true;
}

bool cache_round_finish(struct cache_sim *sim)
{
	struct round *r = sim->round;

	if (!r->begun)
		return !r->failed;
	run_tasks(sim, 0);
	sim->o.crew->finish(r->help);
	r->begun = false;
	return !r->failed;
}

/* ---- what could not be done before all was known ---- */

static bool find_coming(struct node *node)
{
	const struct cache_request *v = node->held.v;
	uint32_t *table = NULL;
	size_t slots = 0, n = 0, i = node->held.n;
	bool good;

#define SLOT(of) hash_slot(at, slots, hash_word(of), !table[at] || v[table[at] - 1].line == (of))
	node->coming = calloc(i + 1, sizeof(*node->coming));
	good = node->coming;
	while (good && i) {
		uint32_t *slot;

		i--;
		good = hash_grow(table, slots, n + 1, old, *old, &table[SLOT(v[*old - 1].line)]);
		if (!good)
			break;
		slot = &table[SLOT(v[i].line)];
		n += !*slot;
		node->coming[i] = *slot;
		*slot = (uint32_t)i + 1;
	}
#undef SLOT
	free(table);
	return good;
}

#define HELD_ROUND 4096u

static bool run_held(struct cache_sim *sim, uint32_t index)
{
	struct node *node = &sim->nodes[index];

	if (!find_coming(node))
		return false;
	for (size_t done = 0, n; done < node->held.n; done += n) {
		n = node->held.n - done < HELD_ROUND ? node->held.n - done : HELD_ROUND;
		node->chain.coming = node->coming + done;
		node->chain.made.n = 0;
		cache_chain_run(&node->chain, node->held.v + done, n, 0, node->counts);
		if (node->chain.failed || !run_nodes(sim, index + 1))
			return false;
	}
	node->chain.made.n = 0;
	node->held.n = 0;
	return true;
}

bool cache_round_last(struct cache_sim *sim)
{
	for (uint32_t i = 0; i < sim->nstreams; i++)
		sim->streams[i].given.n = 0;
	for (uint32_t i = 0; i < sim->nnodes; i++)
		sim->nodes[i].chain.made.n = 0;
	for (uint32_t i = 0; i < sim->nnodes; i++)
		if (is_opt(&sim->nodes[i]) && !run_held(sim, i))
			return false;
	return true;
}
