/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs one instruction with every register given, in an arena between two guards. */
#ifndef SONDE_TESTS_UNIT_MEMFACTS_RIG_H
#define SONDE_TESTS_UNIT_MEMFACTS_RIG_H

#include <stddef.h>
#include <stdint.h>

enum { RIG_ARENA = 16 * 4096, RIG_GUARD = 16 * 4096 };

struct rig_state {
	uint64_t r[16];
	uint64_t flags;
	uint8_t zmm[32][64];
	uint64_t k[8];
	uint64_t mm[8];
};

struct rig_arena {
	uint64_t lo, hi;	/* guards of RIG_GUARD bytes are around; below 4 GiB */
};

struct rig {
	struct rig_arena rw, ro;
	uint64_t code;		/* where the instruction will be, below 4 GiB */
	uint64_t fs;
};

enum rig_outcome {
	RIG_OK,
	RIG_FAULT,		/* page fault */
	RIG_OTHER,		/* misaligned, privileged, not of this processor, divides by 0 */
};

/* Exits with a message where there is no memory. */
void rig_open(struct rig *rig);

/* OK: *s is what the instruction left (r, flags).  Otherwise *s is as it was. */
enum rig_outcome rig_run(const struct rig *rig, struct rig_state *s, const uint8_t *insn,
			 size_t len, int mmx);

#endif
