/* SPDX-License-Identifier: MIT */
/* Batches of memory accesses for modules (sonde/abi.h): the same in the program and in Sonde's own process. */
#ifndef SONDE_RUNTIME_MEMORY_BATCHES_H
#define SONDE_RUNTIME_MEMORY_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/abi.h"
#include "memtrace/machine.h"

/* mt_machine_limit(): without a word; and without an access, if these are not only counted. */
#define BATCH_NODES (UINT64_C(1) << 32)
#define BATCH_LEAST_NODES (UINT64_C(1) << 20)

/*
 * After the last words comes what needs none, until some would be needed.  A thread that was stopped in a loop that
 * is computed, by another one's exit(), would never come to an end: more than this no processor does in @ticks.
 * Returns how many batches of @size there may be.
 */
static inline uint64_t batch_bound(struct mt_machine *m, int want_accesses, uint64_t ticks, uint64_t size)
{
	uint64_t nodes = want_accesses ? 4 * ticks : ticks / 64;

	mt_machine_limit(m, nodes < BATCH_LEAST_NODES ? BATCH_LEAST_NODES : nodes);
	return 16 * ticks / size + 1;
}

_Static_assert(sizeof(struct sonde_access_word) == sizeof(struct mt_access) &&
		       offsetof(struct sonde_access_word, address) == offsetof(struct mt_access, addr) &&
		       offsetof(struct sonde_access_word, size) == offsetof(struct mt_access, size) &&
		       offsetof(struct sonde_access_word, kind) == offsetof(struct mt_access, kind) &&
		       offsetof(struct sonde_access_word, instruction) ==
			       offsetof(struct mt_access, insn),
	       "modules are given the machine's accesses as they are");
_Static_assert((int)SONDE_STORE == (int)MD_STORE && (int)SONDE_MODIFY == (int)MD_MODIFY &&
		       (int)SONDE_PREFETCH == (int)MD_PREFETCH &&
		       SONDE_ACCESS_KIND == (int)MD_KIND && SONDE_ACCESS_STACK == (int)MD_STACK &&
		       sizeof(struct sonde_counts) == sizeof(struct mt_counts),
	       "kinds are the machine's");
_Static_assert(SONDE_ACCESS_KINDS == 4, "of struct mt_counts");

/* Calls the hooks of @m; each goes through the whole batch. */
static inline void batch_give(const struct sonde_module *m, struct sonde_thread *thread,
			      const struct sonde_batch *all)
{
	for (const struct sonde_memory_hook *const *h = m->memory_begin; h < m->memory_end; h++) {
		struct sonde_batch batch = *all;

		batch.thread = thread;
		if ((*h)->batch && all->next)
			(*h)->batch(&batch);
		if ((*h)->counts)
			(*h)->counts(&batch);
	}
}

static inline void batch_count(struct sonde_counts *counts, const struct mt_access *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned int kind = v[i].kind & MD_KIND;

		if (kind >= SONDE_ACCESS_KINDS)
			continue;
		counts->accesses[kind]++;
		counts->bytes[kind] += v[i].size;
	}
}

#endif
