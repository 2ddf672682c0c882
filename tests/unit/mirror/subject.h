/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One small function out of bytes, its mirror, and what has to hold for that. */
#ifndef SONDE_TESTS_UNIT_MIRROR_SUBJECT_H
#define SONDE_TESTS_UNIT_MIRROR_SUBJECT_H

#include "tests/unit/mirror/walk.h"

#define ADDRESS 0x401000ull
#define ARENA 0x500000ull
#define ENTRY TRAMP_MIRROR_ENTRY
#define EXIT TRAMP_MIRROR_EXIT

/* The function's code, and what comes after it: another one, unless it is padding. */
struct subject {
	uint8_t bytes[256];
	size_t size, len;
	struct tramp_bytes map;
	struct tramp_fn fns[2];
	struct tramp_facts facts;
	struct tramp_code *code;
	struct tramp_mirror *mirror;
	struct tramp_mirror_plan plan;
	struct tramp_mirror_code out;
	uint8_t buf[16384];
};

/* The function is @code; @behind it padding (nop, int3), if any, and another function. */
void build(struct subject *s, const void *code, size_t size, const void *behind, size_t more);
void drop(struct subject *s);

enum tramp_mirror_status plan(struct subject *s, unsigned int want);

/* Plans and emits; fails unless both succeed and the mirror is what mirror_walk() wants. */
void mirror(struct subject *s, unsigned int want);

/* Fails unless the i-th patch is that. */
void patch_is(const struct subject *s, size_t i, uint32_t off, uint8_t len, uint8_t first);

#define NEXT "\x31\xc0\xc3"	/* xor %eax, %eax; ret */
#define BUILD(s, code, behind) build(s, code, sizeof(code) - 1, behind, sizeof(behind) - 1)

#endif
