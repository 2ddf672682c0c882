/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Profiles that several analysis ranks make (launcher/ranks/ranks.h): each makes those of some programs, and rank 0 gets them as
 * launcher/memory/memkept.h packs them.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMORY_SHARED_H
#define SONDE_LAUNCHER_MEMORY_MEMORY_SHARED_H

#include "launcher/memory/memkept.h"

struct memory_shared;

/* Shares the programs of @t.  NULL: no memory. */
struct memory_shared *memory_shared_new(const struct memtrace *t);
/* NULL allowed. */
void memory_shared_free(struct memory_shared *s);

/* Is the program one of this rank's? */
bool memory_shared_is_mine(const struct memory_shared *s, const struct sonde_trace_rank *rank);

/* A profile of this rank's share; what has no key, or finds no memory, is left out. */
void memory_shared_add(struct memory_shared *s, const struct sonde_trace_rank *rank, const struct kept_key *key, struct memprofile *p);

/* All of the share were added: a helper sends them, rank 0 receives those of all others. */
void memory_shared_exchange(struct memory_shared *s);

/* Of rank 0: NULL: it was left out, or is not of this key. */
struct memprofile *memory_shared_take(const struct memory_shared *s, const struct sonde_trace_rank *rank, const struct kept_key *key,
				      const struct memprofile_options *o);

#endif
