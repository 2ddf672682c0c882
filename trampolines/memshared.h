/* SPDX-License-Identifier: MIT */
/*
 * Memory that a process which compiles descriptions shares with those that run them; a file, whose parts are mapped
 *
 *	offset			in the compiler	in the others
 *	0		head	RW		R
 *	MXS_TABLE	table	RW		R	right behind the head
 *	MXS_CODE	code	RW		RX	at the same address in all of them
 *	MXS_ASKS	asks	RW		RW
 *
 * so that nothing can be written to and executed in one process.  It is for one mode only.  Who runs nodes counts how often
 * each is interpreted, and asks for those that come often; the table says when there is code for one.  Ids mean the
 * same in all processes: they are given out by the compiler's.
 *
 * Nothing in `asks` is trusted by the compiler, and it reads nothing else back.
 */
#ifndef SONDE_TRAMPOLINES_MEMSHARED_H
#define SONDE_TRAMPOLINES_MEMSHARED_H

#include "trampolines/memexpandenter.h"

enum {
	MXS_PAGE = 4096,
	MXS_CODE_BYTES = 64 << 20,
	MXS_TABLE = MXS_PAGE,
	MXS_CODE = MXS_TABLE + MXE_TABLE,
	MXS_ASKS = MXS_CODE + MXS_CODE_BYTES,
	MXS_WAITING = 256,	/* nodes that may be asked for at one time */
	MXS_HOT = 16,		/* times that a node is interpreted until it is asked for, */
	MXS_ASKED = 254,	/* ... has been, */
	MXS_NEVER = 255,	/* ... will not be compiled */
};

struct mxs_head {
	uint32_t ids;		/* written last: nodes below have their places in the table; 0: there is nothing yet */
	uint32_t full;		/* no more will be compiled */
	uint32_t mode;		/* enum mxe_mode */
	struct mxe_gates gates;
};

struct mxs_asks {
	uint32_t new;		/* how many came since the compiler has looked */
	uint32_t id[MXS_WAITING]; /* 0: none */
	_Alignas(64) uint8_t heat[MXE_IDS];
};

enum { MXS_ASKS_BYTES = (sizeof(struct mxs_asks) + MXS_PAGE - 1) / MXS_PAGE * MXS_PAGE,
       MXS_BYTES = MXS_ASKS + MXS_ASKS_BYTES };
_Static_assert(sizeof(struct mxs_head) <= MXS_PAGE, "struct mxs_head");

static inline const uint64_t *mxs_table(const struct mxs_head *head)
{
	return (const uint64_t *)((const uint8_t *)head + MXS_TABLE);
}

/*
 * Node @id, less than MXE_IDS, is interpreted once more.  Says whether it has been asked for now; if too many wait, that
 * will be another time.
 */
bool mxs_warm(struct mxs_asks *asks, uint32_t id);

/* Is there anything to be taken?  May say yes once too often. */
static inline bool mxs_any(const struct mxs_asks *asks)
{
	return __atomic_load_n(&asks->new, __ATOMIC_SEQ_CST) != 0;
}

/* Takes up to @max ids that are asked for, which are less than @ids and not 0. */
uint32_t mxs_take(struct mxs_asks *asks, uint32_t ids, uint32_t *taken, uint32_t max);

/* Node @id, less than MXE_IDS, will not be asked for again. */
static inline void mxs_never(struct mxs_asks *asks, uint32_t id)
{
	__atomic_store_n(&asks->heat[id], MXS_NEVER, __ATOMIC_RELAXED);
}

#endif
