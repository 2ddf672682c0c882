/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/mpi/mpi-private.h"

#include <stdlib.h>

#include "base/hash.h"

static uint64_t hash_of(struct mpi_key k)
{
	return hash_word(hash_word(hash_word(k.a) ^ k.b) ^ k.kind);
}

static bool equal(struct mpi_key x, struct mpi_key y)
{
	return x.a == y.a && x.b == y.b && x.kind == y.kind;
}

static struct mpi_slot *slot_of(const struct mpi_table *t, struct mpi_key key)
{
	return &t->v[hash_slot(i, t->room, hash_of(key), !t->v[i].p || equal(t->v[i].key, key))];
}

void *mpi_find(const struct mpi_table *t, struct mpi_key key)
{
	return t->room ? slot_of(t, key)->p : NULL;
}

/* What follows moves up, unless its place is after that. */
static void take_out(struct mpi_table *t, struct mpi_slot *slot)
{
	size_t hole = (size_t)(slot - t->v);

	for (size_t i = hash_next(hole, t->room); t->v[i].p; i = hash_next(i, t->room)) {
		size_t home = hash_of(t->v[i].key) & (t->room - 1);

		if (((i - home) & (t->room - 1)) < ((i - hole) & (t->room - 1)))
			continue;
		t->v[hole] = t->v[i];
		hole = i;
	}
	t->v[hole].p = NULL;
	t->n--;
}

bool mpi_put(struct mpi_table *t, struct mpi_key key, void *p)
{
	struct mpi_slot *slot;

	if (!p) {
		slot = t->room ? slot_of(t, key) : NULL;
		if (slot && slot->p)
			take_out(t, slot);
		return true;
	}
	if (!hash_grow(t->v, t->room, t->n + 1, old, old->p, slot_of(t, old->key)))
		return false;
	slot = slot_of(t, key);
	t->n += !slot->p;
	*slot = (struct mpi_slot){ key, p };
	return true;
}
