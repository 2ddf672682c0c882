/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the accesses of each instruction are, and whether they are aligned. */
#ifndef SONDE_LAUNCHER_MEMORY_ALIGNMENT_H
#define SONDE_LAUNCHER_MEMORY_ALIGNMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/machine.h"

struct alignment {
	uint64_t insn;		/* as in struct mt_access */
	uint64_t accesses, unaligned, lines,
		pages;		/* not on a multiple of their size; across lines of 64 bytes, pages of 4 KiB */
	uint32_t size;		/* of the last one */
	bool sizes;		/* they had different ones */
	bool stack;		/* one was by the stack's pointer alone: push, pop, call, ret */
	uint64_t lo, hi;	/* all bytes were in [lo, hi) */
	uint64_t varying;	/* bits of the address that were not always the same */
};

/* All zero at first. */
struct alignments {
	struct alignment *slots;
	size_t n, room;
};

/* False: no memory. */
bool alignments_take(struct alignments *a, const struct mt_access *v, size_t n) __attribute__((warn_unused_result));
/* NULL: it made no accesses. */
const struct alignment *alignments_find(const struct alignments *a, uint64_t insn);
/* For all @i below a->room; NULL: none is there. */
static inline const struct alignment *alignments_at(const struct alignments *a, size_t i)
{
	return a->slots[i].accesses ? &a->slots[i] : NULL;
}
/* Forgets all. */
void alignments_clear(struct alignments *a);
void alignments_free(struct alignments *a);

#endif
