// SPDX-License-Identifier: MIT
/*
 * Asking for nodes to be compiled.  Threads of several processes count a node's heat without any order between them: some
 * times may get lost, or the node be asked for twice, which does no harm.
 *
 *	asks:	1. id into a place that is free   2. new + 1
 *	takes:	1. new = 0   2. looks at all places
 *
 * so that either the id is found, or there is something new.
 */
#include "memtrace/shared.h"

enum { TRIES = 16 };

static bool put(struct mt_asks *asks, uint32_t id)
{
	uint32_t at = id * 0x9e3779b1u >> 16;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&asks->id[(at + i) % MT_WAITING], &none, id, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return true;
		if (none == id)
			return false;
	}
	return false;
}

bool mt_warm(struct mt_asks *asks, uint32_t id)
{
	uint8_t heat = __atomic_load_n(&asks->heat[id], __ATOMIC_RELAXED);

	if (heat < MT_HOT) {
		__atomic_store_n(&asks->heat[id], heat + 1, __ATOMIC_RELAXED);
		return false;
	}
	if (heat >= MT_ASKED || !put(asks, id))
		return false;
	__atomic_store_n(&asks->heat[id], MT_ASKED, __ATOMIC_RELAXED);
	__atomic_fetch_add(&asks->new, 1, __ATOMIC_SEQ_CST);
	return true;
}

uint32_t mt_take(struct mt_asks *asks, uint32_t ids, uint32_t *taken, uint32_t max)
{
	uint32_t n = 0, i = 0;

	__atomic_exchange_n(&asks->new, 0, __ATOMIC_SEQ_CST);
	for (; i < MT_WAITING && n < max; i++) {
		uint32_t id = __atomic_load_n(&asks->id[i], __ATOMIC_SEQ_CST);

		if (!id)
			continue;
		__atomic_store_n(&asks->id[i], 0, __ATOMIC_SEQ_CST);
		if (id < ids)
			taken[n++] = id;
	}
	if (i < MT_WAITING)
		__atomic_fetch_add(&asks->new, 1, __ATOMIC_SEQ_CST);
	return n;
}
