/* SPDX-License-Identifier: MIT */
/*
 * Memory that a process which compiles descriptions shares with those that run them; a file, whose parts are mapped
 *
 *	offset			in the compiler	in the others
 *	0		head	RW		R
 *	MT_SHARED_TABLE	table	RW		R	right after the head
 *	MT_CODE	code	RW		RX	at the same address in all of them
 *	MT_ASKS	asks	RW		RW
 *
 * so that nothing can be written to and executed in one process.  It is for one mode only.  Who runs nodes counts how often
 * each is interpreted, and asks for those that come often; the table says when there is code for one.  Ids mean the
 * same in all processes: they are given out by the compiler's.
 *
 * Nothing in `asks` is trusted by the compiler, and it reads nothing else back.
 */
#ifndef SONDE_MEMTRACE_SHARED_H
#define SONDE_MEMTRACE_SHARED_H

#include "memtrace/machine/enter.h"

enum {
	MT_PAGE = 4096,
	MT_CODE_BYTES = 64 << 20,
	MT_SHARED_TABLE = MT_PAGE,
	MT_CODE = MT_SHARED_TABLE + MT_TABLE,
	MT_ASKS = MT_CODE + MT_CODE_BYTES,
	MT_WAITING = 256,	/* nodes that may be asked for at one time */
	MT_HOT = 16,		/* times that a node is interpreted until it is asked for, */
	MT_ASKED = 254,	/* ... has been, */
	MT_NEVER = 255,	/* ... will not be compiled */
};

struct mt_head {
	uint32_t ids;		/* written last: nodes below have their places in the table; 0: there is nothing yet */
	uint32_t full;		/* no more will be compiled */
	uint32_t mode;		/* enum mt_mode */
	struct mt_gates gates;
};

struct mt_asks {
	uint32_t new;		/* how many came since the compiler has looked */
	uint32_t id[MT_WAITING]; /* 0: none */
	_Alignas(64) uint8_t heat[MT_IDS];
};

enum { MT_ASKS_BYTES = (sizeof(struct mt_asks) + MT_PAGE - 1) / MT_PAGE * MT_PAGE,
       MT_BYTES = MT_ASKS + MT_ASKS_BYTES };
_Static_assert(sizeof(struct mt_head) <= MT_PAGE, "struct mt_head");

static inline const uint64_t *mt_table(const struct mt_head *head)
{
	return (const uint64_t *)((const uint8_t *)head + MT_SHARED_TABLE);
}

/*
 * Node @id, less than MT_IDS, is interpreted once more.  Says whether it has been asked for now; if too many wait, that
 * will be another time.
 */
bool mt_warm(struct mt_asks *asks, uint32_t id);

/* Is there anything to be taken?  May say yes once too often. */
static inline bool mt_any(const struct mt_asks *asks)
{
	return __atomic_load_n(&asks->new, __ATOMIC_SEQ_CST) != 0;
}

/* Takes up to @max ids that are asked for, which are less than @ids and not 0. */
uint32_t mt_take(struct mt_asks *asks, uint32_t ids, uint32_t *taken, uint32_t max);

/* Node @id, less than MT_IDS, will not be asked for again. */
static inline void mt_never(struct mt_asks *asks, uint32_t id)
{
	__atomic_store_n(&asks->heat[id], MT_NEVER, __ATOMIC_RELAXED);
}

#endif
