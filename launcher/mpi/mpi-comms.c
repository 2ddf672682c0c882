/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/mpi/mpi-private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define MOST_RANKS (1 << 24) /* a text that says more is damaged */

uint64_t mpi_process(const struct sonde_trace_thread *t)
{
	return (uint64_t)t->rank_index << 32 | (uint32_t)t->pid;
}

const struct mpi_comm *mpi_comm_of(const struct mpi_comms *c, const struct sonde_trace_thread *t, uint64_t handle)
{
	return mpi_find(&c->table, (struct mpi_key){ mpi_process(t), handle, KEY_COMM });
}

/* ---- "0-3,8,10-14:2" ---- */

static bool add_rank(struct mpi_ranks *r, long rank)
{
	if (r->n == MOST_RANKS || !array_room(r->world, r->room, r->n + 1))
		return false;
	r->world[r->n++] = (int32_t)rank;
	return true;
}

static bool add_run(struct mpi_ranks *r, long from, long to, long step)
{
	if (from < 0 || to < from || to > INT_MAX || step < 1)
		return false;
	for (; from <= to; from += step)
		if (!add_rank(r, from))
			return false;
	return true;
}

static bool add_text(struct mpi_ranks *r, const char *s)
{
	while (*s) {
		char *end;
		long from, to, step = 1;

		if (*s == 'x') {
			end = (char *)s + 1;
			if (!add_rank(r, -1))
				return false;
		} else {
			from = to = strtol(s, &end, 10);
			if (*end == '-')
				to = strtol(end + 1, &end, 10);
			if (*end == ':')
				step = strtol(end + 1, &end, 10);
			if (end == s || !add_run(r, from, to, step))
				return false;
		}
		if (*end && *end != ',')
			return false;
		s = *end ? end + 1 : end;
	}
	return true;
}

/* ---- groups ---- */

static bool same_group(const struct mpi_group *g, const struct mpi_group *h)
{
	return g->run == h->run && g->n == h->n && g->remote == h->remote &&
	       memcmp(g->world, h->world, (g->n + (size_t)g->remote) * sizeof(*g->world)) == 0;
}

/* The one that is equal to @like, of which a copy is made if there is none. */
static struct mpi_group *intern(struct mpi_comms *c, const struct mpi_group *like)
{
	size_t bytes = (like->n + (size_t)like->remote) * sizeof(*like->world);
	struct mpi_key key = { hash_bytes(like->world, bytes) ^ (uint64_t)like->run, 0, KEY_GROUP };
	struct mpi_group *g;

	while ((g = mpi_find(&c->table, key)) && !same_group(g, like))
		key.b++;
	if (g)
		return g;
	g = malloc(sizeof(*g) + bytes);
	if (!g || !array_room(c->group, c->groups_room, c->groups + 1) || !mpi_put(&c->table, key, g)) {
		free(g);
		c->failed = true;
		return NULL;
	}
	*g = *like;
	g->index = (uint32_t)c->groups;
	g->world = memcpy(g + 1, like->world, bytes);
	c->group[c->groups++] = g;
	return g;
}

/* ---- communicators ---- */

static struct mpi_comm *add(struct mpi_comms *c, const struct mpi_group *g)
{
	struct mpi_comm *comm = calloc(1, sizeof(*comm));

	if (!comm || !array_room(c->v, c->room, c->n + 1)) {
		free(comm);
		c->failed = true;
		return NULL;
	}
	*comm = (struct mpi_comm){ .index = (uint32_t)c->n, .group = g, .name = "" };
	return c->v[c->n++] = comm;
}

/* A counter in the table: pointers as numbers, from 1. */
static uint64_t count(struct mpi_comms *c, struct mpi_key key)
{
	uint64_t n = (uint64_t)(uintptr_t)mpi_find(&c->table, key);

	if (!mpi_put(&c->table, key, (void *)(uintptr_t)(n + 1)))
		c->failed = true;
	return n;
}

static struct mpi_comm *made(struct mpi_comms *c, const struct sonde_trace_thread *t, const struct mpi_group *g, uint64_t handle)
{
	uint64_t nth = count(c, (struct mpi_key){ mpi_process(t), g->index, KEY_MADE });
	struct mpi_key key = { g->index, nth, KEY_NTH };
	struct mpi_comm *comm = mpi_find(&c->table, key);

	if (!comm)
		comm = add(c, g);
	if (comm && !(mpi_put(&c->table, key, comm) && mpi_put(&c->table, (struct mpi_key){ mpi_process(t), handle, KEY_COMM }, comm)))
		c->failed = true;
	return comm;
}

/* Of a communicator between two groups the one with the lower first rank comes first, whoever asks. */
static void order(struct mpi_group *g, int32_t *world)
{
	int32_t *turned;

	if (!g->remote || !g->n || world[0] <= world[g->n])
		return;
	turned = malloc((g->n + (size_t)g->remote) * sizeof(*turned));
	if (!turned)
		return;
	memcpy(turned, world + g->n, g->remote * sizeof(*turned));
	memcpy(turned + g->remote, world, g->n * sizeof(*turned));
	memcpy(world, turned, (g->n + (size_t)g->remote) * sizeof(*turned));
	free(turned);
	*g = (struct mpi_group){ .run = g->run, .n = g->remote, .remote = g->n, .world = world };
}

void mpi_ranks_end(struct mpi_comms *c, struct mpi_ranks *r, const struct sonde_trace_thread *t)
{
	struct mpi_group like = { .run = sonde_trace_rank(c->trace, t->rank_index)->run, .world = r->world };
	struct mpi_group *g;

	if (!r->handle || !r->n)
		return;
	like.n = r->remote ? r->local : (uint32_t)r->n;
	like.remote = (uint32_t)r->n - like.n;
	order(&like, r->world);
	g = intern(c, &like);
	if (g)
		made(c, t, g, r->handle);
	r->handle = 0;
	r->n = 0;
}

void mpi_ranks_point(struct mpi_comms *c, struct mpi_ranks *r, const struct sonde_trace_event *ev)
{
	uint64_t handle = 0, first = 0, remote = 0;
	const char *text = NULL;

	for (size_t i = 0; i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];

		if (v->type == SONDE_TRACE_STR)
			text = v->str;
		else if (strcmp(v->name, "comm") == 0)
			handle = v->u;
		else if (strcmp(v->name, "first") == 0)
			first = v->u;
		else if (strcmp(v->name, "remote") == 0)
			remote = v->u;
	}
	if (!first && !remote) {
		mpi_ranks_end(c, r, ev->thread);
		*r = (struct mpi_ranks){ .handle = handle, .world = r->world, .room = r->room };
	}
	if (remote && !r->remote) {
		r->remote = true;
		r->local = (uint32_t)r->n;
	}
	/* A part that is missing leaves it unknown. */
	if (!text || handle != r->handle || first != r->n - r->local || !add_text(r, text))
		r->handle = 0;
}

void mpi_comm_copy(struct mpi_comms *c, const struct sonde_trace_thread *t, const struct mpi_comm *of, uint64_t handle)
{
	made(c, t, of->group, handle);
}

void mpi_comm_name(struct mpi_comms *c, const struct mpi_comm *comm, const char *name)
{
	struct mpi_comm *own = c->v[comm->index];
	char *copy = strdup(name);

	if (!copy) {
		c->failed = true;
		return;
	}
	if (*own->name)
		free((char *)own->name);
	own->name = copy;
	if (!*copy) {
		free(copy);
		own->name = "";
	}
}

uint64_t mpi_comm_next(struct mpi_comms *c, const struct sonde_trace_thread *t, const struct mpi_comm *comm)
{
	return count(c, (struct mpi_key){ mpi_process(t), comm->index, KEY_CALLS });
}

int mpi_world_of(const struct mpi_comm *comm, int self, int peer)
{
	const struct mpi_group *g = comm->group;
	uint32_t from = 0, n = g->n;

	if (g->remote) /* the other group's */
		for (uint32_t i = 0; i < g->n; i++)
			if (g->world[i] == self) {
				from = g->n;
				n = g->remote;
			}
	return peer >= 0 && (uint32_t)peer < n ? g->world[from + (uint32_t)peer] : -1;
}

void mpi_comms_free(struct mpi_comms *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (*c->v[i]->name)
			free((char *)c->v[i]->name);
		free(c->v[i]);
	}
	for (size_t i = 0; i < c->groups; i++)
		free(c->group[i]);
	free(c->v);
	free(c->group);
	free(c->table.v);
}
