/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of the kinds that programs are made of, each in a section of its own. */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_BODIES_H
#define SONDE_TESTS_UNIT_MEMEMIT_BODIES_H

#include <stddef.h>
#include <stdint.h>

enum { BODY_N = 14, BODY_NODES = 64, BODY_TEXT = 256, BODY_HEAP = 128 };

struct body_node {
	struct body_node *next, *left;
	uint32_t key;
};

/* What they work on. */
struct body_data {
	double a[BODY_N][BODY_N], b[BODY_N][BODY_N], c[BODY_N][BODY_N];
	float x[512], y[512];
	uint32_t rows[BODY_N + 1], columns[BODY_N * 4];
	double values[BODY_N * 4], in[BODY_N], out[BODY_N];
	struct body_node nodes[BODY_NODES];
	uint32_t keys[BODY_HEAP], table[256], counts[256];
	char text[BODY_TEXT], other[BODY_TEXT];
	uint8_t sieve[400];
	uint16_t distance[BODY_TEXT + 1];
	uint64_t result[8];
	uint32_t nkeys;
};

struct body {
	const char *name;
	const uint8_t *start, *end;
	void *function;		/* void f(struct body_data *, uint64_t) */
};

extern const struct body bodies[];
extern const size_t nbodies;

#endif
