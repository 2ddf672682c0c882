/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions made up at random, that keep to the ABI and come to an end: straight code, forward branches
 * of both sizes, loops, switches, calls, recursion, tail calls (also conditional ones and by falling into
 * the next function), jumps back to the entry, early returns, padding or none.
 *
 * rdi, rsi and rax are arguments, rax is the result; r15 points to the data, whose first word is fuel for
 * loops and calls.
 */
#ifndef SONDE_TESTS_UNIT_MIRROR_RANDOM_H
#define SONDE_TESTS_UNIT_MIRROR_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RANDOM_CODE = 1 << 16,	/* bytes of code; the data comes after */
	RANDOM_DATA = 1 << 14,
	RANDOM_TABLES = 4096,	/* in the data, from here on: jump tables */
	RANDOM_FUNCTIONS = 12,
};

/* Random numbers from a seed, or from bytes (then zeros). */
struct random_source {
	const uint8_t *bytes;
	size_t left;
	uint64_t state;		/* bytes == NULL */
};

uint32_t random_below(struct random_source *source, uint32_t n);

struct random_code {
	uint8_t image[RANDOM_CODE + RANDOM_DATA];
	uint32_t start[RANDOM_FUNCTIONS + 1]; /* offsets of the functions; the code's end */
	uint32_t size[RANDOM_FUNCTIONS];
	uint32_t nfunctions;
};

void random_generate(struct random_code *code, struct random_source *source);

#endif
